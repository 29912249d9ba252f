#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-debian: the Debian packages are built from the result of make dist; each installed file is
# in exactly one of them, and a client builds and runs with the unpacked packages.
set -u
. "$AQ_SRC/tests/run-functions.sh"
prefix=$AQ_BUILD/installed
source=$TMPDIR/source
root=$TMPDIR/root

fail()
{
    echo "check-debian: $*"
    exit 1
}

same_version()
{
    local packages tree
    packages=$(dpkg-parsechangelog -l "$source/debian/changelog" -S Version)
    tree=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"/\1/p' "$AQ_BUILD/config.h")
    [ "$packages" = "$tree" ] || fail "debian/changelog has version $packages, but configure.ac $tree."
}

# Prints "path package" for each file in the packages.
contents()
{
    local deb
    for deb in ./*.deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -t | sed -n "s!^\./\(.*[^/]\)\$!\1 $(dpkg-deb -f "$deb" Package)!p"
    done | sort
}

# Prints the files of make install, under the paths that Debian uses, without libtool's own files.
wanted()
{
    (cd "$prefix" && find . ! -type d ! -name '*.la' -printf '%P\n') |
        sed "s!^lib/!lib/$triplet/!; s!^share/man/.*!&.gz!; s!^!usr/!" | sort
}

wrong_files()
{
    diff <(wanted) <(cut -d' ' -f1 contents | grep -v -e '^usr/share/doc/' -e '^usr/share/lintian/') |
        sed -n 's/^< /in no package, or not once: /p; s/^> /in a package, or once more, but not installed: /p'
}

# The package of the libraries is named after the number in their names, so that a later,
# incompatible one installs beside it.
wrong_sonames()
{
    local package
    package=$(sed -n 's/^Package: \(libaqueduct[0-9]*\)$/\1/p' "$source/debian/control")
    grep -q "/libaqueduct\.so\.${package#libaqueduct} $package\$" contents ||
        echo "libaqueduct.so.${package#libaqueduct} is not in the package $package."
    sed -n "s!^.*/\(lib.*\.so\.[0-9]*\) $package\$!\1 is in the package $package.!p" contents |
        grep -v "\.so\.${package#libaqueduct} "
}

build_with_pkgconfig()
{
    PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/usr/lib/$triplet/pkgconfig \
        pkg-config --cflags --libs gasnet-smp-par >words || exit
    # shellcheck disable=SC2046
    cc "$AQ_SRC/examples/hello.c" -o hello-pkgconfig $(cat words) || fail "a client does not build with the packages."
    programs=hello-pkgconfig
}

build_with_cmake()
{
    command -v cmake >/dev/null || {
        left_out 'a client by CMake' 'cmake is not installed (package cmake)'
        return
    }
    cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.13)
project(client C)
find_package(GASNet CONFIG REQUIRED COMPONENTS smp-par)
add_executable(hello-cmake "$AQ_SRC/examples/hello.c")
target_link_libraries(hello-cmake PRIVATE GASNet::smp-par)
END
    { cmake -S . -B cmake -DCMAKE_PREFIX_PATH="$root/usr" && cmake --build cmake; } >out 2>&1 ||
        fail "a client does not build with the CMake package: $(cat out)"
    programs="$programs cmake/hello-cmake"
}

command -v dpkg-buildpackage >/dev/null || skip "there is no dpkg-buildpackage (package dpkg-dev)"
make -s -C "$AQ_BUILD" distdir distdir="$source" >make.out 2>&1 || fail "make dist fails: $(cat make.out)"
cd "$source" || exit
same_version
unmet=$(dpkg-checkbuilddeps 2>&1) || skip "packages are missing: ${unmet##*: }"
# Without optimization, because other builds test optimized code.
DEB_BUILD_OPTIONS="parallel=${AQ_JOBS:-$(nproc)} noautodbgsym noopt" dpkg-buildpackage -us -uc -b >../build.out 2>&1 ||
    fail "the packages do not build: $(tail -n 30 ../build.out)"
cd .. || exit

triplet=$(dpkg-architecture -q DEB_HOST_MULTIARCH)
contents >contents
fail_on_output "See debian/*.install." wrong_files
fail_on_output "The number in the names of the libraries is that of their package in debian/control." wrong_sonames
for deb in ./*.deb; do
    dpkg-deb -x "$deb" "$root" || exit
done
fail_on_output "These files hold the name of the folder that the packages were built in." grep -rlF "$source" "$root"

build_with_pkgconfig
build_with_cmake
for program in $programs; do
    [ "$(LD_LIBRARY_PATH=$root/usr/lib/$triplet "$root/usr/bin/gasnetrun_smp" -n 2 "./$program" |
        grep -c '^Hello from rank [01] of 2')" = 2 ] || fail "two ranks of $program do not run."
done
exit 0
