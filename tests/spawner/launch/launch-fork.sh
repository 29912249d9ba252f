#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-fork: where the system refuses a child that shares the memory and the files of the launcher
# (EINVAL, as qemu-user does), the launcher forks, and says what exec says.
set -u
. "$(dirname "$0")/launch-functions.sh"
command -v cc >/dev/null || {
    echo "cc was not found (package gcc)"
    exit 77
}

cat >"$work/refuse.c" <<END
#include <errno.h>
#include <unistd.h>
int clone(int (*fn)(void *), void *stack, int flags, void *arg)
{
    (void)fn, (void)stack, (void)flags, (void)arg;
    (void)!write(2, "refused\n", 8);
    errno = EINVAL;
    return -1;
}
END
cc -w -shared -fPIC -o "$work/refuse.so" "$work/refuse.c" || fail "the library that refuses is not built"

# The program gets the library too, which refuses nothing there.
expect 0 env LD_PRELOAD="$work/refuse.so" "$run" -n 3 "$AQ_BUILD/hello"
[ "$(grep -c '^Hello from rank' "$work/out")" -eq 3 ] || fail "not three ranks said hello"
[ "$(grep -c '^refused$' "$work/err")" -eq 3 ] || fail "the launcher did not ask for three children"

printf 'no program\n' >"$work/text"
chmod +x "$work/text"
expect 126 env LD_PRELOAD="$work/refuse.so" "$run" -n 2 "$work/text"
says 'is not a program for this machine'
exit 0
