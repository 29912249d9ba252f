// SPDX-License-Identifier: BSD-3-Clause
// The smp conduit: processes of one host communicate through shared memory. This file is the
// example for a new conduit: every conduit is a const table of operations (core/conduit.h), which
// is at the end of this file. Read on in this order:
// - conduits/common/mail_message.h: the layout of a message
// - conduits/common/mail_ring.h and .c: the ring that carries messages
// - conduits/common/mailbox.h and .c: the rings of a process, and the operations on them
// - smp_memory.c: where mailboxes and segments are in memory
// - conduits/common/mailbox_sleep.c: how a process waits
// - smp_window.c: mailboxes of further endpoints
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/mail_message.h"
#include "../../other/base/log/log.h"
#include "smp_memory.h"
#include "smp_window.h"
#include "smp_profile.h"

// ---- opening and closing ----

// The conduit needs nothing but anonymous shared memory, so it creates a file to see whether it
// can.
static bool smp_usable(char *errbuf, size_t errbuf_size)
{
    int fd = memfd_create("gasnet-probe", MFD_CLOEXEC);
    if (fd < 0) {
        snprintf(errbuf, errbuf_size,
                 "the kernel refuses anonymous shared memory (memfd_create): %s", strerror(errno));
        return false;
    }
    close(fd);
    return true;
}

// The mailbox is the first member of smp_conduit_t, and its rings are aligned to cache lines.
static aq_status_t smp_open(const aq_conduit_env_t *env, aq_conduit_t **out)
{
    smp_conduit_t *smp = aligned_alloc(AQ_RING_LINE, sizeof *smp);
    if (!smp) {
        aq_log_error("out of memory for the smp conduit (%zu bytes)", sizeof *smp);
        return AQ_ERR_RESOURCE;
    }
    memset(smp, 0, sizeof *smp);
    smp->mail.base = (aq_conduit_t){
        .ops = &aq_smp_conduit,
        .env = env,
        .capabilities = AQ_CAN_SLEEP_BESIDE,
        .max_medium = AQ_RING_MAX_MEDIUM,
        .max_long = (size_t)1 << 30,
        .max_long_unmapped = AQ_RING_MAX_MEDIUM,
    };
    smp->windows_fd = -1;
    aq_status_t status = smp_memory_open(smp);
    if (status != AQ_OK) {
        free(smp);
        return status;
    }
    *out = &smp->mail.base;
    return AQ_OK;
}

// Keeps the mappings until the process ends: peers may still write into the rings.
static void smp_close(aq_conduit_t *conduit)
{
    (void)conduit;
}

// ---- peers ----

// Peers need no description of this process: the job tells which ranks share memory.
static void smp_describe(aq_conduit_t *conduit, char description[AQ_DESCRIPTION_BYTES])
{
    (void)conduit, (void)description;
}

// The conduit reaches the ranks of the neighbourhood, including this one.
static bool smp_match(aq_conduit_t *conduit, const aq_peer_t *peer)
{
    return aq_index_in_nbrhd(conduit->env, peer->rank) != UINT32_MAX;
}

// A link is the way to the mailbox of a peer. The core keeps it as a void pointer and passes it to
// each send.
static aq_status_t smp_connect(aq_conduit_t *conduit, const aq_peer_t *peer, void **out)
{
    aq_mail_link_t *link = aligned_alloc(AQ_RING_LINE, sizeof *link);
    if (!link) {
        aq_log_error("out of memory for the connection to rank %u (%zu bytes)", peer->rank,
                     sizeof *link);
        return AQ_ERR_RESOURCE;
    }
    const aq_mail_t *mail = aq_mail_of(conduit);
    aq_mail_link(mail, aq_mailbox_at(mail, aq_index_in_nbrhd(conduit->env, peer->rank)), link);
    *out = link;
    return AQ_OK;
}

// ---- reports and services for the core ----

static size_t smp_memory_bytes(aq_conduit_t *conduit)
{
    return smp_of(conduit)->mail.areas.stride;
}

static void *smp_shared_scratch(aq_conduit_t *conduit)
{
    return smp_of(conduit)->scratch;
}

// ---- the table ----

// A conduit leaves out the operations that it does not have. smp has no `rma`: the library copies
// the data of a put or get, because peers map each other's segments. The operations of the mailbox
// need no wrapper, because its state is the first member of smp_conduit_t.
const aq_conduit_ops_t aq_smp_conduit = {
    .name = "smp",
    .abi = AQ_CONDUIT_ABI,
    .profile = &aq_smp_profile,
    .description_bytes = 0,
    .usable = smp_usable,
    .open = smp_open,
    .describe = smp_describe,
    .match = smp_match,
    .connect = smp_connect,
    .close = smp_close,
    .admit = smp_memory_admit,
    .open_window = smp_window_open,
    .am = {.send = aq_mail_send,
           .poll = aq_mail_poll,
           .prepare = aq_mail_prepare,
           .commit = aq_mail_commit,
           .cancel = aq_mail_cancel},
    .wait = {.arm = aq_mail_arm,
             .sleep = aq_mail_sleep,
             .disarm = aq_mail_disarm,
             .wake = aq_mail_wake},
    .memory = {.share_segments = smp_memory_share_segments,
               .shared_scratch = smp_shared_scratch,
               .segment_file = smp_memory_segment_file},
    .report = {.memory_bytes = smp_memory_bytes,
               .counters = aq_mail_counters,
               .dump_state = aq_mail_dump_state},
};
