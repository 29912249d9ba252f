# SPDX-License-Identifier: BSD-3-Clause
# The schedule of tests/chaos/run: the fault of each round and its parameters. The seed determines
# all of it.

# The faults, and for each: the conduits, the outcome (whether the job goes on or ends), and a note
# for readers. "either": the job may do both, if the result is exact or a message says why it ended.
# "unharmed": a process of the job sends forged messages, so data may be wrong, and the job may end
# or wait; but no process may die of a signal.
#
# In place of a conduit there may be a way to start a job of conduit udp: hosts (by a
# remote shell), rendezvous, universe.
#
# name | conduits | outcome | what happens
faults='
nothing         | smp udp | goes-on | no fault: the workload itself
noise           | udp     | goes-on | datagrams are lost, doubled, reordered, delayed, cut, changed (GASNET_UDP_FAULT_...)
stop-rank       | smp udp | goes-on | a rank is stopped and continued
stop-launcher   | smp udp | goes-on | the launcher is stopped and continued
partition       | udp     | goes-on | the cable between the hosts is cut and mended
partition-stays | udp     | ends    | the cable is cut for good
route           | udp     | goes-on | the route to the other host is unreachable, then is there again
mtu             | udp     | goes-on | the MTU of the cable shrinks and grows
full-disk       | smp udp | goes-on | /tmp and /dev/shm are full
full-output     | smp udp | either  | standard output leads to a full disk
few-files       | smp udp | either  | the job may open few files only
no-more-files   | smp udp | either  | a running rank may open no further file
little-memory   | smp udp | either  | the job has little address space
no-more-memory  | smp udp | either  | a running rank gets no more address space
clock           | smp udp | goes-on | the monotonic clock of the job is another one than that of the machine
kill-rank       | smp udp | ends    | a rank is killed
kill-launcher   | smp udp | ends    | the launcher is killed
term-launcher   | smp udp | ends    | the launcher is asked to end, while a rank is stopped
listener        | udp     | goes-on | somebody without the key replays and forges datagrams beside the originals
middle          | udp     | goes-on | somebody without the key in between drops, replaces, replays, reorders datagrams
insider         | udp     | unharmed | somebody with the key does the same: what is changed is sealed afterwards
strangers       | smp udp ofi hosts rendezvous universe | goes-on | another user calls at every socket of the job, and takes names
'

field()
{
    awk -F'|' -v name="$1" -v n="$2" '{ gsub(/^ +| +$/, "", $1) } $1 == name { gsub(/^ +| +$/, "", $n); print $n }' <<<"$faults"
}

# Random numbers from the seed (a linear congruential generator of 64 bits). Sets $random, below the
# limit.
plan_state=0

plan_random()
{
    plan_state=$((plan_state * 6364136223846793005 + 1442695040888963407))
    random=$((((plan_state >> 33) & 0x7fffffff) % $1))
}

plan_choose()
{
    plan_random $#
    shift "$random"
    chosen=$1
}

# Shuffles a deck of all faults, so that each fault occurs once before any occurs twice. Sets $deck.
plan_shuffle()
{
    local i swap
    mapfile -t deck < <(awk -F'|' 'NF > 1 { gsub(/ /, "", $1); print $1 }' <<<"$faults")
    for ((i = ${#deck[@]} - 1; i > 0; i--)); do
        plan_random $((i + 1))
        swap=${deck[i]} deck[i]=${deck[random]} deck[random]=$swap
    done
}

plan_start()
{
    plan_state=$(($1 * 2654435761 + 88172645463325252))
    plan_random 1
    deck=()
}

# Plans the next round: sets fault, conduit, ranks, threads, variant, auth, victim, after, length
# (tenths of a second), rate (percent) and seed_of_round, and $planned, a line that prints them.
plan_next()
{
    [ ${#deck[@]} -gt 0 ] || plan_shuffle
    fault=${deck[-1]}
    unset 'deck[-1]'
    # shellcheck disable=SC2046
    plan_choose $(field "$fault" 2) && conduit=$chosen
    plan_choose 2 2 3 4 && ranks=$chosen
    plan_choose 1 2 3 && threads=$chosen
    plan_choose plain plain plain asan && variant=$chosen
    plan_choose encrypt full && auth=$chosen
    plan_random "$ranks" && victim=$random
    plan_random 12 && after=$((random + 3))
    plan_random 15 && length=$((random + 2))
    plan_random 10 && rate=$((random + 1))
    plan_random 1000000 && seed_of_round=$random
    [ "$conduit" = udp ] || auth=-
    planned="$fault conduit=$conduit ranks=$ranks threads=$threads build=$variant auth=$auth victim=$victim"
    planned+=" after=$((after * 100))ms for=$((length * 100))ms rate=$rate% seed=$seed_of_round"
}
