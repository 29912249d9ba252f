// SPDX-License-Identifier: BSD-3-Clause
// The length of datagrams on a path: udp_send.c asks whether a transmission may be fragmented, and
// udp_link.c reports acknowledged datagrams, from which the limit of the path is learned.
#include "udp_path.h"

#include "../socket/udp_interface.h"
#include "../wire/udp_wire.h"

enum {
    CUT_AFTER = 4,   // transmissions that are not fragmented
    UNLUCKY = 3,     // transmissions of a short datagram that show a path with many losses
    PROOFS = 6,      // long datagrams in a row before new ones are made shorter
    BLOCKED_AT = 20, // transmissions of a long datagram before the user is warned
};

// MTUs. The last one is below what a path of IPv6 must carry, and no long datagram of IPv6 needs
// it.
static const uint16_t steps[] = {1500, UDP_SAFE_MTU, UDP_NARROW_MTU};

void udp_path_start(udp_path_t *path, sa_family_t family)
{
    *path = (udp_path_t){.family = family, .most = SIZE_MAX};
}

// Whether a datagram is longer than every path carries, even with the shortest header.
static bool is_long(const udp_path_t *path, size_t bytes)
{
    const size_t mtu = path->family == AF_INET ? UDP_NARROW_MTU : UDP_SAFE_MTU;
    return path->family &&
           bytes > udp_interface_datagram(mtu, path->family) + UDP_HEADER_MAX - UDP_HEADER_MIN;
}

bool udp_path_cuts(const udp_path_t *path, size_t bytes, unsigned sends)
{
    return bytes > path->most || (sends >= CUT_AFTER && is_long(path, bytes));
}

// Lowers the limit to the longest step that is shorter than a datagram that was lost.
static bool path_fall(udp_path_t *path, size_t bytes)
{
    size_t step = SIZE_MAX;
    unsigned i = 0;
    for (; i < sizeof steps / sizeof *steps && step >= bytes; i++)
        step = udp_interface_datagram(steps[i], path->family);
    path->cut = 0;
    if (step >= path->most)
        return false;
    path->most = step;
    path->mtu = steps[i - 1];
    return true;
}

bool udp_path_learn(udp_path_t *path, size_t bytes, unsigned sends)
{
    if (!is_long(path, bytes)) {
        if (sends >= UNLUCKY)
            path->cut = 0;
        return false;
    }
    if (bytes > path->most) // was sent in fragments from the start
        return false;
    path->cut = sends > CUT_AFTER ? path->cut + 1 : 0;
    return path->cut == PROOFS && path_fall(path, bytes);
}

bool udp_path_is_blocked(const udp_path_t *path, size_t bytes, unsigned sends)
{
    return sends == BLOCKED_AT && is_long(path, bytes);
}
