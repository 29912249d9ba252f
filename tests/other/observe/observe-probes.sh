#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-probes: the library has the probes of gasnet_probes(7), and the scripts for bpftrace answer
# their questions: they count the messages of a program that knows what it sends, and see puts,
# gets, waits and packets that are lost. The job uses a copy of the library, because probes act on
# each process that has the watched file.
set -u
. "$AQ_SRC/tests/run-functions.sh"
. "$AQ_SRC/tests/checks/check-functions.sh"
name=probes ran=1
touch "$work/out" "$work/err"
library=$work/libaqueduct.so.0

# Lines "NAME ARGUMENTS"
probes_of_library()
{
    readelf -n "$library" | awk '/Provider: aqueduct/ {ours = 1}
        ours && /Name:/ {name = $2}
        ours && /Arguments:/ {print name, NF - 1; ours = 0}' | sort -u
}

probes_of_page()
{
    awk -F'\t' '/^\.TS/ {table = 1} /^\.TE/ {table = 0}
        table && NF >= 3 && $1 != "probe" {print $1, split($2, words, " ")}' "$AQ_SRC/docs/man/gasnet_probes.7" | sort
}

# Becomes a tracer, in a namespace of mounts, because it needs a file system that may not be mounted.
tracer()
{
    exec unshare -m sh -c 'mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; exec "$@"' sh bpftrace "$@"
}

# watch SCRIPT: watches with it in the background
watch()
{
    sed "s|@LIBRARY@|$library|" "$1" >"$work/${1##*/}"
    (tracer "$work/${1##*/}") >"$work/${1##*/}.out" 2>&1 &
    tracers+=($!)
}

# await PATTERN: each tracer has written it
await()
{
    local i file
    for file in "$work"/*.bt.out; do
        for i in $(seq 200); do
            grep -q "$1" "$file" && break
            sleep 0.1
        done
        grep -q "$1" "$file" || complain "no '$1': $(head -3 "$file")"
    done
}

expect()
{
    grep -qE "$2" "$work/$1.bt.out" || complain "$1.bt has no line '$2'"
}

cp -L "$AQ_BUILD/.libs/libaqueduct.so.0" "$library" || exit 1
probes_of_library >"$work/there"
if [ ! -s "$work/there" ] && ! grep -q HAVE_SYS_SDT_H "$AQ_BUILD/config.h"; then
    skip "the library has no probes (package systemtap-sdt-dev)"
fi
probes_of_page | diff - "$work/there" || complain "the manual page and the library differ"
if ! (tracer -e 'BEGIN { exit(); }') >"$work/out" 2>&1; then
    echo "left out: bpftrace cannot run here: $(tail -n 1 "$work/out")"
    conclude lists
    exit
fi

# Each key has the process: where one process preempts another one while bpftrace counts, it loses one.
cat >"$work/sent.bt" <<END
usdt:@LIBRARY@:aqueduct:message_send { @sent[arg0] = count(); }
usdt:@LIBRARY@:aqueduct:handler_start /arg1 >= 64/ { @handled[pid] = count(); }
usdt:@LIBRARY@:aqueduct:collective_start { @begun[arg0, arg1, arg2, arg3] = count(); }
usdt:@LIBRARY@:aqueduct:collective_end { @ended[arg0, arg1, arg2, arg3] = count(); }
END
tracers=()
mkdir "$work/scripts"
mv "$work/sent.bt" "$work/scripts"
for script in "$work/scripts/sent.bt" "$AQ_SRC"/other/observe/*.bt; do
    watch "$script"
done
await '^Attach' # Attaching (0.23) or Attached (0.27)
sleep 1 # until the kernel has placed the last one
export LD_LIBRARY_PATH=$work GASNET_SUPERNODE_MAXSIZE=1 GASNET_UDP_FAULT_DROP=20
on_udp 3 "$AQ_BUILD/traffic_work" 2 >"$work/expected" 2>"$work/err" ||
    complain "the job failed: $(head -3 "$work/err")"
kill -INT "${tracers[@]}"
wait "${tracers[@]}"
awk -F, '/^[0-9]+,/ {n[$2] += $3 + $4 + $5 + $7 + $8 + $9} END {for (r in n) print "@sent[" r "]: " n[r]}' \
    "$work/expected" | sort >"$work/wanted"
grep '^@sent' "$work/sent.bt.out" | sort | diff "$work/wanted" - || complain "messages (> is what bpftrace saw)"
handled=$(awk '{n += $2} END {print n}' "$work/wanted")
awk -v wanted="$handled" '/^@handled/ {n += $2} END {exit n != wanted}' "$work/sent.bt.out" ||
    complain "not $handled handlers: $(grep handled "$work/sent.bt.out")"
# The first rank to leave the last barrier ends the job, perhaps before the others have left it.
last=$(sed -n 's/^@begun\[[0-2], 0, 1, \([0-9]*\)\].*/\1/p' "$work/sent.bt.out" | sort -n | tail -1)
collectives_of()
{
    sed -n "/, 0, 1, $last\]/d; s/^@$1\[[0-2], /[/p" "$work/sent.bt.out" |
        awk -F': ' '{n[$1] += $2} END {for (key in n) print key ": " n[key]}' | sort
}
collectives_of begun >"$work/begun"
collectives_of ended | diff "$work/begun" - || complain "collectives (> has ended)"
awk '!/: 3$/ {wrong = 1} /^\[0, 1, / {barriers++} END {exit wrong || barriers < 2}' "$work/begun" ||
    complain "not each collective began in 3 ranks: $(cat "$work/begun")"
expect latency '^@put_us\[[0-9]+, [0-2]\]:'
expect latency '^@round_trip_us\[[0-9]+, [0-2]\]:'
expect waits '^@wait_ms\[[0-2], (-1|[0-2])\]: [0-9]+'
expect resends '^@resent\[[0-2], [0-2]\]: [1-9]'
conclude probes
