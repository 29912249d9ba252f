// SPDX-License-Identifier: BSD-3-Clause
// The connections of a daemon.
#include <stdlib.h>

#include "universe_peers.h"

aq_peer_t *aq_daemon_add_peer(aq_daemon_t *daemon, const aq_link_t *link, uint32_t number)
{
    aq_link_t mine = *link;
    if (daemon->peer_count == daemon->peer_room) {
        uint32_t room = 2 * daemon->peer_room + 16;
        aq_peer_t *peers = realloc(daemon->peers, room * sizeof *peers);
        if (peers == NULL) {
            aq_link_close(&mine);
            return NULL;
        }
        daemon->peers = peers;
        daemon->peer_room = room;
    }
    aq_peer_t *peer = &daemon->peers[daemon->peer_count++];
    *peer = (aq_peer_t){.link = mine, .number = number};
    aq_link_bear(&peer->link, daemon->silence_ms);
    return peer;
}
