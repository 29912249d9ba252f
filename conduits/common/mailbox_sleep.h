// SPDX-License-Identifier: BSD-3-Clause
// How a process sleeps until a message comes, and how senders wake it.
#pragma once

#include "mailbox_state.h"

void aq_mail_sleep_start(aq_mail_t *mail);
uint32_t aq_mail_arm(aq_conduit_t *conduit);
void aq_mail_sleep(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns);
void aq_mail_disarm(aq_conduit_t *conduit);
void aq_mail_wake(aq_conduit_t *conduit, bool group);
void aq_mail_ring(aq_doorbell_t *doorbell);

// The fence between a change and the check for sleepers that wait for it; see mailbox_sleep.c.
static inline void aq_mail_fence(const aq_mail_t *mail)
{
    if (__builtin_expect(mail->light_senders, 1))
        atomic_signal_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_seq_cst);
}

static inline void aq_mail_ring_sleepers(const aq_mail_link_t *link)
{
    if (__builtin_expect(atomic_load_explicit(&link->doorbell->sleepers, memory_order_relaxed) != 0,
                         0))
        aq_mail_ring(link->doorbell);
}

// After a message was published: wakes the peer if it sleeps.
static inline void aq_mail_wake_peer(const aq_mail_t *mail, const aq_mail_link_t *link)
{
    aq_mail_fence(mail);
    aq_mail_ring_sleepers(link);
}
