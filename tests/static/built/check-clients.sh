#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-clients: properties that clients rely on although no specification has them (docs/api.md,
# "Undocumented names that clients use"): system headers that our headers include, names whose
# address is taken, a compilation without a thread mode, and the header of an MPI together with
# ours.
set -u
. "$AQ_SRC/tests/run-functions.sh"
prefix=$AQ_BUILD/installed
include="-I$prefix/include -I$prefix/include/smp-conduit"
command -v c++ >/dev/null || skip "there is no C++ compiler (package g++)"

fail()
{
    echo "check-clients: $*"
    exit 1
}

# compiles FILE WORD ...: as C11 without GNU's extensions, as C and as C++ with them.
compiles()
{
    local file=$1
    shift
    cp "$file.c" "$file.cc"
    # shellcheck disable=SC2086
    cc -std=c11 -Wall -Wextra -Werror $include "$@" -c "$file.c" -o "$file.o" &&
        cc -std=gnu11 -Wall -Wextra -Werror $include -D_GNU_SOURCE=1 "$@" -c "$file.c" -o "$file.o" &&
        c++ -std=c++11 -Wall -Wextra -Werror $include -D_GNU_SOURCE=1 "$@" -c "$file.cc" -o "$file-cc.o"
}

for header in gasnetex.h gasnet.h gasnet_tools.h; do
    cat >system.c <<END2
#include <$header>
int system_headers(int n);
int system_headers(int n)
{
    char *text = (char *)alloca(16);
    fd_set set;
    off_t offset = MAX(n, 3) + MIN(n, 5);
    FD_ZERO(&set);
    snprintf(text, 16, "%d", toupper(n) + __BYTE_ORDER);
    errno = 0;
    raise(0);
    free(malloc(1));
    sleep(0);
    return (int)(offset + strtol(text, NULL, 10));
}
END2
    compiles system -DGASNET_SEQ || fail "a client that takes the system headers from $header does not compile."
done

cat >names.c <<'END2'
#include <gasnet.h>
static void *const keep1 __attribute__((unused)) = (void *)_gasneti_threadkey_init;
static void *const keep2 __attribute__((unused)) = (void *)_gasnett_trace_printf_noop;
static const char *(*const keep3)(void) __attribute__((unused)) = gasneti_gethostname;
static char table[GASNETI_MAX_THREADS] __attribute__((unused));
GASNETT_IDENT(client_conduit, "$ClientConduit: " _STRINGIFY(GASNET_CONDUIT_NAME) " " GASNET_CONDUIT_NAME_STR " $");
GASNETT_IDENT(client_compiler, "$ClientCompiler: " PLATFORM_COMPILER_IDSTR " $");
GASNETT_IDENT(client_compiler2, "$ClientCompiler2: " GASNETT_PLATFORM_COMPILER_IDSTR " $");
uint64_t undocumented(void *pointer, uint64_t word);
uint64_t undocumented(void *pointer, uint64_t word)
{
    const uint64_t ticks = gasneti_ticks_now();
    const gex_AM_Arg_t high = (gex_AM_Arg_t)GASNETI_HIWORD(pointer), low = (gex_AM_Arg_t)GASNETI_LOWORD(pointer);
    const uint64_t halves = GASNETI_MAKEWORD(GASNETI_HIWORD(word), GASNETI_LOWORD(word));
    return ticks - gasneti_ticks_to_ns(ticks) + gasneti_ticks_to_us(ticks) - ticks / 1000 + (halves - word) +
           ((uint64_t)(uintptr_t)pointer - GASNETI_MAKEWORD(high, low));
}
#if PLATFORM_COMPILER_VERSION != PLATFORM_COMPILER_VERSION_INT(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__) &&           \
    PLATFORM_COMPILER_GNU
#error "the version of the compiler is wrong"
#endif
END2
compiles names -DGASNET_PAR || fail "the undocumented names do not compile."
strings names.o | grep -qx '\$ClientConduit: SMP SMP \$' || fail "GASNET_CONDUIT_NAME is not SMP."

cat >halves.c <<'END2'
#include <gasnet_tools.h>
uint64_t undocumented(void *pointer, uint64_t word);
int main(void)
{
    return undocumented((void *)(uintptr_t)0xfedcba98fffffff1, 0x8000000180000002) != 0;
}
END2
cc -std=gnu11 $include -DGASNET_PAR halves.c names.o -o halves "-L$prefix/lib" "-Wl,-rpath,$prefix/lib" -lgasnet-smp-par -laqueduct \
    -pthread && ./halves || fail "GASNETI_HIWORD, GASNETI_LOWORD and GASNETI_MAKEWORD lose bits, or the ticks are not those of gasnett_ticks_now."

# Without a thread mode: the library that is linked decides.
cat >modeless.c <<'END2'
#include <gasnetex.h>
int main(int argc, char **argv)
{
    gex_TM_t tm;
    if (gex_Client_Init(NULL, NULL, &tm, "MODELESS", &argc, &argv, 0) != GASNET_OK)
        return 1;
    gasnet_seginfo_t segments[2]; // a call of gasnet.h which clients make without it
    if (gasnet_getSegmentInfo(segments, 2) != GASNET_OK)
        return 1;
    printf("%u threads\n", gex_System_QueryMaxThreads() > 1 ? 2u : 1u);
    fflush(stdout);
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    gasnet_exit(0);
}
END2
compiles modeless || fail "a client without a thread mode does not compile."
for mode in seq par parsync; do
    cc modeless.o -o modeless "-L$prefix/lib" "-Wl,-rpath,$prefix/lib" "-lgasnet-smp-$mode" -laqueduct -pthread || exit
    threads=$("$prefix/bin/gasnetrun_smp" -n 2 ./modeless | sort -u)
    case $mode in
    seq) expected="1 threads" ;;
    *) expected="2 threads" ;;
    esac
    [ "$threads" = "$expected" ] || fail "a client without a thread mode, linked for $mode, says '$threads', not '$expected'."
done
# shellcheck disable=SC2086
! cc $include -DGASNET_SEQ -DGASNET_PAR -c modeless.c 2>err && grep -q "define only one of GASNET_SEQ" err || fail "two thread modes are not refused."

# Open MPI has a header with macros of the same names as ours.
for mpi in ompi-c mpich; do
    words=$(pkg-config --cflags $mpi 2>/dev/null) || {
        left_out "$mpi" "it is not installed"
        continue
    }
    for header in gasnet gasnetex gasnet_tools; do
        printf '#include <%s.h>\n#include <mpi.h>\nextern int order;\n' $header >mpi1.c
        printf '#include <mpi.h>\n#include <%s.h>\nextern int order;\n' $header >mpi2.c
        for order in mpi1 mpi2; do
            # shellcheck disable=SC2086
            cc -Wall -Werror $include -DGASNET_PAR $words -c $order.c -o $order.o || fail "$header.h and mpi.h of $mpi do not compile together."
        done
    done
done
exit 0
