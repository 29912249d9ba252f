#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-info: what gasnet_info prints about this host and about the variables.
set -u
. "$(dirname "$0")/launch-functions.sh"
. "$AQ_SRC/tests/run-functions.sh"
info=$AQ_BUILD/gasnet_info

# section TITLE: the lines under a title of the output.
section()
{
    sed -n "/^$1\$/,/^\$/p" "$work/out" | tail -n +2
}

# row TITLE NAME PATTERN: under a title, a line has a name and matches an extended expression.
row()
{
    section "$1" | grep -qE "^    $2  +$3" || fail "no '$2' like '$3' under '$1'"
}

expect 0 "$info"
silent
head -1 "$work/out" | grep -qE '^Aqueduct [0-9]+\.[0-9]+\.[0-9]+, on host .+' || fail "no version"
row 'Conduits that can run here' smp 'yes'
for conduit in udp ibv ofi mpi; do
    row 'Conduits that can run here' $conduit '(yes|no: .+)'
done
row 'Spawners that can run here' fork 'yes'
for spawner in ssh mpi pmi; do
    row 'Spawners that can run here' $spawner '(yes|no: .+)'
done
row 'MPI and PMI' protection "none of ours: .* as safe as the network of that MPI or PMI"
for mpi in openmpi mpich; do
    [ -e "$AQ_BUILD/modules/aq_mpi_$mpi.so" ] || {
        left_out "what is told of $mpi" 'it was not found when this build was configured'
        continue
    }
    expect 0 env GASNET_MODULE_PATH="$AQ_BUILD/modules" "$info"
    case $mpi in openmpi) name='Open MPI' ;; mpich) name=MPICH ;; esac
    row 'MPI and PMI' "$name" "yes: $name .*[0-9]"
    row 'Spawners that can run here' mpi yes
    row 'Conduits that can run here' mpi yes
done
for pmi in pmix pmi2; do
    case $pmi in pmix) name=PMIx ;; pmi2) name=PMI-2 ;; esac
    if has_module aq_mpi_$pmi.so; then
        left_out "what is told where $pmi has no module" 'the installed library has one'
    else
        expect 0 env GASNET_MODULE_PATH="$work" "$info"
        row 'MPI and PMI' "$name" "no: this installation has no module for it \(aq_mpi_$pmi.so\)"
    fi
    [ -e "$AQ_BUILD/modules/aq_mpi_$pmi.so" ] || {
        left_out "what is told of $pmi" 'it was not found when this build was configured'
        continue
    }
    expect 0 env GASNET_MODULE_PATH="$AQ_BUILD/modules" "$info"
    row 'MPI and PMI' "$name" "yes: .*$name .*[0-9]"
    row 'Spawners that can run here' pmi yes
done
for shell in /nonexistent nonexistent; do
    expect 0 env GASNET_SSH_CMD=$shell "$info"
    row 'Spawners that can run here' ssh 'no: the remote shell .* is not in PATH'
done
for shell in /bin/sh sh; do
    expect 0 env GASNET_SSH_CMD=$shell "$info"
    row 'Spawners that can run here' ssh yes
done

# What a conduit prints about its devices.
mkdir "$work/modules" && cp "$AQ_BUILD/modules/aq_conduit_fake.so" "$work/modules/aq_conduit_ibv.so"
expect 0 env GASNET_MODULE_PATH="$work/modules" "$info"
row 'Conduits that can run here' ibv 'yes'
row 'Conduit ibv' 'fake0 port 1' 'used$'
row 'Conduit ibv' '' ' *address 0$'

# What conduit ofi finds here; its module needs libfabric.
if [ -e "$AQ_BUILD/modules/aq_conduit_ofi.so" ]; then
    expect 0 env GASNET_MODULE_PATH="$AQ_BUILD/modules" "$info"
    row 'Conduit ofi' protection 'none of ours: .* as safe as the network of the provider'
    row 'Conduit ofi' 'jobs on one host' '.+ on .+: .+'
    row 'Conduit ofi' 'tcp;ofi_rxm' '.+: (used|not used): .+'
else
    left_out 'what is told of ofi' 'it was not found when this build was configured'
fi

# What each mode of conduit udp promises.
expect 0 "$info"
row 'Conduit udp' 'between hosts' "encrypt: nobody without the job's key reads"
row 'Conduit udp' 'inside one host' 'token: stops other users of this host'
row 'Conduit udp' 'encryption' '(AES-256-GCM|ChaCha20-Poly1305 .*); long datagrams by (OpenSSL|libsodium)'
expect 0 env GASNET_UDP_AUTH=header "$info"
row 'Conduit udp' 'between hosts' 'header: .* can read everything and alter data$'
row 'Conduit udp' 'inside one host' 'header: '

expect 0 "$info"
row 'Processors and memory' 'processors to use' "$(nproc)\$"
row 'Processors and memory' 'memory to use' '[0-9.]+ [KMGT]iB$'
row 'Limits of a process' 'open files' "(no limit|$(ulimit -n),)"
row 'Kernel' release "$(uname -s) $(uname -r), $(uname -m)\$"
for feature in memfd '/proc access' futex; do
    row 'Kernel' "$feature" 'yes$'
done

# Every variable of the tables, in order, with legal values, default and help.
find "$AQ_SRC/other/base/settings/settings_table.c" "$AQ_SRC"/conduits/{smp,udp,mpi,ibv,ofi} \
    \( -name settings_table.c -o -name '*_profile.c' \) -exec cat {} + |
    sed -n 's/.*{"\([A-Z_]*\)", AQ_TYPE_.*/\1/p' >"$work/names"
[ "$(wc -l <"$work/names")" -ge 20 ] || fail "the names in settings_table.c and the profiles cannot be read"
expect 0 "$info" -e
silent
grep -o '^[A-Z_]*$' "$work/out" | cmp -s - "$work/names" || fail "-e does not list the table"
awk 'length > 100 { exit 1 }' "$work/out" || fail "-e prints lines of more than 100 columns"
awk '/^[A-Z_]+$/ { if (n == 1 || n == 2) exit 1; n = 1; next }
    n == 1 && !/^    .+; default: .+/ { exit 1 }
    { n++ }' "$work/out" || fail "-e leaves out what is legal, the default or the help"

# Each fault is reported, and unknown names cause a warning.
expect 1 env GASNET_SPIN_US=x GASNET_WAITMODE=y GASNET_SPIN_UZ=7 "$info" -e
for text in "GASNET_SPIN_US: 'x' is not" "GASNET_WAITMODE: 'y' is not" "did you mean GASNET_SPIN_US?"; do
    grep -qF -- "$text" "$work/err" || fail "no '$text'"
done

expect 2 "$info" --nosuch
says "'--nosuch' is not an option"
expect 2 "$info" -e more
says "'more' is not an option"
expect 0 "$info" --help
grep -q -- --man "$work/out" || fail "no help"
code=0
"$info" -e >/dev/full 2>"$work/err" || code=$?
[ $code -eq 1 ] || fail "exit code $code when the disk is full"
says "cannot be written"

# The manual page has each variable, and troff has no complaints.
expect 0 "$info" --man
sed -n '/^\.SH VARIABLES WITHOUT EFFECT$/q; s/^\.B //p' "$work/out" | cmp -s - "$work/names" ||
    fail "--man does not list the table"
{
    echo '.TH GASNET 7'
    cat "$work/out"
} >"$work/page.7"
command -v groff >/dev/null || {
    left_out 'the manual page as groff sees it' 'groff is not installed'
    exit 0
}
# -P-c: bold letters are written twice, by every version.
expect 0 groff -man -ww -Tutf8 -P-c "$work/page.7"
silent
while read -r name; do
    sed 's/.\x08//g' "$work/out" | grep -qx " *$name" || fail "groff leaves $name out"
done <"$work/names"
exit 0
