#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rendezvous-signals NET: signals to the process of rank 0 reach all ranks, those to another process
# its rank alone, except for those that end the job; and those of a terminal reach each rank once.
set -u
. "$(dirname "$0")/rendezvous-functions.sh"
net=$1

# running: a job of three ranks that count SIGUSR1.
running()
{
    use "$net"
    all 3 env --default-signal=INT,QUIT "$conform" signals 100 # a shell lets them ignore these
    wait_ready 3
}

# received COUNT COUNT COUNT: the ranks get that many SIGUSR1.
received()
{
    local now
    for _ in $(seq 400); do
        now=$(for rank in 0 1 2; do grep -c "^$rank USR1$" "$work/$rank.out"; done | xargs)
        [ "$now" != "$*" ] || return 0
        sleep 0.05
    done
    fault "the ranks received $now signals instead of $*"
}

# stopped STATE STATE STATE: the ranks, and the processes that were started, are stopped (T), or not.
stopped()
{
    local now rank pid
    for _ in $(seq 400); do
        now=$(for rank in 0 1 2; do
            for pid in "${process[$rank]}" "$(victim $rank conform_exit)"; do
                awk '{ printf $3 == "T" ? "T" : "-" }' "/proc/$pid/stat"
            done
            echo
        done | xargs)
        [ "$now" != "$*" ] || return 0
        sleep 0.05
    done
    fault "stopped are $now instead of $*"
}

running
kill -USR1 "${process[0]}"
received 1 1 1
kill -USR1 "${process[1]}"
received 1 2 1
kill -USR1 "${process[2]}"
received 1 2 2
kill -INT "${process[0]}"
all_end 130
told
received 1 2 2
for rank in 0 2; do
    for sig in INT:130 TERM:143; do
        [ $rank:$sig != 0:INT:130 ] || continue # see above
        running
        kill -${sig%:*} "${process[$rank]}"
        all_end ${sig#*:}
        told
    done
done

# The foreground of a terminal: a shell with job control stops and continues the job, as a user does
# with Ctrl-Z and fg. A subshell waits for each process, which no signal interrupts. (The system
# stops no process by SIGTSTP that no shell could continue, so this is no test for processes in the
# background.)
export work conform
cat >"$work/start" <<'END'
trap : INT TERM USR1
for rank in 0 1 2; do
    (
        trap : INT TERM USR1
        GASNET_RANK=$rank GASNET_SIZE=3 env --default-signal=INT,QUIT,TERM,USR1 "$conform" signals 100 \
            >"$work/$rank.out" 2>"$work/$rank.err" </dev/null
        echo $? >>"$work/codes"
    ) &
    echo $! >"$work/$rank.pid"
done
until [ "$(cat "$work/codes" 2>/dev/null | wc -l)" = 3 ]; do
    sleep 0.05
done
END
cat >"$work/shell" <<'END'
set -m
bash "$work/start"
until [ -e "$work/go-on" ]; do sleep 0.05; done
fg
END
mkfifo "$work/keys"

# in_terminal: such a job, with the three processes in `process`. Keys go to descriptor 9.
in_terminal()
{
    local rank
    use "$net"
    rm -f "$work/codes" "$work/go-on"
    script -qfc "exec bash '$work/shell'" /dev/null <"$work/keys" >/dev/null &
    process[terminal]=$!
    exec 9>"$work/keys"
    wait_ready 3
    for rank in 0 1 2; do
        process[$rank]=$(pgrep -P "$(cat "$work/$rank.pid")")
    done
}

# terminal_ends CODE: the three processes have ended with it, and then the shell.
terminal_ends()
{
    for _ in $(seq 400); do
        [ "$(cat "$work/codes" 2>/dev/null | wc -l)" != 3 ] || break
        sleep 0.05
    done
    exec 9>&-
    [ "$(cat "$work/codes" | xargs)" = "$1 $1 $1" ] || fault "exit codes $(cat "$work/codes" | xargs)"
    unset 'process[0]' 'process[1]' 'process[2]'
    all_end 0
    told
}

in_terminal
kill -TSTP "${process[1]}"
stopped -- TT --
kill -CONT "${process[1]}"
stopped -- -- --
kill -TSTP "${process[0]}"
stopped TT -T -T
kill -CONT "${process[0]}"
stopped -- -- --
printf '\032' >&9 # Ctrl-Z
stopped TT TT TT
touch "$work/go-on"
stopped -- -- --
printf '\003' >&9 # Ctrl-C
terminal_ends 130

# Signals to the whole group, by a program and not by the terminal: a rank may get one more than
# once, from the sender and from its supervisor.
in_terminal
group=$(ps -o pgid= "${process[0]}" | tr -d ' ')
kill -USR1 -- "-$group"
for rank in 0 1 2; do
    for _ in $(seq 400); do
        ! grep -q "^$rank USR1$" "$work/$rank.out" || break
        sleep 0.05
    done
    grep -q "^$rank USR1$" "$work/$rank.out" || fault "rank $rank received nothing"
done
touch "$work/go-on"
kill -TERM -- "-$group"
terminal_ends 143
exit 0
