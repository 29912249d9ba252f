#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# start-spare: gasnetrun --spare. A shell of the test replaces ssh and runs commands on this host;
# the name of a host says what is wrong with it:
#   refuses*: the shell fails at once.    hangs*: the shell prints nothing and stays.
#   version*: another version answers.    dies*: its helper is killed once the host $KILL_AFTER was
#                                         called and the helpers of $HELPERS run.
#   waits*: its shell goes on when that helper was killed.
set -u
. "$(dirname "$0")/../launch/launch-functions.sh"
run=$AQ_BUILD/gasnetrun_udp
export GASNET_WORKERIP=127.0.0.1 GASNET_SSH_CMD=$work/shell GASNET_SPAWN_TIMEOUT=20
export GASNET_SSH_OUT_DEGREE=2

cat >"$work/shell" <<'END_SHELL'
#!/bin/bash
host=${*: -2:1} command=${*: -1}
killed=${0%/*}/killed
echo "$host" >>"${0%/*}/calls"

# Prints the process of the helper of that host in a job of this test.
helper_of()
{
    local pid
    for pid in $(pgrep -x gasnet-helper); do
        [ "$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | grep -cxF -e "HOST_NAME=$1" -e "GASNET_SSH_CMD=$0")" -eq 2 ] && echo $pid && return
    done
    return 1
}

# Whether the helpers of all hosts in $HELPERS run, and so have called their parents: a late call
# might come to another process that has got the port by then, and would be warned of.
helpers_run()
{
    local other
    for other in ${HELPERS-}; do
        helper_of "$other" >/dev/null || return
    done
}

case $host in
refuses*) echo "no way to $host" >&2; exit 5 ;;
hangs*) exec sleep 1000 ;;
version*) echo 'aqueduct-helper 1 0.0.1 - - 127.0.0.1'; exec sleep 1000 ;;
waits*) until [ -e "$killed" ]; do sleep 0.02; done ;;
dies*) (
    until grep -qxF "$KILL_AFTER" "${0%/*}/calls" && helpers_run && pid=$(helper_of "$host") && kill -KILL $pid; do
        sleep 0.02
    done
    : >"$killed"
) </dev/null >/dev/null 2>&1 & ;;
esac
exec env HOST_NAME="$host" sh -c "$command"
END_SHELL
chmod +x "$work/shell"

# on_hosts HOST ...: the ranks ran there, in this order, with as many on each as `each` says.
on_hosts()
{
    local rank=0 host i
    for host; do
        for i in $(seq "$each"); do
            grep -qx "\[$rank\] $host" "$work/out" || fail "rank $rank is not on $host"
            rank=$((rank + 1))
        done
    done
    [ "$(wc -l <"$work/out")" -eq $rank ] || fail "more lines than ranks"
}

# left_out HOST REASON: one warning.
left_out()
{
    [ "$(grep -c "host $1 is left out: .*$2" "$work/err")" -eq 1 ] || fail "no warning, or several, for host $1"
    warned=$((warned + 1))
}

# no_others: there are no further messages, but that all hosts are reached by loopback here, and which
# conduit a program is linked for.
no_others()
{
    [ "$(grep -vc 'resolves to the loopback address\|is linked for conduit smp' "$work/err")" -eq $warned ] || fail "other messages than $warned warnings"
    warned=0
}
warned=0

# Prints the name of the host, which the rank has from the shell that started its helper. The ranks
# of a helper have the environment of the launcher, so that the parent is asked.
cat >"$work/where" <<'END_WHERE'
#!/bin/bash
pid=$PPID
until name=$(tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^HOST_NAME=//p') && [ -n "$name" ]; do
    read -r _ _ _ pid _ <"/proc/$pid/stat"
done
echo "$name"
END_WHERE
chmod +x "$work/where"

each=1
expect 0 "$run" -n 3 -N 3 --spare 2 -l -H a,b,c,d,e "$work/where"
on_hosts a b c
no_others
expect 0 "$run" -n 3 -N 3 --spare 1 -l -H refuses1,b,c,d "$work/where"
on_hosts b c d
left_out refuses1 'no way to refuses1'
no_others
expect 0 "$run" -n 3 -N 3 --spare 1 -l -H a,version1,c,d "$work/where"
on_hosts a c d
left_out version1 'version 0.0.1 of Aqueduct is installed there'
no_others
each=2
expect 0 env KILL_AFTER=dies1 "$run" -n 6 -N 3 --spare 2 -l -H a,dies1,waits1,refuses1,waits2 "$work/where"
on_hosts a waits1 waits2
left_out dies1 'lost'
left_out refuses1 'no way'
no_others
each=1

# Two hosts that hang, one of which has hosts behind it, cost a moment, not their time-out.
SECONDS=0
expect 0 "$run" -n 6 -N 6 --spare 4 -l -H hangs1,b,c,d,hangs2,f,g,h,i,j "$work/where"
on_hosts b c d f g h
left_out hangs1 'it had not started after [0-9]\{1,3\}\.[0-9] seconds'
left_out hangs2 'it had not started after [0-9]\{1,3\}\.[0-9] seconds'
no_others
[ $SECONDS -lt 15 ] || fail "hosts that hang cost their time-out"

# The whole way down the tree is dead: a, b and c would each start the next one.
expect 0 "$run" -n 3 -N 3 --spare 5 -l -H refuses1,refuses2,refuses3,refuses4,e,refuses5,g,h "$work/where"
on_hosts e g h
for i in 1 2 3 4 5; do
    left_out refuses$i 'no way'
done
no_others

# A host dies after it has started others: these are started again.
rm "$work/killed" "$work/calls"
expect 0 env KILL_AFTER=refuses1 HELPERS='b2 d2' "$run" -n 4 -N 4 --spare 3 -l -H dies2,b2,refuses1,d2,waits1,waits2,waits3 "$work/where"
on_hosts b2 d2 waits1 waits2
[ "$(grep -cx b2 "$work/calls")" -eq 2 ] || fail "host b2 was not started again"
left_out dies2 'lost'
left_out refuses1 'no way'
no_others

# Other algorithms; programs of GASNet, whose collective steps pass through hosts without ranks; a
# code; input, which goes to rank 0 wherever that is.
for algorithm in linear window tree; do
    expect 0 env GASNET_SPAWN_ALGORITHM=$algorithm "$run" -n 6 -N 3 --spare 2 -H refuses1,b,c,d,e "$AQ_BUILD/hello"
    [ "$(grep -c 'Hello from rank' "$work/out")" -eq 6 ] || fail "not all ranks have said hello"
    left_out refuses1 'no way'
    no_others
done
# Ranks meet past hosts that hang.
expect 0 env GASNET_SPAWN_TIMEOUT=8 "$run" -n 2 -N 2 --spare 6 -H hangs1,hangs2,c,hangs3,hangs4,hangs5,g,h "$AQ_BUILD/hello"
expect 7 "$run" -n 3 -N 3 --spare 1 -H refuses1,b,c,d "$conform" code 7
expect 0 "$run" -n 2 -N 2 --spare 3 -l -H refuses1,refuses2,c,d,e sh -c 'cat' <<<"input"
[ "$(cat "$work/out")" = "[0] input" ] || fail "rank 0 did not get the input"

# Too many fail: no job, and all are named.
expect 1 "$run" -n 3 -N 3 --spare 1 -H a,refuses1,version1,d true
grep -q 'host refuses1: no way' "$work/err" && grep -q 'host version1: version' "$work/err" || fail "not all failures are named"
grep -q '2 of 4 hosts started, which is fewer than option -N asks for' "$work/err" || fail "no message says how many started"

# Wrong options.
expect 2 "$run" -n 3 --spare 1 -H a,b,c,d true
says 'option --spare: say with -N how many hosts are needed'
expect 2 "$run" -n 3 -N 3 --spare 2 -H a,b,c,d true
says 'option --spare: 3 hosts are needed and 2 spare ones, but 4 are named that take ranks; name more'
expect 2 "$run" -n 3 -N 3 --spare x -H a,b,c,d true
says "option --spare: 'x' is not a whole number"
expect 2 "$AQ_BUILD/gasnetrun_smp" -n 3 --spare 2 true
says 'option --spare: spawner fork starts no spare hosts, only spawner ssh does'
none_running
exit 0
