// SPDX-License-Identifier: BSD-3-Clause
// Remote atomics by the device: fetch-and-add and compare-and-swap of 64 bits.
//
// Most devices are atomic only with respect to themselves (IBV_ATOMIC_HCA): an update of the same
// memory by a processor at the same time may be lost. Their atomics are used only if the user
// states that no processor touches the memory (GASNET_IBV_ATOMICS=1), and then only where all
// operations are the device's, so that none goes to the target's processor. Devices whose atomics
// are atomic with respect to processors (IBV_ATOMIC_GLOB) may mix with any. The target's device
// decides; it says what it can do when the connection is made.
#pragma once

#include "ibv_send_queue.h"

typedef struct aq_ibv_atomic_path {
    aq_ibv_buffers_t *buffers;
    const aq_ibv_keys_t *keys;
    aq_ibv_send_queue_t *queue;
    atomic_ulong begun;
} aq_ibv_atomic_path_t;

// What GASNET_IBV_ATOMICS allows on memory of a device with that capability.
aq_ibv_atomics_t aq_ibv_atomics_of(enum ibv_atomic_cap can);

// See atomic of aq_conduit_ops_t.
aq_status_t aq_ibv_atomic(aq_ibv_atomic_path_t *path, aq_ibv_peer_t *link,
                          const aq_atomic_t *atomic, atomic_uint *pending);
