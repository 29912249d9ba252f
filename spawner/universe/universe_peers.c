// SPDX-License-Identifier: BSD-3-Clause
// The connections of a daemon.
#include "universe_peers.h"
#include "../../other/base/grow.h"

aq_peer_t *aq_daemon_add_peer(aq_daemon_t *daemon, const aq_link_t *link, uint32_t number)
{
    aq_link_t mine = *link;
    aq_peer_t *peers =
        aq_grow(daemon->peers, daemon->peer_count, &daemon->peer_room, sizeof *peers);
    if (peers == NULL) {
        aq_link_close(&mine);
        return NULL;
    }
    daemon->peers = peers;
    aq_peer_t *peer = &peers[daemon->peer_count++];
    *peer = (aq_peer_t){.link = mine, .number = number};
    aq_link_bear(&peer->link, daemon->silence_ms);
    return peer;
}
