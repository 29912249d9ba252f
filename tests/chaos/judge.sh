# SPDX-License-Identifier: BSD-3-Clause
# One round of tests/chaos/run: starts the job, makes the fault, and judges the result.

provider='tcp;ofi_rxm' # of libfabric, for jobs of conduit ofi

PATIENCE=60 # seconds after the expected end of a job, or after the fault that must end it

# Prints the processes of the jobs, in any namespace: all have the mark in their environment.
processes_of_job()
{
    grep -lsF "CHAOS_MARK=$work" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 |
        while read -r pid; do
            case $(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$pid/status" 2>/dev/null) in
            '' | Z | X) ;;
            *) echo "$pid" ;;
            esac
        done
}

kill_processes_of_job()
{
    local pid
    for pid in $(processes_of_job); do
        kill -KILL "$pid" 2>/dev/null
    done
}

# Chooses the build of the round; one with sanitizers only if it exists and the fault does not limit
# memory.
choose_build()
{
    build=$AQ_BUILD
    case $fault in *-memory) return ;; esac
    if [ "$variant" != plain ] && [ -x "$AQ_BUILD/$variant/chaos_work" ] &&
        { [ "$conduit" != ofi ] || [ -e "$AQ_BUILD/$variant/modules/aq_conduit_ofi.so" ]; }; then
        build=$AQ_BUILD/$variant
    fi
}

# Prints the mode of protection, or the strictest that the build knows if it does not know this one.
known_auth()
{
    "$AQ_BUILD/gasnet_info" -e | grep -A1 '^GASNET_UDP_AUTH$' | grep -qw -- "$auth" || auth=full
}

# Sets $command and $settings.
prepare_job()
{
    settings=(CHAOS_MARK="$work" GASNET_WAITMODE=block GASNET_QUIET=1) front=() program_front=() work_options=() redirect=$work/out
    seconds=$(((after + length) / 10 + 2))
    [ "$outcome" != ends ] || seconds=600
    if [ "$conduit" = udp ]; then
        known_auth
        settings+=(GASNET_SUPERNODE_MAXSIZE=1 GASNET_UDP_AUTH="$auth")
    fi
    if [ "$conduit" = udp ] && [ -z "$no_bed" ]; then
        settings+=(VETH_BED_THERE="$there" GASNET_WORKERIP=$network.0)
        program_front=("$here/../beds/veth/rank")
    fi
    prepare_start
    call before
    command=("${front[@]}" "${start[@]}" "${program_front[@]}" "$build/chaos_work"
        --seconds "$seconds" --threads "$threads" --seed "$seed_of_round" --split "${work_options[@]}")
}

# Sets $start, the words in front of the program that start its ranks.
prepare_start()
{
    start=("$build/gasnetrun_$conduit" -n "$ranks")
    case $conduit in
    ofi)
        settings+=(GASNET_MODULE_PATH="$build/modules" GASNET_OFI_PROVIDER="$provider" GASNET_OFI_WAIT=fd GASNET_SUPERNODE_MAXSIZE=1)
        ;;
    rendezvous)
        start=("$here/meet" "$ranks")
        (umask 077 && echo "the key of round $seed_of_round" | base64 >"$work/key")
        settings+=(GASNET_CONDUIT=udp GASNET_SUPERNODE_MAXSIZE=1 GASNET_KEY_FILE="$work/key"
            GASNET_MASTER="127.0.0.1:$((10000 + seed_of_round % 20000))")
        ;;
    hosts)
        start=("$build/gasnetrun_udp" -n "$ranks" -H a,b)
        settings+=(GASNET_SUPERNODE_MAXSIZE=1 GASNET_SSH_CMD="$here/shell" GASNET_WORKERIP=127.0.0.0)
        ;;
    universe)
        mkdir -p -m 700 "$work/universe"
        start=("$build/gasnetrun_udp" -n "$ranks" -H "$(hostname)")
        settings+=(GASNET_UNIVERSE="$work/universe/u" GASNET_SUPERNODE_MAXSIZE=1)
        ;;
    esac
}

# The daemons of a job that runs in a universe.
begin_universe() { [ "$conduit" != universe ] || env "${settings[@]}" "$build/gasnet_boot" >>"$work/said" 2>&1; }
end_universe() { [ "$conduit" != universe ] || env "${settings[@]}" "$build/gasnet_halt" >>"$work/said" 2>&1; }

# call STEP: calls the fault's function for this step, if there is one.
call()
{
    local name=$1_${fault//-/_}
    ! declare -F "$name" >/dev/null || "$name"
}

start_job()
{
    : >"$work/out" 2>"$work/err"
    env "${settings[@]}" "${command[@]}" >"$redirect" 2>"$work/err" </dev/null &
    job=$!
    launcher=$job
}

# If a program in front of the launcher forks (unshare --fork), the launcher is its child.
find_launcher()
{
    [ ${#front[@]} = 0 ] || [ "${front[0]}" != unshare ] ||
        launcher=$(cut -d' ' -f1 "/proc/$job/task/$job/children" 2>/dev/null)
}

job_runs()
{
    [ -d "/proc/$job" ] && ! grep -q '^State:[[:space:]]*Z' "/proc/$job/status" 2>/dev/null
}

# Waits for the first round of the job, or for its end. Fails if neither comes.
wait_for_work()
{
    local tenths=0 most=$((PATIENCE * 10))
    [ "$outcome" != unharmed ] || most=100
    while job_runs && ! grep -q '^round' "$work/out"; do
        [ "$redirect" = "$work/out" ] || [ $tenths -lt 20 ] || return 0
        [ $((tenths += 1)) -lt $most ] || return 1
        sleep 0.1
    done
}

# ends_within TENTHS: waits that many tenths of a second for the end of the job; fails if it does
# not end.
ends_within()
{
    local tenths=$1
    while job_runs; do
        [ $((tenths -= 1)) -gt 0 ] || return 1
        sleep 0.1
    done
}

# As ends_within, for as long as the outcome of the round allows.
wait_for_end()
{
    local tenths=$(((seconds + PATIENCE) * 10))
    [ "$outcome" != ends ] || tenths=$((PATIENCE * 10))
    [ "$outcome" != unharmed ] || tenths=$((seconds * 10))
    ends_within $tenths
}

# A rank may wait for something that a forged message promised; the job must still end on request.
ask_to_end()
{
    asked=yes
    kill -TERM "$launcher"
    ends_within $((PATIENCE * 10))
}

# Counts the processes that are left a while after the end of the job. Sets $orphans_now.
count_orphans()
{
    local _
    for _ in $(seq 100); do
        orphans_now=$(processes_of_job | wc -l)
        [ "$orphans_now" != 0 ] || return
        sleep 0.1
    done
}

# A fault that cannot be made is a failure of the test, unless the job had ended before.
make_fault()
{
    job_runs || return
    call during >>"$work/said" 2>&1 || ! job_runs || not_made=$(tail -n 1 "$work/said")
}

run_job()
{
    hung=
    not_made=
    asked=
    begin_universe || not_made="there is no universe: $(tail -n 1 "$work/said")"
    start_job
    wait_for_work || [ "$outcome" = unharmed ] || hung='it did not begin'
    find_launcher
    if [ -z "$hung" ]; then
        pause "$after"
        make_fault
        wait_for_end || { [ "$outcome" = unharmed ] && ask_to_end; } || hung='it did not end'
    fi
    [ -z "$hung" ] || kill_processes_of_job
    code=0
    { wait "$job" || code=$?; } 2>/dev/null
    end_universe || not_made="the universe does not end: $(tail -n 1 "$work/said")"
    call after >>"$work/said" 2>&1
}

# ---- the result ----

# Reads the counts in the last line of the workload. Sets $counted: yes if there is such a line.
read_counts()
{
    local line
    lost_now=0 twice_now=0 wrong_now=0 counted=no
    line=$(grep -h '^chaos_work: [0-9]* rounds' "$work/out" | tail -n 1)
    [[ $line =~ lost\ ([0-9]+),\ twice\ ([0-9]+),\ wrong\ ([0-9]+)$ ]] || return
    counted=yes lost_now=${BASH_REMATCH[1]} twice_now=${BASH_REMATCH[2]} wrong_now=${BASH_REMATCH[3]}
}

sanitizer_findings()
{
    grep -qE 'ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|runtime error:' "$work/err"
}

# Prints what is wrong with a job that should have completed; nothing if all is well.
faults_of_whole()
{
    if [ "$code" != 0 ]; then
        echo "exit code $code instead of 0"
    elif [ "$counted" = no ] && [ "$redirect" = "$work/out" ]; then
        echo "exit code 0, but the workload did not count"
    fi
}

# As faults_of_whole, for a job that the fault should have ended.
faults_of_ended()
{
    local wanted says
    wanted=$(code_of_fault) says=$(call says)
    if [ "$code" = 0 ]; then
        echo "exit code 0, although it could not do its work"
    elif [ -n "$wanted" ] && [ "$code" != "$wanted" ]; then
        echo "exit code $code instead of $wanted"
    elif [ -z "$wanted" ] && [ "$code" -gt 128 ]; then
        echo "it ended by a signal (exit code $code)"
    elif [ -n "$says" ] && ! grep -qE -- "$says" "$work/err"; then
        echo "no sentence like '$says' tells why it ended (exit code $code)"
    fi
}

# As faults_of_whole, for a job with a process that sends forged messages.
faults_of_deceived()
{
    case $code in
    0) ;;
    143) [ -n "$asked" ] || echo "exit code 143, and nobody asked it to end" ;;
    *) faults_of_ended ;;
    esac
}

faults_of_job()
{
    [ -z "$not_made" ] || echo "the fault was not made: $not_made"
    if sanitizer_findings; then
        echo "a sanitizer found something"
    elif [ "$outcome" = goes-on ] || { [ "$outcome" = either ] && [ "$code" = 0 ]; }; then
        faults_of_whole
    elif [ "$outcome" = unharmed ]; then
        faults_of_deceived
    else
        faults_of_ended
    fi
    call complains
    [ -n "$no_bed" ] || [ -z "$(ls -A /dev/shm)" ] || echo "files are left in /dev/shm: $(ls -A /dev/shm)"
}

# Adds the round to the counts. Sets $verdict, and $bad if the round failed.
judge()
{
    local fault_text
    read_counts
    count_orphans
    bad=
    if [ -n "$hung" ]; then
        hangs=$((hangs + 1)) bad="HANG: $hung"
    else
        fault_text=$(faults_of_job | tr '\n' ';')
        [ -z "$fault_text" ] || { wrong=$((wrong + 1)) bad="WRONG: ${fault_text%;}"; }
    fi
    [ "$outcome" != unharmed ] || lost_now=0 twice_now=0 wrong_now=0 # forged messages cannot be distinguished from data
    lost=$((lost + lost_now)) twice=$((twice + twice_now)) wrong=$((wrong + wrong_now))
    [ "$lost_now $twice_now $wrong_now" = '0 0 0' ] || bad+=" lost $lost_now, twice $twice_now, wrong $wrong_now"
    [ "$orphans_now" = 0 ] || {
        orphans=$((orphans + orphans_now)) bad+=" $orphans_now ORPHANS"
        kill_processes_of_job
        rm -f /dev/shm/*
    }
    if [ "$code" = 0 ]; then verdict='went on, exact'; [ "$outcome" != unharmed ] || verdict='went on'; else verdict="ended with $code"; fi
    verdict=${bad:-$verdict}${remark:+ ($remark)}
}

# Prints the end of the output of a failed round, and keeps all of it.
show_bad()
{
    local kept=$AQ_BUILD/chaos-logs/seed$seed-round$number file
    mkdir -p "$kept" && cp "$work"/{out,err,said} "$kept" 2>/dev/null
    echo "${command[*]}" >"$kept/command"
    printf '%s\n' "${settings[@]}" >"$kept/settings"
    for file in err said out; do
        tail -n 15 "$work/$file" | sed "s/^/    $file: /"
    done
}

one_round()
{
    local why
    remark= attacker=
    outcome=$(field "$fault" 3)
    why=$(lacks "$fault")
    if [ -n "$why" ]; then
        skipped=$((skipped + 1)) left_out[$fault]=$why
        echo "round $number: $planned: left out: $why"
        return
    fi
    : >"$work/said"
    choose_build
    prepare_job
    run_job
    judge
    done_rounds=$((done_rounds + 1))
    echo "round $number: $planned: $verdict"
    [ -z "$bad" ] || show_bad
}
