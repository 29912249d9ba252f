#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# fake-faults: the library refuses modules that are missing, broken or built for another version,
# with a sentence that says why; and a conduit that fails ends the whole job.
set -u
. "$AQ_SRC/tests/run-functions.sh"
. "$AQ_SRC/tests/spawner/launch/launch-functions.sh"

# refuses WORDS CONDUIT PATH [COMMAND ...]: a job with this conduit, and with PATH as the path of
# modules, fails and prints these words. COMMAND, if given, starts the program of each rank. Only
# the first rank that cannot continue prints the reason; the other ranks end with it.
refuses()
{
    local words=$1 conduit=$2 path=$3
    shift 3
    code=0
    GASNET_MODULE_PATH=$path timeout 30 "$run" -n 2 \
        env GASNET_CONDUIT="$conduit" GASNET_SUPERNODE_MAXSIZE=1 "$@" conform-seq barrier_team \
        >"$work/out" 2>"$work/err" || code=$?
    [ "$code" -ne 0 ] && [ "$code" -ne 124 ] || fail "exit code $code with $conduit in $path"
    grep -qF -- "$words" "$work/err" || fail "no '$words' in the message"
}

modules=$AQ_BUILD/modules
refuses "conduit absent cannot be used: this installation has no conduit 'absent'" absent "$modules"
refuses 'aq_conduit_version1.so was built for version 1.9 of the conduit contract' \
    version1 "$modules"
refuses 'aq_conduit_version2.so was built for version 2.11 of the conduit contract' \
    version2 "$modules"
refuses 'this library needs version 3.' version2 "$modules"
# A module brings a setting whose name exists already: the message names both owners.
words='conduit taken brings the setting GASNET_SPIN_US, which belongs to the library: '
refuses "${words}give it another name" taken "$modules"
refuses 'conduit incomplete cannot be used: its table lacks usable' \
    incomplete "$modules"
echo 'no shared object' >"$work/aq_conduit_text.so"
refuses 'its module cannot be loaded' text "$work"
cp "$modules/aq_spawn_slurm.so" "$work/aq_conduit_other.so" || fail "no module of another kind"
refuses 'aq_conduit_other.so is no conduit, because it does not export aq_conduit_module' other "$work"
mkfifo "$work/aq_conduit_pipe.so"
refuses 'aq_conduit_pipe.so is no file' pipe "$work"
refuses "has no conduit '../modules/fake'" ../modules/fake "$modules"

# Hosts may differ: one of two ranks has no such module, a different rank in different rounds.
# Exactly this rank prints the reason.
for round in 1 2 3 4; do
    rm -rf "$work/taken"
    refuses "conduit fake cannot be used: this installation has no conduit 'fake'" fake "$modules" \
        sh -c 'mkdir "$0" 2>/dev/null || export GASNET_MODULE_PATH=/nowhere; exec "$@"' \
        "$work/taken"
    [ "$(grep -c 'cannot be used' "$work/err")" = 1 ] ||
        fail "not exactly one sentence of the rank that lacks a module"
done

# The library searches the folders of the path in order: a folder without the module does not
# matter.
job()
{
    GASNET_MODULE_PATH=$1 "$run" -n 2 env GASNET_CONDUIT=fake GASNET_SUPERNODE_MAXSIZE=1 \
        conform-seq barrier_team
}
expect 0 job "$work:$modules"
expect 0 job "$modules:$work"

# Settings of the fake conduit itself.
for setting in AQ_FAKE_AGAIN=96 AQ_FAKE_HOLD=x AQ_FAKE_SEED=-1 AQ_FAKE_FAIL_AFTER=; do
    expect 1 env "$setting" bash -c \
        '. "$AQ_SRC/tests/run-functions.sh"; on_fake 2 conform-seq barrier_team'
    grep -qF -- "${setting%%=*}: '${setting#*=}' is not a whole number" "$work/err" ||
        fail "$setting is not refused"
done

# Send number n of each rank fails: the first send of all, and a send in the middle of the suite.
for n in 1 500; do
    : >"$work/pids"
    AQ_FAKE_FAIL_AFTER=$n expect 1 on_fake 3 \
        bash -c 'echo $$ >>"$0"; exec conform-seq all' "$work/pids"
    grep -q "the fake conduit fails send $n, as" "$work/err" ||
        fail "the conduit's own message is missing"
    grep -q 'fatal: sending to rank [0-2] failed' "$work/err" || fail 'the fatal message is missing'
    pids=$(cat "$work/pids")
    [ "$(wc -w <<<"$pids")" = 3 ] || fail "not 3 ranks have started"
    none_left
done
exit 0
