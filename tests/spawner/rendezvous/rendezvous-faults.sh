#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rendezvous-faults: whatever is wrong with the start of a job is told in one sentence, all
# processes end, and none hangs.
set -u
. "$(dirname "$0")/rendezvous-functions.sh"

# alone TEXT [VAR=value...]: init fails, without a call, in a process whose environment is wrong; the
# program then exits with 65.
alone()
{
    local text=$1
    shift
    use udp
    call 0 0 1 env "$@" "$conform" pid
    all_end 65
    told "$text"
}

wrong_variables()
{
    for master in x x: :1 x:0 x:65536 x:1-2 x:y ::1:4711 '[::1:4711' '[]:4711' '[::1]4711' "$(printf %0300d 0):1"; do
        alone 'is not the place where rank 0 listens, a host and a port: n17:4711' GASNET_MASTER="$master"
    done
    alone "GASNET_MASTER: '' is not the place where rank 0 listens" -u GASNET_MASTER GASNET_SPAWNER=rendezvous
    alone "GASNET_RANK: 'NO_SUCH' is neither the number of this process in the job" GASNET_RANK=NO_SUCH
    alone "GASNET_RANK: '-1' is neither the number" GASNET_RANK=-1
    alone "GASNET_RANK: '' is neither the number" -u GASNET_RANK
    alone 'but GASNET_SIZE is not: set it to the number of processes' -u GASNET_SIZE
    alone "GASNET_SIZE: '0' is not a whole number from 1 to" GASNET_SIZE=0
    alone 'but neither GASNET_KEY_FILE nor GASNET_KEY_FD' -u GASNET_KEY_FILE
    alone 'cannot be read: No such file or directory; make one with: (umask 077;' GASNET_KEY_FILE=missing
    alone 'is not a file; name one, or give a descriptor' GASNET_KEY_FILE=/
    alone 'the key cannot be read: Bad file descriptor' GASNET_KEY_FD=77
    alone 'the key has less than 16 bytes' GASNET_KEY_FD=0 # /dev/null
}

# A file that others can read or change; keys that are too short or too long.
wrong_keys()
{
    keys=$work/other-key
    for mode in 0640 0604 0620 0602; do
        head -c 16 /dev/zero >"$keys"
        chmod $mode "$keys"
        alone "has mode $mode, so that others than its owner can read or change it: chmod 600 it" GASNET_KEY_FILE="$keys"
    done
    chmod 600 "$keys"
    printf '123456789012345\n' >"$keys"
    alone 'the key has less than 16 bytes' GASNET_KEY_FILE="$keys"
    head -c 4097 /dev/zero >"$keys"
    alone 'the key has more than 4096 bytes' GASNET_KEY_FILE="$keys"
}

# The size is not reached in time.
too_few()
{
    use udp
    export GASNET_CONNECT_TIMEOUT=5
    call 0 0 7 "$conform" pid
    call 2 2 7 "$conform" pid
    call 5 5 7 "$conform" pid
    all_end 1
    told '3 of 7 processes had arrived within 5 seconds (GASNET_CONNECT_TIMEOUT); missing: rank 1, 3-4, 6; start each'
}

# No master: at the port, and by its name.
no_master()
{
    use udp
    export GASNET_CONNECT_TIMEOUT=1
    call 1 1 2 "$conform" pid
    all_end 1
    told 'rank 1 got no answer from rank 0 at 127.0.0.1'
    use udp
    GASNET_CONNECT_TIMEOUT=1 GASNET_MASTER=no-such-host.invalid:4711 call 1 1 2 "$conform" pid
    all_end 1
    told '(the name is not known; GASNET_CONNECT_TIMEOUT)'
}

# A master that does not find its port free.
port_taken()
{
    use udp
    call 0 0 2 "$conform" pid
    for _ in $(seq 200); do # until it listens
        (: <"/dev/tcp/127.0.0.1/${GASNET_MASTER#*:}") 2>/dev/null && break
        sleep 0.05
    done
    call again 0 2 "$conform" pid
    ends 1 again
    told "rank 0 cannot listen for the other processes at port ${GASNET_MASTER#*:} of GASNET_MASTER (Address already in use)"
    rm "$work/again.err"
    call 1 1 2 "$conform" pid
    all_end 0
    told
    here 2
}

# Wrong sizes, ranks that do not exist or are there twice: all processes learn that.
wrong_numbers()
{
    use udp
    call 0 0 3 "$conform" pid
    call 1 1 3 "$conform" pid
    call 2 2 4 "$conform" pid
    all_end 1
    told 'GASNET_SIZE is 4 in the process of rank 2 on host '
    cat "$work"/*.err | grep -q '(127.0.0.1), but 3 in that of rank 0; set the same number in all$' || fault "no address"
    use udp
    call 0 0 3 "$conform" pid
    call 1 3 3 "$conform" pid
    all_end 1
    told 'GASNET_RANK is 3 in the process on host '
    use udp
    call 0 0 4 "$conform" pid
    call 1 1 4 "$conform" pid
    call 2 1 4 "$conform" pid
    all_end 1
    told 'GASNET_RANK is 1 in two processes, on host '
    cat "$work"/*.err | grep -q '(127.0.0.1) and on host .* (127.0.0.1); give each process another number from 0 to 3$' || fault "not both addresses"
}

# Without a master, too.
rank_alone()
{
    use udp
    export GASNET_CONNECT_TIMEOUT=600
    call 1 2 2 "$conform" pid
    all_end 1
    told 'GASNET_RANK is 2 in this process, but GASNET_SIZE is 2; give it a number from 0 to 1'
}

# Two versions of the library: neither reads more of the other than the version.
two_versions()
{
    version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"$/\1/p' "$AQ_BUILD/config.h")
    other=${version/#????/1999}
    use udp
    mkdir "$work/other"
    for file in "$conform" "$AQ_BUILD/.libs/libaqueduct.so.0"; do # a build for a sanitizer has no library
        [ ! -e "$file" ] || sed "s/\x00$version\x00/\x00$other\x00/g" "$file" >"$work/other/${file##*/}"
    done
    chmod +x "$work/other/conform_exit"
    call 0 0 3 "$conform" pid
    call 1 1 3 "$conform" pid
    called 2
    call 2 2 3 env LD_LIBRARY_PATH="$work/other" "$work/other/conform_exit" pid
    all_end 1
    told "the process at 127.0.0.1 has version $other of Aqueduct, and that of rank 0, at 127.0.0.1, has version $version; install the same version"
}

# A process that comes when all are there harms nobody: the job goes on, and it says why.
late()
{
    use udp
    all 2 "$conform" sleep 3
    wait_master_left()
    {
        for _ in $(seq 200); do
            (: <"/dev/tcp/127.0.0.1/${GASNET_MASTER#*:}") 2>/dev/null || return 0
            sleep 0.05
        done
        fault "the master still listens"
    }
    sleep 1
    wait_master_left
    GASNET_CONNECT_TIMEOUT=1 call late 1 2 "$conform" pid
    ends 1 late
    told 'it does not run there, has all processes of its job'
    all_end 0
}

# Another key: the process says so; the job waits for the one with the key.
other_key()
{
    use udp
    call 0 0 2 "$conform" pid
    (umask 077 && head -c 24 /dev/urandom >"$work/wrong")
    GASNET_KEY_FILE=$work/wrong call wrong 1 2 "$conform" pid
    ends 1 wrong
    told 'has another key than this one, rank 1; give all processes of a job the same key'
    call 1 1 2 "$conform" pid
    all_end 0
    told 'has another key than this one'
    here 2
}

# Strangers at the port of the master: the job starts all the same.
strangers()
{
    use udp
    call 0 0 2 "$conform" pid
    for _ in $(seq 200); do
        (printf 'GET / HTTP/1.0\r\n\r\n' >"/dev/tcp/127.0.0.1/${GASNET_MASTER#*:}") 2>/dev/null && break
        sleep 0.05
    done
    call 1 1 2 "$conform" pid
    all_end 0
    here 2
    told 'is refused: it did not authenticate with the key of the job'
}

# Each part mostly waits.
for part in wrong_variables wrong_keys too_few no_master port_taken wrong_numbers rank_alone two_versions late other_key strangers; do
    beside $part
done
all_beside
exit 0
