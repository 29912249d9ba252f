#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# static-runner: tests/run tells failing, hanging, skipping and littering tests from good ones.
set -u
. "$AQ_SRC/tests/run-functions.sh"
export AQ_BUILD=$TMPDIR

run()
{
    "$AQ_SRC/tests/run" --table "$AQ_SRC/tests/static/check-runner.list" "$@" >out 2>&1
    code=$?
}

die()
{
    echo "check-runner: $*; this is what came out:"
    cat out
    exit 1
}

expect_code()
{
    [ $code = "$1" ] || die "the exit code is $code, not $1"
}

expect_line()
{
    grep -Eqx -- "$1" out || die "no line matches '$1'"
}

expect_last()
{
    [ "$(tail -n 1 out)" = "$1" ] || die "the last line is not '$1'"
}

run
expect_code 1
expect_line 'ok passes-a [0-9]+\.[0-9] s'
expect_line 'ok passes-b [0-9]+\.[0-9] s'
expect_line 'FAIL fails [0-9]+\.[0-9] s: exit code 3'
expect_line '    the reason of the failure'
expect_line 'FAIL hangs [0-9]+\.[0-9] s: time limit of 2 s'
expect_line '    before it hangs'
expect_line 'FAIL ignores-the-limit [0-9]+\.[0-9] s: time limit of 2 s'
expect_line 'skip skips: there is no such network'
expect_line 'ok leaves-out [0-9]+\.[0-9] s'
expect_line '    left out: a part: it is not installed'
! grep -q 'some output' out || die "the output of a good test is shown"
expect_line 'FAIL leaves-a-process [0-9]+\.[0-9] s: left 1 processes behind, exit code 0'
expect_line 'FAIL leaves-a-session [0-9]+\.[0-9] s: left 1 processes behind, exit code 0'
expect_line 'FAIL after-a-failure 0\.0 s: it needs fails, which failed'
expect_line 'skip after-a-skip: it needs skips, which was skipped'
[ "$(grep -c '^ok late' out)" = 1 ] || die "the test 'late' did not run exactly once"
expect_line 'ok meets-here [0-9]+\.[0-9] s'
expect_line 'ok meets-there [0-9]+\.[0-9] s'
expect_line 'FAIL fails-there [0-9]+\.[0-9] s: exit code 4'
expect_line '    the reason of that failure'
[ "$(grep -c '^ok sets-free ' out)$(grep -c '^ok taken-by-both ' out)" = 11 ] ||
    die "a test that either process may run did not run exactly once"
expect_line 'skip not-taken: it needs skips, which was skipped'
expect_last '10 passed, 7 failed, 3 skipped'
sed -n '/^The failures again:$/,$p' out >again
grep -q '^    the reason of the failure$' again || die "the reason of the first failure is not repeated"
[ "$(grep '^FAIL' again | sort -u | wc -l)" = 7 ] || die "the names of the failures are not all repeated"

run 'passes-*' late
expect_code 0
expect_last '3 passed, 0 failed, 0 skipped'

run fails-there
expect_code 1
expect_last '0 passed, 1 failed, 0 skipped'

run skips
expect_code 1
expect_last '0 passed, 0 failed, 1 skipped'

run --within 0 'passes-*'
expect_code 1
expect_line 'skip passes-a: it would begin later than 0 s after the start of this run \(--within\)'
expect_last '0 passed, 0 failed, 2 skipped'

run 'no-such-*'
expect_code 1
expect_last '0 passed, 0 failed, 0 skipped'

run --list 'passes-*'
expect_code 0
[ "$(cat out)" = "passes-a"$'\n'"passes-b" ] || die "--list printed something else"

# In a clone that was never built, where nothing can be built.
mkdir -p clone/tests clone/bin && cp "$AQ_SRC/tests/run" clone/tests &&
    printf '#!/bin/sh\necho make ran\nexit 1\n' >clone/bin/make && chmod +x clone/bin/make
env -u AQ_BUILD PATH="$PWD/clone/bin:$PATH" clone/tests/run --table "$AQ_SRC/tests/static/check-runner.list" --list 'passes-*' >out 2>&1
code=$?
expect_code 0
[ "$(cat out)" = "passes-a"$'\n'"passes-b" ] || die "--list prints something else in a fresh clone"

printf 'set none = $(false)\nfamily-{none} | 5 | true\n' >empty.list
"$AQ_SRC/tests/run" --table empty.list >out 2>&1
code=$?
expect_code 1
expect_line 'FAIL family-none .*'

printf 'a | 5 aside | true\nb | 5 after a | true\n' >bad.list
"$AQ_SRC/tests/run" --table bad.list >out 2>&1
code=$?
expect_code 2
expect_line "run: .*: b comes after 'a', which another process may run\\."

# Under nohup, tests can send SIGHUP nevertheless.
printf 'a | 5 | kill -HUP $BASHPID; echo ignored\n' >signal.list
(trap '' HUP && exec "$AQ_SRC/tests/run" --table signal.list) >out 2>&1
code=$?
expect_code 1
expect_line 'FAIL a .*: exit code 129'

printf 'a | soon | true\n' >bad.list
"$AQ_SRC/tests/run" --table bad.list >out 2>&1
code=$?
expect_code 2
expect_line "run: .*'soon' is not a time limit for a; write seconds\\."
exit 0
