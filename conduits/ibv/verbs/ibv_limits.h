// SPDX-License-Identifier: BSD-3-Clause
// How many of everything an endpoint of conduit ibv has, computed once from the settings and from
// what the device supports.
#pragma once

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../common/credit.h"

enum {
    AQ_IBV_RING_SLOTS = 32,  // upper limit of the slots of a ring
    AQ_IBV_INLINE_MAX = 128, // longer inline data costs each entry of every send queue more memory
                             // than a copy is worth
    AQ_IBV_LONGEST_LONG = 1 << 20,
};

// Rings of receive buffers; GASNET_AMRDMA_...
typedef struct aq_ibv_ring_limits {
    unsigned count, depth, cycle;
    unsigned replies; // of the arrivals, for replies to requests that went through rings
    size_t bytes;     // the longest message that goes into a ring
} aq_ibv_ring_limits_t;

// What the device does, and how much of it.
typedef struct aq_ibv_device_traits {
    size_t operation_bytes;  // the longest put or get
    bool in_software;        // the kernel does the device's work
    bool unordered;          // see aq_ibv_limits_loosen
    uint32_t regions;        // memory regions
    unsigned queue_entries;  // the longest completion queue
    unsigned queue_arrivals; // the longest queue of receive buffers
} aq_ibv_device_traits_t;

typedef struct aq_ibv_limits {
    uint32_t peers; // of endpoint 0: processes that are reached through the device
    aq_credit_limits_t credits;
    unsigned depth_each, depth_total; // send queue entries of a link, and of the process
    unsigned unsignaled_each;  // send queue entries of a link that may be without a completion
    unsigned unsignaled_total; // the same for the process; the completion queue has room for
                               // them, since a failed entry completes after all
    unsigned arrivals;         // receive buffers that have to be posted in the shared receive queue
    unsigned receive_queues; // shared receive queues, each with so many buffers; see ibv_failover.h
    unsigned ahead;          // receive buffers beyond these, so that several are replaced at a time
    unsigned grants;         // of the arrivals, for requests
    unsigned spares; // receive buffers that handlers may hold, those posted ahead, and those of
                     // further receive queues
    unsigned bounces, large_bounces;
    size_t packed_long;    // the longest Long whose payload travels in its message
    size_t bounce_bytes;   // size of a large bounce buffer
    size_t copied;         // the longest put without AQ_RMA_STABLE that is copied into a buffer
    unsigned inline_bytes; // the most that travels inside a work request
    // The shortest put [0] and get [1] for which firehose pins memory outside of the segment.
    size_t pin_from[2];
    // The longest piece of a put [0] and a get [1] over several queue pairs.
    size_t stripe[2];
    aq_ibv_ring_limits_t rings;
    uint64_t apart_ns; // operations further apart are not one burst
    uint8_t reads;     // RDMA reads of a connection that may be outstanding
    aq_ibv_device_traits_t device;
} aq_ibv_limits_t;

// Fills in all limits except inline_bytes, which only a trial on the device shows. threads: the
// client may have several.
void aq_ibv_limits_find(aq_ibv_limits_t *limits, uint32_t peers, bool threads,
                        const struct ibv_device_attr *can, const struct ibv_port_attr *port);

// The device keeps less order than InfiniBand does, as the standards of iWARP allow:
// - operations of a queue pair complete in any order, so each is signaled;
// - a completed write may still be on its way, so a put is complete when a read behind it is;
// - what several writes, or one, change in memory changes in any order, so there are no rings.
// A message still arrives behind the writes that were posted before it, and a read still returns
// what these have written.
void aq_ibv_limits_loosen(aq_ibv_limits_t *limits);

// Adapts the limits to that many shared receive queues, in place of one.
void aq_ibv_limits_multiply(aq_ibv_limits_t *limits, unsigned receive_queues);

// The shortest put without AQ_RMA_STABLE that is not copied; the shortest Long request whose
// payload is not. Both with inline_bytes, of which the device's driver makes a copy.
size_t aq_ibv_limits_put_waits_from(const aq_ibv_limits_t *limits);
size_t aq_ibv_limits_long_ahead_from(const aq_ibv_limits_t *limits);

// Bytes of all bounce buffers.
uint64_t aq_ibv_limits_bounce_bytes(const aq_ibv_limits_t *limits);

// The limits of a window, from those of endpoint 0: fewer of everything. A window does not know how
// many peers it will have, so it keeps grants back for later ones.
aq_ibv_limits_t aq_ibv_limits_of_window(const aq_ibv_limits_t *main);

// Bytes of a queue pair: of its send queue, about; each device rounds up in its own way.
size_t aq_ibv_pair_bytes(const aq_ibv_limits_t *limits);
