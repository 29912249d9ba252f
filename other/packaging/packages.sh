#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The Debian packages that a build needs or can use.
#   other/packaging/packages.sh          installs the missing ones if root, otherwise names them
#   other/packaging/packages.sh --list   prints every package with its state, one in each line
# Exit code 1: a package that the build needs is still missing.
set -u

# package | need | a command that succeeds if it is installed | purpose
packages='
autoconf           | needed   | command -v autoreconf       | makes ./configure
automake           | needed   | command -v automake         | makes Makefile.in
libtool            | needed   | command -v libtoolize       | builds the shared library
make               | needed   | command -v make             | runs the build
gcc                | needed   | command -v cc               | compiles it
pkg-config         | needed   | command -v pkg-config       | finds the libraries below
libc6-dev          | needed   | has_header stdio.h          | the C library
libsodium-dev      | needed   | pkg-config --exists libsodium | keyed hashes of conduit udp and spawner ssh
libxxhash-dev      | needed   | has_header xxhash.h         | checksums of conduit udp
libssl-dev         | optional | pkg-config --exists libcrypto | faster encryption of conduit udp
libibverbs-dev     | optional | pkg-config --exists libibverbs | conduit ibv
librdmacm-dev      | optional | pkg-config --exists librdmacm | the same
ibverbs-providers  | optional | dpkg -s ibverbs-providers   | the same
libfabric-dev      | optional | pkg-config --exists libfabric | conduit ofi
perftest           | optional | command -v ib_write_lat     | the comparison with gasnet_perf over ibv
libhwloc-dev       | optional | pkg-config --exists hwloc   | nearest ports of conduit ibv, processors in gasnet_info
systemtap-sdt-dev  | optional | has_header sys/sdt.h        | probes for system tracers, gasnet_probes(7)
bpftrace           | optional | command -v bpftrace         | the check of these probes
libjansson-dev     | optional | pkg-config --exists jansson | gasnet_top and gasnet_view
libopen-trace-format2-dev | optional | pkg-config --exists "otf2 >= 3" | gasnet_view trace --otf2
otf2-tools         | optional | command -v otf2-print       | the check of what it writes
libncurses-dev     | optional | pkg-config --exists ncurses | gasnet_top
tmux               | optional | command -v tmux             | the test of its screen
libcmocka-dev      | optional | pkg-config --exists cmocka  | the unit tests
g++                | optional | command -v c++              | the check of the headers in C++
mandoc             | optional | command -v mandoc           | the check of the manual pages
spin               | optional | command -v spin             | the check of the protocol models
clang              | optional | command -v clang            | coverage-guided fuzzing (tests/fuzz/run)
libclang-rt-dev    | optional | has_libfuzzer               | the same
python3            | optional | command -v python3          | the tests (tests/run)
python3-yaml       | optional | has_yaml                    | the check of the recipes (examples/clusters)
iproute2           | optional | PATH=$PATH:/usr/sbin command -v ip | networks for tests (tests/beds/veth)
mount              | optional | command -v mount            | folders that only a test sees
nftables           | optional | PATH=$PATH:/usr/sbin command -v nft | loss of packets in these networks
qemu-system-x86    | optional | command -v qemu-system-x86_64 | a virtual machine for tests (tests/beds/rxe-vm)
busybox-static     | optional | command -v busybox          | the same
cpio               | optional | command -v cpio             | the same
kmod               | optional | PATH=$PATH:/usr/sbin command -v modprobe | the same
mmdebstrap         | optional | command -v mmdebstrap       | chroots of other releases of Debian (tests/beds/suite)
gcc-aarch64-linux-gnu | optional | command -v aarch64-linux-gnu-gcc | a build for another processor (tests/beds/arch)
qemu-user-static   | optional | has_emulator | the same
cmake              | optional | command -v cmake            | the check of the CMake package
debhelper          | optional | command -v dh               | the check of the Debian packages
rpm                | optional | command -v rpmspec          | the check of the RPM recipe
rpmlint            | optional | command -v rpmlint          | the same
openssh-client     | optional | command -v ssh              | spawner ssh, and its tests
openssh-server     | optional | test -x /usr/sbin/sshd      | the tests of jobs on several hosts
libopenmpi-dev     | optional | pkg-config --exists ompi-c  | the module for Open MPI: jobs that mpirun starts
openmpi-bin        | optional | command -v mpirun.openmpi   | mpirun of Open MPI
libpmix-dev        | optional | pkg-config --exists pmix    | the module for PMIx: spawner pmi
libpmi2-0-dev      | optional | has_header slurm/pmi2.h     | the module for PMI-2: spawner pmi where there is no PMIx
slurmctld          | optional | PATH=$PATH:/usr/sbin command -v slurmctld | a Slurm for tests (tests/beds/slurm)
slurmd             | optional | PATH=$PATH:/usr/sbin command -v slurmd | the same
slurm-client       | optional | command -v srun             | the same
munge              | optional | PATH=$PATH:/usr/sbin command -v munged | the same
libmpich-dev       | optional | pkg-config --exists mpich   | the module for MPICH
mpich              | optional | command -v mpirun.mpich     | mpirun of MPICH
build-essential    | optional | dpkg -s build-essential     | the same
'

has_header()
{
    echo "#include <$1>" | cc -E - -o /dev/null
}

has_yaml()
{
    python3 -c 'import yaml'
}

has_emulator()
{
    command -v qemu-aarch64-static || command -v qemu-aarch64
}

has_libfuzzer()
{
    echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -fsanitize=fuzzer -x c - -o /dev/null
}

trim()
{
    local s=$1
    s="${s#"${s%%[![:space:]]*}"}"
    printf '%s' "${s%"${s##*[![:space:]]}"}"
}

# Calls "$1 package need present|missing purpose" for each row.
each_package()
{
    local package need probe purpose state
    while IFS='|' read -r package need probe purpose; do
        package=$(trim "$package")
        [ -n "$package" ] || continue
        state=missing
        eval "$(trim "$probe")" >/dev/null 2>&1 </dev/null && state=present
        "$1" "$package" "$(trim "$need")" "$state" "$(trim "$purpose")"
    done <<<"$packages"
}

print_row()
{
    printf '%-18s %-9s %-8s %s\n' "$1" "$2" "$3" "$4"
}

missing_row()
{
    [ "$3" = missing ] && echo "$1"
}

missing_needed_row()
{
    [ "$2" = needed ] && [ "$3" = missing ] && echo "$1"
}

# Installs the named packages, and refreshes the package lists only if that fails. A package that
# this release of Debian does not have must not block the others, so they are then installed one by
# one.
install_packages()
{
    local package failed=0
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y --no-install-recommends "$@" >/dev/null 2>&1 && return
    apt-get update >/dev/null && apt-get install -y --no-install-recommends "$@" >/dev/null 2>&1 && return
    for package; do
        apt-get install -y --no-install-recommends "$package" >/dev/null || failed=1
    done
    return $failed
}

case ${1-} in
--list)
    each_package print_row
    exit 0
    ;;
'') ;;
*)
    echo "packages.sh: unknown option '$1'; the only option is --list." >&2
    exit 2
    ;;
esac

missing=$(each_package missing_row | xargs)
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing the Debian packages: $missing"
    # shellcheck disable=SC2086
    install_packages $missing || echo "packages.sh: apt-get could not install them all." >&2
fi

missing=$(each_package missing_row | xargs)
[ -n "$missing" ] || exit 0
echo "Not installed: $missing"
echo "To install them: apt-get install $missing"

needed=$(each_package missing_needed_row | xargs)
[ -z "$needed" ] || {
    echo "packages.sh: the build cannot continue without: $needed" >&2
    exit 1
}
echo "The build continues without them."
