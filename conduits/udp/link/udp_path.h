// SPDX-License-Identifier: BSD-3-Clause
// Paths that drop long packets without a report: interfaces with different MTUs on one cable, or a
// router whose reports a firewall drops. A state machine without input or output, for the datagrams
// to one peer.
//
// - A datagram has a number in its flow, so it cannot be cut anew: other frames would be lost or
//   delivered twice. Instead, one that stays unacknowledged is retransmitted in a packet that may
//   be fragmented (udp_socket_send_cut).
// - If long datagrams arrive only in this way, several in a row, new ones are made shorter: the
//   next step of a short table. Frames that do not fit have a datagram of their own, which may
//   always be fragmented from then on.
// - Mere loss hits short datagrams too: a short one that needed several transmissions is evidence
//   against the path being too narrow, as is a long one that needed few.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

typedef struct udp_path {
    sa_family_t family; // of the addresses; 0: the path is the loopback interface, never watched
    size_t most;        // longest datagram that is sent unfragmented; SIZE_MAX: no limit was found
    unsigned mtu;       // of the packets with these datagrams
    unsigned cut;       // long datagrams in a row that arrived only in fragments
} udp_path_t;

void udp_path_start(udp_path_t *path, sa_family_t family);

// Whether the transmission of a datagram may be fragmented. bytes: with the longest header; sends:
// transmissions before this one.
bool udp_path_cuts(const udp_path_t *path, size_t bytes, unsigned sends);

// Learns from a datagram that was acknowledged after `sends` transmissions. True: path->most has
// fallen.
bool udp_path_learn(udp_path_t *path, size_t bytes, unsigned sends);

// Whether to warn of a datagram after so many transmissions: not even its fragments arrive.
bool udp_path_is_blocked(const udp_path_t *path, size_t bytes, unsigned sends);
