// SPDX-License-Identifier: BSD-3-Clause
// Windows over shared memory: each has a mailbox of its own, in a file of the process that owns it.
#include "smp_window.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"

// Where a mailbox is; what a window describes to its peers.
typedef struct smp_place {
    aq_memfile_ticket_t file;
    uint64_t offset;
    uint64_t attended; // 1: senders ring the doorbell of endpoint 0
} smp_place_t;

_Static_assert(sizeof(smp_place_t) <= AQ_DESCRIPTION_BYTES, "a place fits into a description");

typedef struct smp_window {
    aq_mail_t mail; // first member
    smp_place_t place;
    const smp_conduit_t *main;
} smp_window_t;

// All windows of a process share one file, because a descriptor for each could exceed the limit of
// open files. The file is sparse: window k is at k times the size of a mailbox.
static aq_status_t find_file(smp_conduit_t *smp, size_t size)
{
    if (smp->windows_fd < 0)
        return aq_memfile_create("gasnet-windows", size, &smp->windows_fd);
    if (size <= smp->windows_bytes)
        return AQ_OK;
    const int error = aq_memfile_resize(smp->windows_fd, size);
    if (error)
        aq_log_error("the mailbox of a further endpoint (%zu bytes in a file of %zu) cannot be "
                     "made: %s; raise the limit of the size of a file (ulimit -f)",
                     aq_mailbox_bytes(), size, strerror(error));
    return error ? AQ_ERR_RESOURCE : AQ_OK;
}

static aq_status_t map_mailbox(smp_conduit_t *smp, smp_window_t *window)
{
    const size_t bytes = aq_mailbox_bytes();
    const size_t end = (window->mail.base.endpoint + (size_t)1) * bytes;
    void *memory;
    aq_status_t status = find_file(smp, end);
    if (status != AQ_OK)
        return status;
    smp->windows_bytes = end > smp->windows_bytes ? end : smp->windows_bytes;
    window->place.offset = end - bytes;
    status = aq_memfile_ticket(smp->windows_fd, &window->place.file);
    if (status == AQ_OK)
        status = aq_memfile_map(smp->windows_fd, window->place.offset, bytes, &memory);
    if (status != AQ_OK)
        return status;
    aq_mail_open(&window->mail, &(aq_mail_areas_t){.first = memory, .stride = bytes, .count = 1});
    if (window->place.attended)
        window->mail.doorbell = smp->mail.doorbell;
    return AQ_OK;
}

// The receive thread sleeps at one doorbell, so with GASNET_RCV_THREAD all windows have that of
// endpoint 0.
static bool is_attended(const aq_conduit_env_t *env)
{
    return env->threads && env->nbrhd_size > 1 && aq_settings_bool(AQ_SET_RCV_THREAD);
}

static void smp_window_describe(aq_conduit_t *conduit, char description[AQ_DESCRIPTION_BYTES])
{
    const smp_window_t *window = (const smp_window_t *)(const void *)conduit;
    memcpy(description, &window->place, sizeof window->place);
}

// Maps the mailbox of a peer's window. The mapping keeps the file alive.
static aq_status_t map_peer(const aq_peer_t *peer, const smp_place_t *description, void **mailbox)
{
    const smp_place_t place = *description;
    int fd;
    if (place.offset != peer->endpoint * aq_mailbox_bytes()) {
        aq_log_error("rank %u describes the mailbox of its endpoint %u at %llu, where it is not",
                     peer->rank, peer->endpoint, (unsigned long long)place.offset);
        return AQ_ERR_PEER;
    }
    aq_status_t status = aq_memfile_open(&place.file, &fd);
    if (status != AQ_OK)
        return status;
    status = aq_memfile_map(fd, place.offset, aq_mailbox_bytes(), mailbox);
    close(fd);
    return status;
}

static aq_status_t smp_window_connect(aq_conduit_t *conduit, const aq_peer_t *peer, void **out)
{
    const aq_mail_t *main = &((const smp_window_t *)(const void *)conduit)->main->mail;
    smp_place_t place;
    void *mailbox;
    aq_mail_link_t *link = aligned_alloc(AQ_RING_LINE, sizeof *link);
    if (!link) {
        aq_log_error("out of memory for the connection to endpoint %u of rank %u (%zu bytes)",
                     peer->endpoint, peer->rank, sizeof *link);
        return AQ_ERR_RESOURCE;
    }
    memcpy(&place, peer->description, sizeof place);
    const aq_status_t status = map_peer(peer, &place, &mailbox);
    if (status != AQ_OK) {
        free(link);
        return status;
    }
    aq_mail_link(aq_mail_of(conduit), mailbox, link);
    if (place.attended) {
        const uint32_t index = aq_index_in_nbrhd(conduit->env, peer->rank);
        link->doorbell = &aq_mailbox_at(main, index)->doorbell;
    }
    *out = link;
    return AQ_OK;
}

static size_t smp_window_memory_bytes(aq_conduit_t *conduit)
{
    return aq_mail_of(conduit)->areas.stride;
}

// Only what a window needs: it is opened and closed by the conduit of endpoint 0.
static const aq_conduit_ops_t smp_window_ops = {
    .name = "smp",
    .abi = AQ_CONDUIT_ABI,
    .describe = smp_window_describe,
    .connect = smp_window_connect,
    .am = {.send = aq_mail_send,
           .poll = aq_mail_poll,
           .prepare = aq_mail_prepare,
           .commit = aq_mail_commit,
           .cancel = aq_mail_cancel},
    .wait = {.arm = aq_mail_arm,
             .sleep = aq_mail_sleep,
             .disarm = aq_mail_disarm,
             .wake = aq_mail_wake},
    .report = {.memory_bytes = smp_window_memory_bytes,
               .counters = aq_mail_counters,
               .dump_state = aq_mail_dump_state},
};

aq_status_t smp_window_open(aq_conduit_t *conduit, uint16_t endpoint, aq_conduit_t **out)
{
    smp_window_t *window = aligned_alloc(AQ_RING_LINE, (sizeof *window + AQ_RING_LINE - 1) /
                                                           AQ_RING_LINE * AQ_RING_LINE);
    if (!window) {
        aq_log_error("out of memory for the window of endpoint %u (%zu bytes)", endpoint,
                     sizeof *window);
        return AQ_ERR_RESOURCE;
    }
    memset(window, 0, sizeof *window);
    window->mail.base = *conduit;
    window->mail.base.ops = &smp_window_ops;
    window->mail.base.endpoint = endpoint;
    window->main = smp_of(conduit);
    window->place.attended = is_attended(conduit->env);
    const aq_status_t status = map_mailbox(smp_of(conduit), window);
    if (status != AQ_OK) {
        free(window);
        return status;
    }
    *out = &window->mail.base;
    return AQ_OK;
}
