#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-fragments: an installation has what scripts and makefiles of clients expect: the release in
# gasnet_config.h, the makefile fragments and pkg-config variables, and values of the expected form.
set -u
. "$AQ_SRC/tests/run-functions.sh"
prepare_mpirun
prefix=$AQ_BUILD/installed
sanitizers=$(build_sanitizers)
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
variables="PREFIX CC OPT_CFLAGS MISC_CFLAGS MISC_CPPFLAGS DEFINES INCLUDES CXX OPT_CXXFLAGS MISC_CXXFLAGS
    MISC_CXXCPPFLAGS LD LDFLAGS LIBS LD_REQUIRES_MPI CFLAGS CPPFLAGS CXXFLAGS CXXCPPFLAGS"

fail()
{
    echo "check-fragments: $*"
    exit 1
}

# words TEXT PREFIX ...: whether each word of the text begins with one of the prefixes.
words()
{
    local word begin text=$1
    shift
    for word in $text; do
        for begin in "$@"; do
            [[ $word == "$begin"* ]] && continue 2
        done
        return 1
    done
}

# value FRAGMENT NAME: prints the value of the variable GASNET_NAME of the fragment.
value()
{
    printf 'include %s\nvalue:\n\t@echo "$(GASNET_%s)"\n' "$1" "$2" | make -s -f - value
}

same_as_config()
{
    local from_mak from_pc
    from_mak=$(value "$1" "$3" | xargs)
    from_pc=$(pkg-config "$2" --variable="GASNET_$3" | xargs)
    [ "$from_mak" = "$from_pc" ] || fail "GASNET_$3 is '$from_mak' in $1, but '$from_pc' in package $2."
    [[ $from_mak != *%* ]] || fail "GASNET_$3 has a %, which ends the sed commands of clients: '$from_mak'."
    grep -q "^GASNET_$3 =" "$1" || fail "$1 has no GASNET_$3."
}

# Clients rely on GNU's functions and, in modes with threads, on those for threads.
check_defines()
{
    case $2 in
    seq) [[ $1 != *REENTRANT* ]] ;;
    *) [[ $1 == *" -D_REENTRANT "* ]] ;;
    esac && [[ $1 == *" -D_GNU_SOURCE=1 "* && $1 == *" -DGASNET_${2^^} "* ]] || fail "GASNET_DEFINES of mode $2 is '$1'."
}

# A client that uses only the variables of the fragment, and the conduit that the headers define.
build_and_run()
{
    local mak=$1 conduit=$2 mode=$3 upper=${2^^}
    cat >"macros-$mode.c" <<END
#include <gasnetex.h>
#include <math.h>
#if GASNET_${upper}_CONDUIT != 1 || GASNET_CONDUIT_${upper} != 1
#error "the conduit is not told"
#endif
#if defined(GASNET_DEBUG) + defined(GASNET_NDEBUG) != 1 || GASNET_PSHM != 1
#error "the build is not told"
#endif
#if defined(GASNET_TRACE) || defined(GASNET_STATS) || defined(GASNET_SRCLINES)
#error "there is no tracing"
#endif
const char config[] = GASNET_CONFIG_STRING;
extern double root(double x);
double root(double x)
{
    return sqrt(x * SIZEOF_INT);
}
END
    cat >Makefile <<END
include $mak
hello-$mode: hello-$mode.o macros-$mode.o
	\$(GASNET_LD) \$(GASNET_LDFLAGS) -o \$@ \$^ \$(GASNET_LIBS)
hello-$mode.o: $AQ_SRC/examples/hello.c
	\$(GASNET_CC) \$(GASNET_CPPFLAGS) \$(GASNET_CFLAGS) -c -o \$@ \$<
macros-$mode.o: macros-$mode.c
	\$(GASNET_CC) -Werror \$(GASNET_CPPFLAGS) \$(GASNET_CFLAGS) -c -o \$@ \$<
END
    make -s || fail "a program cannot be built with $mak."
    # GASNET_LIBS has the run path too, for clients that leave out GASNET_LDFLAGS. Nobody can do that
    # with sanitizers, whose flags are there.
    if [ -z "$sanitizers" ]; then
        make -s GASNET_LDFLAGS= -B && "$prefix/bin/gasnetrun_$conduit" -n 1 "./hello-$mode" >/dev/null ||
            fail "a program linked with GASNET_LIBS of $mak alone does not run."
    fi
    "$prefix/bin/gasnetrun_$conduit" -n 2 "./hello-$mode" || fail "the program made with $mak does not run."
    strings "./hello-$mode" | grep -q "^RELEASE=.*,CONDUIT=$upper,THREADMODEL=${mode^^},SEGMENT=FAST,.*debug" ||
        fail "GASNET_CONFIG_STRING is not what it should be: $(strings "./hello-$mode" | grep RELEASE=)"
}

check_fragment()
{
    local mak=$1 conduit=$2 mode=$3 v
    for v in $variables; do
        same_as_config "$mak" "gasnet-$conduit-$mode" "$v" || exit
    done
    for v in CC CXX LD; do
        [[ $(value "$mak" $v) == /* ]] || fail "GASNET_$v of $mak does not begin with a full path."
    done
    words "$(value "$mak" INCLUDES)" "-I$prefix/" || fail "GASNET_INCLUDES of $mak has other than -I and absolute paths."
    words "$(value "$mak" DEFINES)" -D -U || fail "GASNET_DEFINES of $mak has other than -D and -U."
    words "$(value "$mak" LIBS)" "-L$prefix/" -l "-Wl,-rpath,$prefix/" ||
        fail "GASNET_LIBS of $mak has other than -L, -l and the run path."
    check_defines " $(value "$mak" DEFINES) " "$mode"
    [[ $(value "$mak" LIBS) == "-L$prefix/lib "*"-lgasnet-$conduit-$mode"* ]] ||
        fail "GASNET_LIBS of $mak does not begin with -L, or does not have the library."
    build_and_run "$mak" "$conduit" "$mode"
}

# A client that uses only the include folder and its thread mode.
check_bare()
{
    local header=$prefix/include/$1-conduit/gasnet_core.h
    [ -e "$header" ] || fail "$header is missing."
    echo "#include <gasnetex.h>" >bare.c
    for flags in "-I$prefix/include" "-I$prefix/include -I$prefix/include/$1-conduit -DGASNET_CONDUIT_${1^^}"; do
        # shellcheck disable=SC2086
        cc -Wall -Wextra -Wpedantic -Werror -std=c11 -DGASNET_PAR $flags -c bare.c -o bare.o ||
            fail "<gasnetex.h> does not compile with $flags."
    done
}

# The tools have the same two files, even if this build lacks their libraries.
check_tools()
{
    local mode v
    for mode in seq par; do
        make -s -C "$AQ_BUILD" "gasnet_tools-$mode.mak" "gasnet_tools-$mode.pc" >make.out 2>&1 || fail "$(cat make.out)"
        grep -q '^GASNETTOOLS_CPPFLAGS = .*-D_GNU_SOURCE=1 ' "$AQ_BUILD/gasnet_tools-$mode.mak" || fail "gasnet_tools-$mode.mak lacks -D_GNU_SOURCE=1."
        for v in CC CPPFLAGS CFLAGS CXX CXXFLAGS LD LDFLAGS LIBS; do
            grep -q "^GASNETTOOLS_$v = *[^ @%]*" "$AQ_BUILD/gasnet_tools-$mode.mak" || fail "gasnet_tools-$mode.mak has no GASNETTOOLS_$v."
        done
        ! grep '[@%]' <(grep '^GASNETT' "$AQ_BUILD/gasnet_tools-$mode.mak" "$AQ_BUILD/gasnet_tools-$mode.pc") ||
            fail "a word of the template was not replaced."
        pkg-config --libs "$AQ_BUILD/gasnet_tools-$mode.pc" | grep -q -- "-lgasnet_tools-$mode" ||
            fail "gasnet_tools-$mode.pc does not name the library."
        grep -q "^GASNETTOOLS_LIBS = .*-lm" "$AQ_BUILD/gasnet_tools-$mode.mak" || fail "GASNETTOOLS_LIBS of mode $mode lacks -lm."
    done
}

for part in MAJOR MINOR PATCH; do
    grep -qE "^#define GASNET_RELEASE_VERSION_$part +[0-9]+\$" "$prefix/include/gasnet_config.h" ||
        fail "gasnet_config.h has no plain line for GASNET_RELEASE_VERSION_$part."
done

count=0
for installed in "$prefix"/include/*-conduit/*.mak; do
    IFS=- read -r conduit mode <<<"$(basename "$installed" .mak)"
    cp "$installed" elsewhere.mak
    check_fragment "$PWD/elsewhere.mak" "$conduit" "$mode"
    check_bare "$conduit"
    count=$((count + 1))
done
[ $count -ge 3 ] || fail "$count fragments are installed, not one for each thread mode."
check_tools
exit 0
