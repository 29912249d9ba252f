#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# static-runner: tests/run tells failing, hanging, skipping and littering tests from good ones, and
# runs beside each other those that may.
set -u
. "$AQ_SRC/tests/run-functions.sh"
build=$AQ_BUILD
export AQ_BUILD=$TMPDIR
list=$AQ_SRC/tests/static/tree/check-runner.list

# Runs tests/run with a table; even on one processor tests run beside each other.
run_table()
{
    "$AQ_SRC/tests/run" --jobs 4 --table "$@" >out 2>&1
    code=$?
}

run()
{
    run_table "$list" "$@"
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

# The tests that passed, in their order.
passed()
{
    sed -n 's/^ok \([^ ]*\) .*/\1/p' out | xargs
}

run
expect_code 1
expect_line 'ok passes-a [0-9]+\.[0-9] s'
expect_line 'ok passes-b [0-9]+\.[0-9] s'
expect_line 'FAIL fails [0-9]+\.[0-9] s: exit code 3'
expect_line '    the reason of the failure'
expect_line 'FAIL hangs [0-9]+\.[0-9] s: time limit of 2 s'
expect_line '    before it hangs'
expect_line '    the end of the file work/messages:'
expect_line '        of its job'
expect_line '    process [0-9]+ \(of [0-9]+\) S in .*: sleep 60'
expect_line 'FAIL ignores-the-limit [0-9]+\.[0-9] s: time limit of 2 s'
expect_line 'skip skips: there is no such network'
expect_line 'ok leaves-out [0-9]+\.[0-9] s'
expect_line '    left out: a part: it is not installed'
! grep -q 'some output' out || die "the output of a good test is shown"
for name in process session stranger; do
    expect_line "FAIL leaves-a-$name [0-9]+\.[0-9] s: left 1 processes behind, exit code 0"
done
[ "$(grep -Ec '^    left behind: [0-9]+ ([^ ]*/)?sleep 60$' out)" -ge 3 ] || die "the processes left behind are not named"
expect_line 'ok leaves-for-once .*'
expect_line 'FAIL after-a-failure 0\.0 s: it needs fails, which failed'
expect_line 'skip after-a-skip: it needs skips, which was skipped'
expect_line 'skip after-one-of-two: it needs skips, which was skipped'
expect_line 'ok after-several .*'
[ "$(grep -c '^ok late' out)" = 1 ] || die "the test 'late' did not run exactly once"
for name in meets-here meets-there takes-a takes-b takes-one beside-a beside-b lone-a lone-b; do
    expect_line "ok $name .*"
done
[[ $(passed) =~ lone-a\ lone-b$ ]] || die "the tests that run alone are not the last"
expect_last '16 passed, 7 failed, 3 skipped'
sed -n '/^The failures again:$/,$p' out >again
grep -q '^    the reason of the failure$' again || die "the reason of the first failure is not repeated"
[ "$(grep '^FAIL' again | sort -u | wc -l)" = 7 ] || die "the names of the failures are not all repeated"
tail -n 8 out >ending
grep -qxF "fails failed; its log is $AQ_BUILD/test-logs/fails.log; to run it alone: tests/run fails" ending &&
    grep -qxF "after-a-failure failed; to run it alone: tests/run after-a-failure" ending ||
    die "the last lines do not say how to run a test that failed"
grep -q 'the reason of the failure' "$AQ_BUILD/test-logs/fails.log" || die "the log of a failure is not kept"

# A log that cannot be kept ends no run.
mkdir unkept && touch unkept/test-logs
AQ_BUILD=$PWD/unkept run fails
expect_code 1
expect_line 'fails failed; to run it alone: tests/run fails'
expect_last '0 passed, 1 failed, 0 skipped'

run 'passes-*' late
expect_code 0
expect_last '3 passed, 0 failed, 0 skipped'

# A test brings those that it needs.
run after-several
expect_code 0
[ "$(passed | tr ' ' '\n' | sort | xargs)" = "after-several late passes-a" ] || die "these tests are not those needed"

run skips
expect_code 1
expect_last '0 passed, 0 failed, 1 skipped'

run --within 0 'passes-*'
expect_code 1
expect_line 'skip passes-a: it would begin later than 0 s after the start of this run \(--within\)'
expect_last '0 passed, 0 failed, 2 skipped'

run 'no-such-*' passes-a
expect_code 1
expect_line "run: no test matches 'no-such-\*'; tests/run --list prints all names\."
expect_last '1 passed, 0 failed, 0 skipped'

run --list 'passes-*'
expect_code 0
[ "$(cat out)" = "passes-a"$'\n'"passes-b" ] || die "--list printed something else"

# Times, by group and by test; then long tests begin first.
run --times=table 'takes-*' 'passes-*' late
expect_code 0
grep -Eqx 'takes +3 +[0-9.]+ +[0-9.]+ +[0-9.]+%' table && grep -Eqx 'all +6 .*' table || die "the table of times has other groups: $(cat table)"
[ "$(grep -c '[0-9] s  [a-z]' table)" = 6 ] || die "the table of times names other tests: $(cat table)"
echo 'passes-b 100.0' >"$AQ_BUILD/test-times"
"$AQ_SRC/tests/run" --jobs 1 --table "$list" 'passes-*' --times >out 2>&1
[ "$(passed)" = "passes-b passes-a" ] || die "the longest test was not the first"
expect_line 'all +2 .*'
grep -qx 'passes-b [0-9]\.[0-9]' "$AQ_BUILD/test-times" || die "the times are not kept"

# The quick check, and the rest.
mkdir parts
cat >parts/table.list <<'TABLE'
one-a   | 5 | true
one-b   | 5 | true
other-a | 50 | true
other-b | 50 after other-c | true
other-c | 5 | true
TABLE
echo 'other-[ac] | they take long' >parts/rest.list
run_table parts/table.list --check quick
expect_code 0
expect_line 'This check leaves out 1 tests; make check-rest runs them\.'
expect_last '4 passed, 0 failed, 0 skipped'
run_table parts/table.list --check rest --list
[ "$(cat out)" = "other-a"$'\n'"other-c" ] || die "the rest has other tests"
rm "$AQ_BUILD/test-times"
"$AQ_SRC/tests/run" --jobs 1 --table parts/table.list --check all >out 2>&1
[ "$(passed)" = "other-c other-b one-a one-b other-a" ] || die "the quick tests are not the first"
echo 'other-a' >parts/rest.list
run_table parts/table.list
expect_code 2
expect_line "run: parts/rest.list: cannot read the line 'other-a'; write pattern \| reason\."

# A folder of lists: a list has the sets of those above it, and its tests may come after those of any other.
mkdir -p lists/one/deep lists/two
echo 'set letter = a b' >lists/tests.list
echo 'one-{letter} | 5 after two | true' >lists/one/tests.list
printf 'set letter = c\none-deep-{letter} | 5 | true\n' >lists/one/deep/tests.list
echo 'two | 5 after one-deep-c | true' >lists/two/tests.list
echo 'one-a | it takes long' >lists/rest.list
run_table lists
expect_code 0
[ "$(passed | tr ' ' '\n' | sort | xargs)" = "one-a one-b one-deep-c two" ] || die "the lists of a folder are not one table"
run_table lists --check rest --list
[ "$(cat out)" = one-a ] || die "rest.list is not that of the folder"
echo 'two-{digit} | 5 | true' >lists/two/tests.list
echo 'set digit = 1' >>lists/one/tests.list
run_table lists
expect_code 2
expect_line "run: lists/two/tests.list: 'two-\{digit\}' uses the set 'digit', which no line above it defines\\."
echo 'one-a | 5 | true' >lists/two/tests.list
run_table lists
expect_line "run: lists/two/tests.list: two tests are called 'one-a'\\."

# Each pattern of the real list names tests.
if [ -e "$build/unit.list" ]; then
    sed -n '/^[^#]/s/ *|.*//p' "$AQ_SRC/tests/rest.list" | AQ_BUILD=$build xargs -d '\n' "$AQ_SRC/tests/run" --list >out 2>&1 ||
        die "tests/rest.list names no tests"
fi

# In a clone that was never built, where nothing can be built.
mkdir -p clone/tests clone/bin && cp -r "$AQ_SRC/tests/run" "$AQ_SRC/tests/runner" clone/tests &&
    printf '#!/bin/sh\necho make ran\nexit 1\n' >clone/bin/make && chmod +x clone/bin/make
env -u AQ_BUILD PATH="$PWD/clone/bin:$PATH" clone/tests/run --table "$list" --list 'passes-*' >out 2>&1
code=$?
expect_code 0
[ "$(cat out)" = "passes-a"$'\n'"passes-b" ] || die "--list prints something else in a fresh clone"

# Without a build, the sets name what is in the tree.
mkdir unbuilt
AQ_BUILD=$PWD/unbuilt "$AQ_SRC/tests/run" --list unit-am am_args-smp-4-seq fuzz-hosts >out 2>&1
code=$?
expect_code 0

# Without python3, and with an old one.
PATH=$PWD/clone /bin/sh "$AQ_SRC/tests/run" >out 2>&1
code=$?
expect_code 2
expect_line 'run: python3 is missing; install the package python3\.'
python3 -B -c 'import runpy, sys; sys.version_info = (3, 8); runpy.run_path(sys.argv[1])' "$AQ_SRC/tests/runner/__main__.py" >out 2>&1
code=$?
expect_code 2
expect_line 'run: python3 is older than 3\.9; install a newer package python3\.'

# Words that the table does not have, and tests that cannot be.
expect_refusal()
{
    printf '%b' "$1" >bad.list
    run_table bad.list
    expect_code 2
    expect_line "run: bad.list: $2"
}
expect_refusal 'a | soon | true\n' "'soon' is not a time limit for a; write seconds\\."
expect_refusal 'a | 5 aside | true\n' "'aside' says nothing about a; write after, takes or alone\\."
expect_refusal 'a | 5 after b | true\n' "a comes after 'b', which is not a test\\."
expect_refusal 'a | 5 after b | true\nb | 5 after a | true\n' "a comes after itself\\."
expect_refusal 'a | 5 | true\na | 5 | true\n' "two tests are called 'a'\\."
expect_refusal 'a-{b} | 5 | true\n' "'a-\{b\}' uses the set 'b', which no line above it defines\\."

printf 'set none = $(false)\nfamily-{none} | 5 | true\n' >empty.list
run_table empty.list
expect_code 1
expect_line 'FAIL family-none .*'

# Builds of another tree, and older ones than the sources.
mkdir other
echo "abs_top_srcdir = $PWD/clone" >other/Makefile
AQ_BUILD=$PWD/other run passes-a
expect_code 2
expect_line "run: the build in $PWD/other is of the tree $PWD/clone, not of $AQ_SRC; set AQ_BUILD to another one\\."
echo "abs_top_srcdir = $AQ_SRC" >other/Makefile
touch -d 2001-01-01 other/tests-built
AQ_BUILD=$PWD/other run passes-a
expect_code 2
expect_line "run: $AQ_SRC/[^ ]* is newer than the build in $PWD/other; run make check-programs, or unset AQ_BUILD\\."
AQ_BUILD=$PWD/other run passes-a --as-built
expect_code 0
touch -d 2101-01-01 other/tests-built
AQ_BUILD=$PWD/other run passes-a
expect_code 0

# A disk that is nearly full.
mkdir small
if unshare -rm mount -t tmpfs -o size=900m small small 2>/dev/null; then
    unshare -rm bash -c 'mount -t tmpfs -o size=900m small small && TMPDIR=$PWD/small "$AQ_SRC/tests/run" --table "$0" passes-a' \
        "$list" >out 2>&1
    code=$?
    expect_code 1
    expect_line "skip passes-a: less than 1 GiB is free in $PWD/small/.*"
else
    left_out 'a nearly full disk' 'the kernel refuses namespaces'
fi

# Under nohup, tests can send SIGHUP nevertheless.
printf 'a | 5 | kill -HUP $BASHPID; echo ignored\n' >signal.list
(trap '' HUP && exec "$AQ_SRC/tests/run" --table signal.list) >out 2>&1
code=$?
expect_code 1
expect_line 'FAIL a .*: exit code 129'

# A run that ends early ends its tests, and removes what it has made.
printf 'a | 60 | echo $BASHPID >"$AQ_BUILD/pid"; setsid sleep 60\n' >long.list
mkdir made
TMPDIR=$PWD/made "$AQ_SRC/tests/run" --table long.list >out 2>&1 &
until [ -s pid ]; do sleep 0.05; done
kill $!
wait $!
code=$?
expect_code 130
expect_line 'run: interrupted\.'
! kill -0 "$(cat pid)" 2>/dev/null || die "the test goes on"
[ -z "$(ls -A made)" ] || die "something is left in the folder: $(ls -A made)"

# If it is killed, its tests end, too.
rm pid
"$AQ_SRC/tests/run" --table long.list >out 2>&1 &
until [ -s pid ]; do sleep 0.05; done
kill -KILL $!
while kill -0 "$(cat pid)" 2>/dev/null; do sleep 0.05; done

# Results that nobody reads end a run, too.
exec {closed}> >(true)
wait $!
"$AQ_SRC/tests/run" --table "$list" passes-a >&$closed 2>out
code=$?
expect_code 141
[ ! -s out ] || die "it has more to say"
exit 0
