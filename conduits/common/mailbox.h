// SPDX-License-Identifier: BSD-3-Clause
// Mailboxes: opening them, and the operations of a conduit on them. mailbox_state.h has the
// picture.
#pragma once

#include "mailbox_sleep.h"

// Bytes of an area: a ring holds GASNET_PSHM_NETWORK_DEPTH payloads of the largest Medium, rounded
// up to a power of two. A multiple of the page.
size_t aq_mailbox_bytes(void);

// Opens the mailbox of this process; base.env is there.
void aq_mail_open(aq_mail_t *mail, const aq_mail_areas_t *areas);
// Lets polls look at the rings only, for a conduit that receives nothing else. After aq_mail_open.
void aq_mail_watch(aq_mail_t *mail);
// Fills in the link to the owner of a mailbox, which is mapped in this process.
void aq_mail_link(const aq_mail_t *mail, aq_mailbox_t *peer, aq_mail_link_t *link);

// ---- operations, as core/conduit.h has them; a link is an aq_mail_link_t ----

aq_status_t aq_mail_send(aq_conduit_t *conduit, void *link, const aq_am_t *am);
aq_status_t aq_mail_prepare(aq_conduit_t *conduit, void *link, const aq_am_t *am, size_t least,
                            size_t most, aq_reservation_t *out);
void aq_mail_commit(aq_conduit_t *conduit, void *link, const aq_am_t *am,
                    const aq_reservation_t *room);
void aq_mail_cancel(aq_conduit_t *conduit, void *link, const aq_am_t *am,
                    const aq_reservation_t *room);
unsigned aq_mail_poll(aq_conduit_t *conduit, unsigned what);
void aq_mail_counters(aq_conduit_t *conduit, struct gasnetx_counters *sum);
void aq_mail_dump_state(aq_conduit_t *conduit);