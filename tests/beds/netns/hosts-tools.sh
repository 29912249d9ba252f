#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# gasnet_recon and gasnet_wipe, and the conformance suite across hosts.
set -u
. "$AQ_SRC/tests/beds/netns/bed-functions.sh"
recon=$AQ_BUILD/gasnet_recon
wipe=$AQ_BUILD/gasnet_wipe

expect 0 "$recon" -H n1,n2
silent
[ "$(grep -cE '^n[12] +ready +[0-9.]+ +[+-][0-9.]+ s +[0-9]+ [KMG]iB +(no limit|[0-9]+ [KMG]iB) +[^ ]+ +1500$' "$work/out")" -eq 2 ] || fail "no table"
grep -qx '2 of 2 hosts are ready' "$work/out" || fail "no sum"
! grep -q 'the MTU of the hosts differs' "$work/out" || fail "equal MTUs differ"
on_host n2 ip link set eth0 mtu 1400
expect 0 "$recon" -H n1,n2
grep -q '^the MTU of the hosts differs, from 1400 to 1500: .*GASNET_UDP_MTU=1400' "$work/out" || fail "no word about the MTU"
on_host n2 ip link set eth0 mtu 1500

# Every fault has its remedy.
printf 'n1\nrefuses\nwrongkey\nnosuch\nn2 prefix=/nonexistent\n' >"$work/nodes"
expect 1 env GASNET_SSH_NODEFILE="$work/nodes" "$recon"
grep -q '^n1 *ready' "$work/out" || fail "n1 is not ready"
grep -q '^refuses *fails .*Connection refused; no sshd answers there' "$work/out" || fail "no remedy for a host that refuses"
grep -q '^wrongkey *fails .*Host key verification failed.*ssh-keygen -R' "$work/out" || fail "no remedy for a wrong key"
grep -q '^nosuch *fails .*Could not resolve.*its name is not known' "$work/out" || fail "no remedy for a wrong name"
grep -qE '^n2 *fails .*(No such file|not found).*prefix=' "$work/out" || fail "no remedy for a wrong prefix"
grep -qx '1 of 5 hosts are ready' "$work/out" || fail "no sum"
mkdir -p "$work/other/bin"
printf '#!/bin/sh\necho "aqueduct-answer 1 0.0.1 1000000000000 1 1 none"\n' >"$work/other/bin/gasnetrun"
chmod +x "$work/other/bin/gasnetrun"
echo "n2 prefix=$work/other" >"$work/nodes"
expect 1 env GASNET_SSH_NODEFILE="$work/nodes" "$recon"
grep -q 'another version of Aqueduct' "$work/out" || fail "another version is not told"
sed -i "s/0\.0\.1/$("$run" --version | sed 's/.* //')/" "$work/other/bin/gasnetrun"
expect 1 env GASNET_SSH_NODEFILE="$work/nodes" "$recon"
grep -q 'its clock is wrong' "$work/out" || fail "a wrong clock is not told"
expect 2 "$recon"
says "nothing names"
expect 2 "$recon" -x
says "'-x' is not an option"

# gasnet_wipe leaves a running job alone, and ends ranks without a supervisor.
start_job 2 "$run" -n 2 -H n1,n2 sh -c 'echo ready; exec sleep 1000'
for _ in 1 2; do
    on_host n2 env GASNET_SPAWN_CONTROL=fork:9:1:1 setsid sleep 2000 2>/dev/null &
done
for _ in $(seq 100); do
    [ "$(find_on n2 sleep | wc -l)" -eq 3 ] && break
    sleep 0.05
done
expect 0 "$wipe" -H n1,n2
[ "$(grep -c '^n2: ended process .*sleep' "$work/out")" -eq 2 ] || fail "the lost processes are not ended"
grep -q '^2 processes ended on 2 of 2 hosts' "$work/out" || fail "not two processes were ended"
kill -0 "$sup" || fail "the running job is ended"
expect 0 "$wipe" -a -H n1,n2
grep -q '^n[12]: ended process .*gasnet-helper' "$work/out" || fail "the running job is not ended"
code=0
wait "$sup" || code=$?
sup=
[ $code -ne 0 ] || fail "the job that was wiped ends with 0"
none_left
expect 1 "$wipe" -H n1,refuses
says "host refuses could not be asked"

expect 0 timeout 60 "$run" -n 2 -H n1,n2 "$AQ_BUILD/conform-seq" am_args rma_segment coll_together
exit 0
