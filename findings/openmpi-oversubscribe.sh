#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Open MPI 5 and later ignore OMPI_MCA_rmaps_base_oversubscribe, by which Open MPI 4 starts more ranks than there are slots.
#   findings/openmpi-oversubscribe.sh      as root; needs mmdebstrap and some minutes. 0: it is still so.
set -u
packages='openmpi-bin=6.0.0~rc2-2'
work=$(mktemp -d) || exit
trap 'umount "$work"/root/{dev/shm,proc,sys} 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
mirror=$(apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(SITE)' 'Created-By: Packages' | sed -n 's/^Debian|Debian|//p' | head -n 1)
# sid is a snapshot here, whose date may be over.
mmdebstrap --quiet --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' sid "$work/root" "deb $mirror sid main" >"$work/log" 2>&1 &&
    chroot "$work/root" apt-get update -qq -o Acquire::Check-Valid-Until=false &&
    chroot "$work/root" env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends $packages >"$work/log" 2>&1 || {
    echo "the packages cannot be installed: $packages"
    exit 2
}
mkdir -p "$work/root/dev/shm" && mount -t tmpfs tmpfs "$work/root/dev/shm" && mount -t proc proc "$work/root/proc" &&
    mount -t sysfs sysfs "$work/root/sys" || exit 2
within()
{
    chroot "$work/root" env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 \
        PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 60 "$@" </dev/null
}
ranks=$(($(nproc) + 1))
within mpirun.openmpi --version | head -n 1
within env OMPI_MCA_rmaps_base_oversubscribe=1 mpirun.openmpi -np $ranks true
old=$?
within env PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe mpirun.openmpi -np $ranks true
new=$?
echo "mpirun -np $ranks on $(nproc) processors: exit code $old with OMPI_MCA_rmaps_base_oversubscribe=1"
echo "exit code $new with PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe"
[ $old != 0 ] && [ $new = 0 ]
