// SPDX-License-Identifier: BSD-3-Clause
// Mailboxes: each process of a group has one in memory that all of them share, and receives its
// active messages from it. Conduits smp and mpi use them.
//
//     areas, one for each process, a stride apart
//
//     [ doorbell, asleep | request ring | reply ring ] [ ... ] [ ... ]
//           ^                  ^              ^
//           '-- a sender writes into a ring of the receiver (mail_ring.h), and rings
//               the doorbell if the receiver sleeps (mailbox_sleep.c)
//
// What is always true:
// - The state of a conduit that has mailboxes begins with an aq_mail_t, which begins with an
//   aq_conduit_t. So the table of the conduit may hold the operations below unchanged.
// - A process reads its own rings only, and writes those of others only.
// - No process sends before all have opened their mailboxes.
#pragma once

#include "mail_ring.h"

// The doorbell of a process. bell counts by 2; threads of the process sleep on it as a futex.
typedef struct aq_doorbell {
    _Alignas(AQ_RING_LINE) _Atomic uint32_t bell;
    _Atomic uint32_t sleepers; // threads of the process that sleep or are about to
} aq_doorbell_t;

// The beginning of an area; all zeros at the start.
typedef struct aq_mailbox {
    aq_doorbell_t doorbell;
    aq_ring_control_t ring[2]; // requests, replies
    // First process only: sleepers of the whole group.
    _Alignas(AQ_RING_LINE) _Atomic uint32_t asleep;
} aq_mailbox_t;

// The areas, as this process sees them.
typedef struct aq_mail_areas {
    char *first; // aligned to AQ_RING_LINE, as stride is
    size_t stride;
    uint32_t count, index; // of this process
} aq_mail_areas_t;

// The link to a peer.
typedef struct aq_mail_link {
    _Alignas(AQ_RING_LINE) aq_ring_out_t out[2]; // requests, replies
    aq_doorbell_t *doorbell;
} aq_mail_link_t;

typedef struct aq_mail {
    _Alignas(AQ_RING_LINE) aq_conduit_t base;
    aq_ring_in_t in[2];
    aq_doorbell_t *doorbell;
    _Atomic uint32_t *asleep; // of the group
    bool light_senders;   // senders need no fence: sleepers run it on all processors (membarrier)
    bool single_threaded; // the same, in a process with one thread

    aq_mail_areas_t areas;
    size_t ring_slots;
    uint64_t key;
    _Atomic uint64_t sent;          // frames, if single_threaded; else the core counts them
    aq_watched_t watch[AQ_WATCHES]; // two of each ring
} aq_mail_t;

static inline aq_mail_t *aq_mail_of(aq_conduit_t *conduit)
{
    return (aq_mail_t *)(void *)conduit;
}

static inline aq_mailbox_t *aq_mailbox_at(const aq_mail_t *mail, uint32_t index)
{
    return (aq_mailbox_t *)(void *)(mail->areas.first + index * mail->areas.stride);
}
