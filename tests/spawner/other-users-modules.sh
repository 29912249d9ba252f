#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# other-users-modules: modules of every kind that another user could have put there are not loaded, by
# root and by any user; those of the user and of root are.
set -u
. "$(dirname "$0")/other-users-functions.sh"
isolate "$0" "$@"
. "$(dirname "$0")/launch/launch-functions.sh"
chmod 755 "$work"
mkdir -p "$work/top/mods"
printf '%s\n' '#include <unistd.h>' \
    '__attribute__((constructor)) static void begin(void) { (void)!write(2, "foreign code\n", 13); }' >"$work/foreign.c"
cc -shared -fPIC "$work/foreign.c" -o "$work/foreign.so" || fail "the module does not build"
for name in aq_conduit_ours aq_mpi_openmpi aq_mpi_mpich aq_mpi_abi aq_spawn_ours; do
    cp "$work/foreign.so" "$work/top/mods/$name.so"
done
printf '#!/bin/sh\necho foreign code >&2\n' >"$work/top/mods/gasnet_missing"
chmod 755 "$work/top/mods/gasnet_missing"
export GASNET_MODULE_PATH=$work/top/mods GASNET_QUIET=0

# everything USER-WORDS ...: has every kind of module loaded, if it is.
everything()
{
    : >"$work/all"
    "$@" "$AQ_BUILD/gasnet_info" >>"$work/all" 2>&1
    "$@" "$AQ_BUILD/gasnet_info" --missing "$work" >>"$work/all" 2>&1
    "$@" env GASNET_CONDUIT=ours GASNET_PSHM_NODES=1 "$AQ_BUILD/hello" >>"$work/all" 2>&1
    "$@" "$AQ_BUILD/gasnetrun_udp" -spawner=ours -n 1 "$AQ_BUILD/hello" >>"$work/all" 2>&1
    "$@" env GASNET_SPAWNER=mpi OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 "$AQ_BUILD/hello" >>"$work/all" 2>&1
}

# refused WHAT USER-WORDS ...: nothing of them is executed, and WHAT is named.
refused()
{
    everything "${@:2}"
    cp "$work/all" "$work/out"
    ! grep -q 'foreign code' "$work/all" || fail "a module is loaded although others can change $1"
    [ "$(grep -c "is not loaded, because other users can change $1: give that to root" "$work/all")" -ge 4 ] ||
        fail "not all kinds of modules are refused because of $1"
}

# user UID GID: the words that make a command one of that user.
user()
{
    words=(setpriv --reuid "$1" --regid "$2" --clear-groups)
}

mods=$work/top/mods
for user in 0 65533; do
    user $user $user
    everything "${words[@]}"
    [ "$(grep -c 'foreign code' "$work/all")" -ge 4 ] || { cp "$work/all" "$work/out" && fail "user $user cannot use modules of root"; }
    chown -R 65534:65534 "$mods"
    refused "$mods" "${words[@]}"
    chown -R 0:0 "$mods"
    chown 65534 "$work/top"
    refused "$work/top" "${words[@]}"
    chown 0 "$work/top"
    chmod o+w "$mods"
    refused "$mods" "${words[@]}"
    chmod o-w "$mods"
    chgrp 65534 "$mods" && chmod g+w "$mods"
    refused "$mods" "${words[@]}"
    chmod g-w "$mods"
    ln -s "$mods" "/tmp/link" && GASNET_MODULE_PATH=/tmp/link everything "${words[@]}"
    [ "$(grep -c 'foreign code' "$work/all")" -ge 4 ] || fail "no modules behind a link"
    rm /tmp/link
done

# Anybody who can change a folder above the program can change the program.
mkdir "$work/top/bin" && cp "$AQ_BUILD/gasnet_info" "$work/top/bin" || exit 1
chown 65534 "$work/top"
"$AQ_BUILD/gasnet_info" >"$work/all" 2>&1
! grep -q 'foreign code' "$work/all" || fail "a program elsewhere loads the modules"
"$work/top/bin/gasnet_info" >"$work/all" 2>&1
grep -q 'foreign code' "$work/all" || fail "a program beside the modules does not load them"

chown -R 65533 "$work/top"
everything "${words[@]}"
grep -q 'foreign code' "$work/all" || fail "a user cannot use modules of his own"
exit 0
