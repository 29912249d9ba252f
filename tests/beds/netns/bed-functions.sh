# SPDX-License-Identifier: BSD-3-Clause
# Shell functions for the tests that run in a bed (see the script bed), in addition to those of the
# launch tests: expect, says, silent, fail.
. "$AQ_SRC/tests/spawner/launch/launch-functions.sh"
run=$AQ_BUILD/gasnetrun_udp
export GASNET_CONDUIT=udp # for programs that are linked for smp
hello=$AQ_BUILD/hello
export GASNET_QUIET=0

# expect CODE command ...: as in the launch tests; a job that hangs ends with 124.
expect()
{
    local wanted=$1 code=0
    shift
    if [ "$1" = on_host ]; then
        "$@" >"$work/out" 2>"$work/err" || code=$?
    else
        timeout -k 1 30 "$@" >"$work/out" 2>"$work/err" || code=$?
    fi
    [ "$code" -eq "$wanted" ] || fail "exit code $code instead of $wanted: $*"
}

# Prints the names of hosts $1 to $2, separated by commas.
hosts()
{
    seq -s, -f 'n%g' "$1" "$2"
}

# Runs a command on a host, without the launcher.
on_host()
{
    local pid
    pid=$(pgrep -P "$(cat "$AQ_BED/$1/pid")")
    shift
    timeout -k 1 30 nsenter -t "$pid" -a "$@"
}

# Prints the process ids (in this namespace) of all hosts except their listening sshd, and those of
# launchers and remote shells. (awk would stop at a process that has ended meanwhile.)
processes()
{
    cat /proc/[0-9]*/status 2>/dev/null | awk '$1 == "Name:" { name = $2 }
        $1 == "State:" { gone = $2 ~ /[ZX]/ }
        $1 == "NSpid:" && !gone {
            if (NF > 2 ? $NF != 1 : name ~ /^(gasnetrun|ssh$)/) print $2 " " name
        }'
}

# none_left [SECONDS]: fails unless all of these processes end within that time (10).
none_left()
{
    local end=$((SECONDS + ${1:-10} + 1))
    while [ "$SECONDS" -lt $end ]; do
        [ -n "$(processes)" ] || return 0
        sleep 0.05
    done
    processes
    fail "these processes are left"
}

# Prints the process ids (in this namespace) of the processes of that name on a host.
find_on()
{
    local host=$1 ours pid
    ours=$(readlink "/proc/$(pgrep -P "$(cat "$AQ_BED/$host/pid")")/ns/net")
    for pid in $(pgrep -x -- "$2"); do
        [ "$(readlink "/proc/$pid/ns/net" 2>/dev/null)" = "$ours" ] && echo "$pid"
    done
}

# Starts a job in the background; waits until COUNT ranks have printed a line.
start_job()
{
    local count=$1
    shift
    begin "$@"
    wait_lines "$count"
}

# job_ends CODE: fails unless the last job ends with CODE in time and leaves no process.
job_ends()
{
    local code=0
    wait "$sup" 2>/dev/null || code=$?
    sup=
    [ "$code" -eq "$1" ] || fail "exit code $code instead of $1"
    none_left
}
