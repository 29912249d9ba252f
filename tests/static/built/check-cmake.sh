#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-cmake: a client that uses only CMake finds the installation, in its place and after a move,
# with a target for each pkg-config package. A message names a missing component or version.
set -u
. "$AQ_SRC/tests/run-functions.sh"
prepare_mpirun
prefix=$AQ_BUILD/installed
command -v cmake >/dev/null || skip "cmake is not installed (package cmake)"
unset GASNet_ROOT GASNet_DIR

fail()
{
    echo "check-cmake: $*"
    exit 1
}

# The components: one for each pkg-config file.
expected=$(cd "$prefix/lib/pkgconfig" && printf '%s\n' gasnet*.pc | sed 's/^gasnet[-_]//; s/\.pc$//' | LC_ALL=C sort)

# One program for each component, and a line that says which there are.
mkdir client
cat >client/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.13)
project(client C)
set(CMAKE_C_FLAGS "-Wall -Wextra -Wpedantic -Werror -O1")
find_package(GASNet CONFIG REQUIRED)
message("found \${GASNet_VERSION}: \${GASNet_COMPONENTS}")
foreach(component IN LISTS GASNet_COMPONENTS)
    if(component MATCHES "^tools-(.*)")
        add_executable(\${component} "$AQ_SRC/tests/other/tools/tools_client.c")
        string(COMPARE EQUAL \${CMAKE_MATCH_1} par threads)
        target_compile_definitions(\${component} PRIVATE TOOLS_THREADS=\${threads})
    else()
        add_executable(\${component} "$AQ_SRC/examples/hello.c")
    endif()
    target_link_libraries(\${component} PRIVATE GASNet::\${component})
endforeach()
END

# build_and_run FOLDER TREE: builds the client with the tree and runs each of its programs.
build_and_run()
{
    local component
    cmake -S client -B "$1" -DCMAKE_PREFIX_PATH="$2" >out 2>&1 || fail "CMake does not find $2: $(cat out)"
    [ "$(sed -n 's/^found .*: //p' out | tr ';' '\n' | LC_ALL=C sort)" = "$expected" ] ||
        fail "the components should be: $expected, but: $(cat out)"
    cmake --build "$1" >out 2>&1 || fail "the client does not build with $2: $(cat out)"
    for component in $expected; do
        case $component in
        tools-*) "$1/$component" || fail "the client of $component does not run." ;;
        *) run_job "$1/$component" "${component%-*}" ;;
        esac
    done
}

run_job()
{
    [ "$("$prefix/bin/gasnetrun_$2" -n 2 "$1" | grep -c '^Hello from rank [01] of 2')" = 2 ] || fail "two ranks of $1 do not run."
}

loads_from()
{
    ldd "$1" | grep -F -e libgasnet -e libaqueduct
}

# refused SENTENCE WORD ...: find_package with these words must fail with the sentence.
refused()
{
    local sentence=$1
    shift
    mkdir -p refused
    printf '%s\n' "cmake_minimum_required(VERSION 3.13)" "project(refused NONE)" "find_package(GASNet $*)" >refused/CMakeLists.txt
    ! cmake -S refused -B refused/build -DCMAKE_PREFIX_PATH="$prefix" >out 2>&1 || fail "find_package(GASNet $*) is not refused."
    tr -s ' \n' ' ' <out | grep -qF -- "$sentence" || fail "find_package(GASNet $*) should say '$sentence', but says: $(cat out)"
}

accepted()
{
    mkdir -p accepted
    printf '%s\n' "cmake_minimum_required(VERSION 3.13)" "project(accepted NONE)" "set(GASNet_USE_STATIC_LIBS ON)" \
        "find_package(GASNet $*)" "get_target_property(kind GASNet::smp-par TYPE)" 'message("${kind} ${GASNet_smp-par_FOUND}")' \
        >accepted/CMakeLists.txt
    cmake -S accepted -B accepted/build -DCMAKE_PREFIX_PATH="$prefix" >out 2>&1 || fail "find_package(GASNet $*) is refused: $(cat out)"
    grep -qx "STATIC_LIBRARY TRUE" out || fail "GASNet_USE_STATIC_LIBS does not choose the archives: $(cat out)"
}

build_and_run here "$prefix"
[ "$(loads_from here/smp-par | grep -cF "=> $prefix/lib/")" = 2 ] || fail "the client does not load the shared libraries of the tree."

# A copy of the tree, with archives only.
mkdir moved
cp -r "$prefix/include" "$prefix/lib" moved/
rm -f moved/lib/*.so*
build_and_run there "$PWD/moved"
! loads_from there/smp-par || fail "the client of a tree without shared libraries loads one of ours."
! grep -rlIF "$prefix/" there || fail "a client of the moved tree refers to the original one."

version=$(pkg-config --modversion "$prefix/lib/pkgconfig/gasnet-smp-par.pc")
year=${version%%.*}
refused "GASNet has no component 'carrier-pigeon' in $prefix/lib; it has: ${expected//$'\n'/, }." \
    "CONFIG REQUIRED COMPONENTS smp-par carrier-pigeon"
refused "GASNetConfig.cmake, version: $version" "$((year + 1)) CONFIG REQUIRED"
refused "GASNetConfig.cmake, version: $version" "2000...<$version CONFIG REQUIRED"
accepted "$version EXACT CONFIG REQUIRED COMPONENTS smp-par OPTIONAL_COMPONENTS carrier-pigeon"
accepted "2000...$version CONFIG REQUIRED"
exit 0
