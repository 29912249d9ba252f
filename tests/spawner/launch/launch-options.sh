#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-options: illegal options are refused with one sentence and exit code 2.
set -u
. "$(dirname "$0")/launch-functions.sh"

refused()
{
    expect 2 "${@:2}"
    says "$1"
    [ ! -s "$work/out" ] || fail "output from a refused command"
}

refused "number of ranks is missing" "$run" "$conform"
refused "option -n has no value" "$run" -n
refused "'0' is not a whole number" "$run" -n 0 "$conform"
refused "'x' is not a whole number" "$run" -n x "$conform"
refused "'-3' is not a whole number" "$run" -n -3 "$conform"
refused "'9999999' is not a whole number" "$run" -n 9999999 "$conform"
refused "program is missing" "$run" -n 2
refused "program is missing" "$run" -n 2 --
refused "unknown option '-q'" "$run" -q -n 2 "$conform"
refused "unknown option '--nodes'" "$run" --nodes "$conform"
refused "2 hosts" "$run" -n 2 -N 2 "$conform"
refused "no spawner of this name" "$run" -n 2 -spawner=carrier-pigeon "$conform"
refused "-spawner asks for the spawner 'pmi', but the program 'nompi'" env MPIRUN_CMD=nompi "$run" -n 2 -spawner=pmi "$conform"
refused "GASNET_SPAWNER asks for the spawner 'pmi'" env MPIRUN_CMD=nompi GASNET_SPAWNER=pmi "$run" -n 2 "$conform"
refused "GASNET_SMP_SPAWNER asks for the spawner 'pmi'" env GASNET_SPAWNER=fork GASNET_SMP_SPAWNER=pmi MPIRUN_CMD=nompi "$run" -n 2 "$conform"
refused "GASNET_UDP_SPAWNER asks for the spawner 'pmi'" env GASNET_SMP_SPAWNER=fork GASNET_UDP_SPAWNER=pmi MPIRUN_CMD=nompi "$AQ_BUILD/amudprun" -n 2 "$conform"
refused "no conduit 'foo'" "$run" -conduit=foo -n 2 "$conform"
refused "GASNET_EXITTIMEOUT" env GASNET_EXITTIMEOUT=soon "$run" -n 2 "$conform"

expect 127 "$run" -n 4 no-such-program-anywhere
says "not found in PATH"
expect 127 "$run" -n 4 ./no-such-program-anywhere
says "no such file"
expect 126 "$run" -n 4 /
says "is a directory"
echo text >"$work/text"
expect 126 "$run" -n 4 "$work/text"
says "chmod +x"
chmod +x "$work/text"
expect 126 "$run" -n 4 "$work/text"
says "is not a program for this machine"

ln -s "$run" "$work/gasnetrun"
ln -s "$run" "$work/gasnetrun_foo"
refused "no conduit is named" env -u GASNET_CONDUIT "$work/gasnetrun" -n 2 "$conform"
refused "no conduit 'foo'" "$work/gasnetrun_foo" -n 2 "$conform"
refused "this build has no conduit 'foo'; it has: smp udp" "$AQ_BUILD/amudprun" -conduit=foo -np 2 "$conform"
refused "number of ranks is missing" "$AQ_BUILD/amudprun" -conduit=smp "$conform"
refused "GASNET_SPAWNFN asks for the spawner 'R', but GASNet dropped rexec" env GASNET_SPAWNFN=R "$AQ_BUILD/amudprun" -np 2 "$conform"
refused "GASNET_SPAWNFN: 'X' is not one of L, S, R, C" env GASNET_SPAWNFN=X "$AQ_BUILD/amudprun" -np 2 "$conform"
expect 3 env GASNET_SPAWNFN=R "$run" -n 2 "$conform" code 3
expect 3 env GASNET_SPAWNER=mpi "$run" -n 2 -spawner=fork "$conform" code 3
expect 3 env GASNET_SPAWNER=mpi GASNET_SMP_SPAWNER=fork "$run" -n 2 -v -v "$conform" code 3
grep -Eq 'spawner pmi is not taken: (GASNET_SMP_SPAWNER asks for fork|the program .mpirun)' "$work/out" || fail "-v does not say why pmi is not taken"
expect 3 env GASNET_SPAWNFN=L "$AQ_BUILD/amudprun" -np 2 -v "$conform" code 3
grep -q 'conduit udp' "$work/out" || fail "amudprun does not start jobs of conduit udp"
expect 3 "$AQ_BUILD/amudprun" -conduit=smp -np 2 -v "$conform" code 3
expect 3 "$work/gasnetrun" -conduit=smp -n 2 "$conform" code 3
expect 3 env GASNET_CONDUIT=smp "$work/gasnetrun" -n 2 "$conform" code 3

for form in "-n 2" "-n2" "-n=2" "-np 2" "-N 1 -n 2" "-n 2 -spawner=fork" "-n 2 --"; do
    # shellcheck disable=SC2086
    expect 3 "$run" $form "$conform" code 3
    silent
done
expect 0 "$run" --help
grep -q -- '-spawner=' "$work/out" || fail "no help"
for name in gasnetrun_smp gasnetrun_udp gasnetrun_mpi amudprun; do
    expect 0 "$AQ_BUILD/$name" -h
    grep -q "^usage: $name " "$work/out" || fail "$name -h names another program"
    case $name in *mpi) spawners=mpi ;; *) spawners='fork ssh universe custom rendezvous mpi pmi' ;; esac
    grep -q -- "-spawner=.*: $spawners\$" "$work/out" || fail "$name -h has the wrong spawners"
done

# -k implies -v, as the manual of GASNet says.
expect 3 "$run" -n 2 -k "$conform" code 3
grep -q 'no temporary files to keep' "$work/out" || fail "-k does not imply -v"

# -v prints each step; -v -v also spawners that were not requested.
expect 3 "$run" -n 2 -v "$conform" code 3
! grep -q 'is not taken' "$work/out" || fail "-v lists spawners that nobody asked for"
expect 3 "$run" -n 2 -v -v "$conform" code 3
grep -q 'is not taken' "$work/out" || fail "-v -v does not tell of other spawners"

# What launch scripts of clients write: -c 0 binds nothing, and amudprun has options of its own.
expect 3 "$run" -n 2 -N 1 -c 0 -E PATH "$conform" code 3
for form in "-N 2" "-n 2 -spawn L" "-np 2 -spawn=L -depth 8"; do
    # shellcheck disable=SC2086
    expect 3 "$AQ_BUILD/amudprun" $form "${conform}_udp" code 3
    silent
done
expect 0 "$AQ_BUILD/amudprun" -np 1 -depth 8 sh -c 'echo $GASNET_NETWORKDEPTH'
[ "$(cat "$work/out")" = 8 ] || fail "-depth does not set GASNET_NETWORKDEPTH"
refused "option -spawn: 'R' is not one of L" "$AQ_BUILD/amudprun" -np 2 -spawn R "$conform"
refused "option -depth: '0' is not a whole number from 1" "$AQ_BUILD/amudprun" -np 2 -depth 0 "$conform"
refused "unknown option '-spawn'" "$run" -n 2 -spawn L "$conform"

# A program that was linked for smp runs over the conduit that its launcher names.
expect 0 env GASNET_SUPERNODE_MAXSIZE=1 GASNET_STATS=1 "$AQ_BUILD/gasnetrun_udp" -n 2 "$conform" code 0
grep -q '^udp: rank 1 in all' "$work/err" || fail "a program linked for smp does not run over udp under gasnetrun_udp"
expect 0 "$run" --version
grep -q '^gasnetrun ' "$work/out" || fail "no version"
