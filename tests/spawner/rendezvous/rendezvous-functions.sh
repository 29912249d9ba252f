# SPDX-License-Identifier: BSD-3-Clause
# Shell functions for the tests of spawner rendezvous, in addition to those of the launch tests. The
# processes of a job are started one by one; each has a name, and its output is in $work/NAME.out
# and $work/NAME.err.
[ -n "${work-}" ] || . "$(dirname "${BASH_SOURCE[0]}")/../launch/launch-functions.sh" # not twice in a bed
declare -A process=()

# Prints a port that nobody uses, below those that the kernel gives to callers.
free_port()
{
    local port
    while :; do
        port=$((10000 + RANDOM % 20000))
        (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    echo $port
}

# use NET: the program of this test, and a new place to meet.
use()
{
    conform=$work/conform_exit
    cp --remove-destination "$AQ_BUILD/conform_exit$([ "$1" = smp ] || echo "_$1")" "$conform" || exit 1
    export GASNET_MASTER GASNET_KEY_FILE=$work/key GASNET_CONNECT_TIMEOUT=20 GASNET_EXITTIMEOUT=20
    GASNET_MASTER=127.0.0.1:$(free_port)
    (umask 077 && head -c 24 /dev/urandom | base64 >"$GASNET_KEY_FILE")
    rm -f "$work"/*.out "$work"/*.err
}

# call NAME RANK SIZE program arguments: one process, in the background.
call()
{
    local name=$1
    GASNET_RANK=$2 GASNET_SIZE=$3 "${@:4}" >"$work/$name.out" 2>"$work/$name.err" </dev/null &
    process[$name]=$!
}

# all SIZE program arguments: the processes of a whole job, in the order of their ranks.
all()
{
    local rank
    for rank in $(seq 0 $(($1 - 1))); do
        call "$rank" "$rank" "$@"
    done
}

# Prints how many links the processes of the test have to the master, and to the members of their
# host.
links()
{
    local port
    port=$(printf ':%04X' "${GASNET_MASTER##*:}")
    for pid in "${process[@]}"; do
        readlink "/proc/$pid/fd"/*
    done 2>/dev/null | sed -n 's/^socket:\[\(.*\)\]$/\1/p' |
        awk -v port="$port$" '
            NR == FNR { own[$1] = 1; next }
            FILENAME ~ /tcp/ && $4 == "01" && $3 ~ port && $10 in own { masters++ }
            FILENAME ~ /unix/ && $6 == "03" && $8 ~ /^@aqueduct-/ && $7 in own { members++ }
            END { print masters + 0, members + 0 }' - /proc/net/tcp /proc/net/tcp6 /proc/net/unix
}

# called COUNT: waits until so many processes of this host have called the master, and all but one
# have attached to the first of them.
called()
{
    for _ in $(seq 400); do
        [ "$(links)" = "1 $(($1 - 1))" ] && return
        sleep 0.05
    done
    fault "$1 processes have not called"
}

# fault TEXT: the test fails, and shows what the processes printed.
fault()
{
    cat "$work"/*.out >"$work/out" 2>/dev/null
    cat "$work"/*.err >"$work/err" 2>/dev/null
    fail "$*"
}

# ends CODE NAME...: these processes end with that code, in time.
ends()
{
    local wanted=$1 name code try
    for name in "${@:2}"; do
        for try in $(seq 600); do
            kill -0 "${process[$name]}" 2>/dev/null || break
            sleep 0.05
        done
        ! kill -0 "${process[$name]}" 2>/dev/null || fault "process $name does not end"
        code=0
        { wait "${process[$name]}" || code=$?; } 2>/dev/null # the shell reports who was killed
        unset "process[$name]"
        [ "$code" -eq "$wanted" ] || fault "process $name: exit code $code instead of $wanted"
    done
}

# all_end CODE: the same for all processes that still run; and no process of the job is left.
all_end()
{
    ends "$1" "${!process[@]}"
    no_rank_left 100
}

# Prints the processes below a process, and itself.
family()
{
    local pid
    echo "$1"
    for pid in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        family "$pid"
    done
}

# victim NAME COMM: the process of that name in the family of a process.
victim()
{
    local pid
    for pid in $(family "${process[$1]}"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != "$2" ] || { echo "$pid"; return; }
    done
}

# told TEXT...: the processes of the test have printed exactly these messages.
told()
{
    local text count
    count=$(cat "$work"/*.err | grep -c '^\*\*\* GASNet:')
    [ "$count" -eq $# ] || fault "$count messages instead of $#"
    for text in "$@"; do
        cat "$work"/*.err | grep -qF -- "$text" || fault "no '$text' in the messages"
    done
}

# here COUNT: the ranks of $conform pid have printed that many lines.
here()
{
    [ "$(cat "$work"/*.out | cut -d' ' -f1 | sort -n | xargs)" = "$(seq 0 $(($1 - 1)) | xargs)" ] || fault "not ranks 0 to $(($1 - 1))"
}

# wait_ready COUNT: waits for the line that so many processes print in sight of a test.
wait_ready()
{
    for _ in $(seq 600); do
        [ "$(cat "$work"/*.out 2>/dev/null | wc -l)" -ge "$1" ] && return
        sleep 0.05
    done
    fault "the ranks did not get ready"
}
