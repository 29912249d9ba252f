# SPDX-License-Identifier: BSD-3-Clause
# Shell functions for the launch tests. Each test is a script that exits with 0 (passed), 1 (failed)
# or 77 (skipped), and finds the programs of the build in $AQ_BUILD.

: "${AQ_BUILD:?AQ_BUILD must name the build folder}"
export LC_ALL=C
work=$(mktemp -d "${TMPDIR:-/tmp}/launch.XXXXXX") || exit 1
sup=
pids=
besides=()

# Ends all processes of the test and removes its files, also if the test fails.
clean_up()
{
    local ours=($sup $pids ${process[*]-}) # process: see rendezvous-functions.sh
    [ ${#ours[@]} = 0 ] || kill -KILL "${ours[@]}" 2>/dev/null
    [ ${#besides[@]} = 0 ] || { kill -TERM "${besides[@]}" && wait "${besides[@]}"; } 2>/dev/null
    rm -rf "$work"
}
trap clean_up EXIT
run=$AQ_BUILD/gasnetrun_smp
conform=$AQ_BUILD/conform_exit

fail()
{
    printf 'failed: %s\n' "$*"
    for file in out err; do
        [ -s "$work/$file" ] && sed "s/^/$file: /" "$work/$file" | head -20
    done
    exit 1
}

# has_module FILE: the installation of this build, if there is one, has a module of that name, which
# GASNET_MODULE_PATH cannot hide.
has_module()
{
    [ -e "$(sed -n 's/^#define AQ_MODULE_DIR "\(.*\)"$/\1/p' "$AQ_BUILD/config.h")/$1" ]
}

# expect CODE command ...: runs it, with output in $work/out and $work/err.
expect()
{
    local wanted=$1 code=0
    shift
    "$@" >"$work/out" 2>"$work/err" || code=$?
    [ "$code" -eq "$wanted" ] || fail "exit code $code instead of $wanted: $*"
}

# says TEXT: standard error of the last expect is exactly one message, and has TEXT.
says()
{
    grep -qF -- "$1" "$work/err" || fail "no '$1' in the message"
    [ "$(grep -c '^\*\*\* GASNet:' "$work/err")" -eq 1 ] || fail "not exactly one message"
}

# without_late: leaves out of the messages of the last expect what helpers say that call when the
# launcher has given up.
without_late()
{
    sed -i '/^\*\*\* GASNet: gasnetrun on host .* the launcher of the job does not answer at /d' "$work/err"
}

silent()
{
    [ ! -s "$work/err" ] || fail "messages where there should be none"
}

# begin command ...: runs it in the background. Sets $sup. Empties the files here, because the
# background may be late, and a wait for a line would find output of the previous command.
begin()
{
    : >"$work/out" 2>"$work/err"
    "$@" >"$work/out" 2>"$work/err" </dev/null &
    sup=$!
}

# start RANKS command ...: begins it and waits until it has RANKS children. Sets $sup, $pids.
start()
{
    local count=$1
    shift
    begin "$@"
    for _ in $(seq 400); do
        pids=$(cat "/proc/$sup/task/$sup/children" 2>/dev/null)
        [ "$(wc -w <<<"$pids")" -ge "$count" ] && return
        sleep 0.05
    done
    fail "the job did not start"
}

# beside command ...: runs it in the background, in a subshell with a folder of its own as $work, so
# that parts of a test that wait do so at the same time. all_beside waits for these parts.
beside()
{
    local folder=$work/beside${#besides[@]}
    mkdir "$folder" || fail "no folder"
    (
        besides=() sup= pids= work=$folder
        [ -z "${process[*]-}" ] || process=()
        trap clean_up EXIT
        "$@"
    ) >"$folder.told" 2>&1 </dev/null &
    besides+=($!)
}

# all_beside: all parts that were started by beside have to end well.
all_beside()
{
    local i
    for i in "${!besides[@]}"; do
        wait "${besides[i]}" && continue
        cat "$work/beside$i.told"
        exit 1
    done
    besides=()
}

# wait_lines COUNT: waits until that many rank programs have printed the word that means ready.
wait_lines()
{
    for _ in $(seq 400); do
        [ "$(wc -l <"$work/out")" -ge "$1" ] && return
        sleep 0.05
    done
    fail "the ranks did not get ready"
}

# wait_for_message TEXT: the last job, which hangs, prints TEXT; then SIGTERM ends it.
wait_for_message()
{
    for _ in $(seq 400); do
        grep -qF -- "$1" "$work/err" && break
        sleep 0.05
    done
    grep -qF -- "$1" "$work/err" || fail "no '$1' while the job hangs"
    kill -TERM "$sup"
    wait "$sup"
    sup=
    says "$1"
}

# ended CODE: the last job ends with CODE and leaves no process.
ended()
{
    local code=0 pid
    wait "$sup" 2>/dev/null || code=$?
    sup=
    [ "$code" -eq "$1" ] || fail "exit code $code instead of $1"
    none_left
}

none_left()
{
    local pid state
    for pid in $pids; do
        for _ in $(seq 100); do
            state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$pid/status" 2>/dev/null)
            case $state in '' | Z | X) continue 2 ;; esac
            sleep 0.05
        done
        fail "process $pid is left"
    done
    pids=
}

# no_rank_left TENTHS: all ranks of $conform, a program of the test's own, end within that many
# tenths of a second, no matter what started them.
no_rank_left()
{
    local try
    for try in $(seq "$1"); do
        pgrep -f "^$conform " >"$work/left" || return 0
        sleep 0.1
    done
    fail "ranks are left: $(cat "$work/left")"
}

# What the verbs devices of this host hold for processes: queue pairs, registrations and so on.
device()
{
    rdma resource show
}

# device_holds WHAT: exactly that, as printed by device before a job. The kernel takes a while to
# free what a process has left.
device_holds()
{
    for _ in $(seq 100); do
        [ "$(device)" != "$1" ] || return 0
        sleep 0.05
    done
    fail "the device holds '$(device)', but held '$1' before"
}

# No process of the jobs is left whose GASNET_SSH_CMD is a shell in the folder of the test.
none_running()
{
    local pid
    for _ in $(seq 200); do
        for pid in $(grep -lsF "GASNET_SSH_CMD=$work" /proc/[0-9]*/environ | cut -d/ -f3); do
            case $(cat "/proc/$pid/comm" 2>/dev/null) in gasnet* | sleep)
                sleep 0.05
                continue 2
                ;;
            esac
        done
        return
    done
    fail "processes are left"
}
