// SPDX-License-Identifier: BSD-3-Clause
// The watch over the ports of a process with several: the system reports when one goes down or
// comes up again. A device may retry for ever on a port that is down, or not at all; and a process
// that sends nothing would not notice.
//
//      PORT_ERR, DEVICE_FATAL   --> down, unless PORT_ACTIVE comes within a second: a device
//      outlasts
//                                   a short interruption by itself
//      PORT_ACTIVE              --> up
//
// What is always true:
// - `changed` is called once when a port goes down, and for a port that is up only after that.
// - A device that failed as a whole does not come up again.
#pragma once

#include <poll.h>

#include "../ports/ibv_rail_ports.h"

typedef struct aq_ibv_port_watch {
    const aq_ibv_rail_ports_t *ports; // NULL: nothing is watched
    void (*changed)(void *context, unsigned port, bool up);
    void *context;
    // Takes the next event of a device; returns 0, or not if there is none. The caller acknowledges
    // it with the second one. Those of libibverbs, except in tests.
    int (*next)(struct ibv_context *verbs, struct ibv_async_event *event);
    void (*acknowledge)(struct ibv_async_event *event);
    uint64_t down_at_ns[AQ_IBV_RAIL_PORTS_MAX]; // when it counts as down; 0: it is not going down
    bool down[AQ_IBV_RAIL_PORTS_MAX];           // `changed` was told
    bool failed[AQ_IBV_RAIL_PORTS_MAX];         // its device
} aq_ibv_port_watch_t;

// Begins to watch; the members up to `context` are set. Events are not waited for any more
// (O_NONBLOCK). A process with one port is not watched.
void aq_ibv_port_watch_open(aq_ibv_port_watch_t *watch);

// What to poll for events of the ports; returns how many.
unsigned aq_ibv_port_watch_fds(const aq_ibv_port_watch_t *watch,
                               struct pollfd events[AQ_IBV_RAIL_PORTS_MAX]);

// Takes all events, and calls `changed`. Does not block. Times are those of aq_clock_ns.
void aq_ibv_port_watch_turn(aq_ibv_port_watch_t *watch, uint64_t now_ns);

// The time until the next turn is due without an event, in ms; -1: for ever.
int aq_ibv_port_watch_timeout(const aq_ibv_port_watch_t *watch, uint64_t now_ns);
