# SPDX-License-Identifier: BSD-3-Clause
# The network of tests/chaos/run. Three network namespaces; ranks with odd numbers live in the one
# "there":
#
#     here                  middle                    there
#     near 10.84.0.1 ------ left [bridge] right ----- far 10.84.0.2
#     launcher, even ranks                            odd ranks
#
# In a round of the fault "middle" the program chaos_middle replaces the bridge. The mounts are
# private to the test: an empty /dev/shm, in which files that a job leaves behind are noticed, and a
# small /tmp that can be filled.

network=10.84.0

in_there()
{
    nsenter --net="/proc/$there/ns/net" "$@"
}

in_middle()
{
    nsenter --net="/proc/$middle/ns/net" "$@"
}

# Each namespace exists as long as a process that ends with this script in any case.
bed_keepers()
{
    coproc keeper_there { exec unshare --net sh -c 'echo ready; exec cat'; }
    there=$keeper_there_PID
    read -r -u "${keeper_there[0]}"
    # A second coproc makes bash warn.
    { coproc keeper_middle { exec unshare --net sh -c 'echo ready; exec cat'; }; } 2>/dev/null
    middle=$keeper_middle_PID
    read -r -u "${keeper_middle[0]}"
}

bed_cables()
{
    ip link set lo up && in_there ip link set lo up &&
        ip link add near type veth peer name left netns "$middle" &&
        in_there ip link add far type veth peer name right netns "$middle" &&
        ip address add $network.1/24 dev near && ip link set near up &&
        in_there ip address add $network.2/24 dev far && in_there ip link set far up &&
        in_middle ip link add between type bridge && in_middle ip link set between up &&
        in_middle ip link set left up && in_middle ip link set right up && bed_bridge on
}

# bed_bridge on|off: whether the bridge joins the two cables.
bed_bridge()
{
    local side
    for side in left right; do
        if [ "$1" = on ]; then
            in_middle ip link set $side master between
        else
            in_middle ip link set $side nomaster
        fi || return
    done
}

bed_mounts()
{
    mount --make-rprivate / && mount -t tmpfs -o size=64m chaos /dev/shm
}

# Continues in namespaces of its own, as root or as a user who is root only in them. If that is not
# possible, the faults that need them are left out, with the reason $no_bed.
bed_enter()
{
    local isolated
    [ -z "${CHAOS_INSIDE-}" ] || return 0
    for isolated in 'unshare --net --mount' 'unshare --map-root-user --net --mount'; do
        # shellcheck disable=SC2086
        $isolated true 2>/dev/null && CHAOS_INSIDE=yes exec $isolated "$@"
    done
    no_bed='the kernel lets this user make no network namespaces'
}

bed_make()
{
    local tool
    there= middle=
    [ -z "$no_bed" ] || return 0
    for tool in ip nsenter; do
        command -v $tool >/dev/null || no_bed="$tool is missing (packages iproute2, util-linux)"
    done
    [ -n "$no_bed" ] || {
        bed_keepers
        bed_cables 2>"$work/bed" && bed_mounts 2>"$work/bed" || no_bed=$(tail -n 1 "$work/bed")
    }
}
