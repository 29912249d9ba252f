// SPDX-License-Identifier: BSD-3-Clause
// The memory of the smp conduit: one anonymous file that holds the mailboxes, the scratch and the
// segments of a neighbourhood.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../other/base/log/log.h"
#include "../common/guarded.h"
#include "gasnetex_core.h"
#include "smp_memory.h"

enum { PAGE = GASNET_PAGESIZE };

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

// The pages that a large segment is to have.
static size_t segment_huge_page(const aq_conduit_env_t *env)
{
    return env->segment_pool < 0 ? AQ_HUGE_PAGE : env->segment_page;
}

// Where a segment that comes after `end` begins in the file.
static size_t segment_offset(const aq_conduit_env_t *env, size_t end, size_t size)
{
    const size_t huge = segment_huge_page(env);
    return round_up(end, size < huge ? PAGE : huge);
}

// The bytes that a segment takes in memory and in its file.
static size_t segment_bytes(const aq_conduit_env_t *env, size_t size)
{
    return round_up(size, env->segment_pool < 0 ? PAGE : env->segment_page);
}

// An exchange sends the ticket with which others open the file from the first process of each
// neighbourhood to all ranks.
static aq_status_t share_ticket(const smp_conduit_t *smp, aq_memfile_ticket_t *ticket)
{
    const aq_conduit_env_t *env = smp->mail.base.env;
    aq_memfile_ticket_t mine = {0}, *all = malloc(env->size * sizeof *all);
    if (!all) {
        aq_log_error("out of memory for the tickets of %u ranks", env->size);
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = env->nbrhd_index == 0 ? aq_memfile_ticket(smp->fd, &mine) : AQ_OK;
    if (status == AQ_OK)
        status = env->boot->ops->exchange(env->boot, &mine, sizeof mine, all);
    *ticket = all[env->nbrhd[0]];
    free(all);
    return status;
}

// The first process of the neighbourhood creates the file.
static aq_status_t find_file(smp_conduit_t *smp)
{
    const aq_conduit_env_t *env = smp->mail.base.env;
    aq_memfile_ticket_t ticket;
    aq_status_t status = AQ_OK;
    if (env->nbrhd_index == 0)
        status = aq_memfile_create("gasnet-smp", smp->segments_offset, &smp->fd);
    if (status == AQ_OK && env->size > 1)
        status = share_ticket(smp, &ticket);
    if (status == AQ_OK && env->nbrhd_index != 0)
        status = aq_memfile_open(&ticket, &smp->fd);
    return status;
}

// The file has a mailbox and scratch for each rank that may join.
aq_status_t smp_memory_admit(aq_conduit_t *conduit, uint32_t joined)
{
    aq_memfile_ticket_t ticket;
    (void)joined;
    return share_ticket(smp_of(conduit), &ticket);
}

aq_status_t smp_memory_open(smp_conduit_t *smp)
{
    const aq_conduit_env_t *env = smp->mail.base.env;
    aq_mail_areas_t areas = {
        .stride = aq_mailbox_bytes(), .count = env->nbrhd_size, .index = env->nbrhd_index};
    smp->segments_offset = areas.count * (areas.stride + AQ_SCRATCH_BYTES);
    aq_status_t status = find_file(smp);
    if (status == AQ_OK)
        status = aq_memfile_map(smp->fd, 0, smp->segments_offset, (void **)&smp->shared);
    if (status != AQ_OK)
        return status;
    areas.first = smp->shared;
    smp->scratch = smp->shared + areas.count * areas.stride;
    aq_mail_open(&smp->mail, &areas);
    aq_mail_watch(&smp->mail);
    return AQ_OK;
}

// The processes of the neighbourhood that are there; others may join later.
static uint32_t count_present(const aq_conduit_env_t *env)
{
    uint32_t count = env->nbrhd_size;
    while (env->nbrhd[count - 1] >= aq_boot_present(env->boot))
        count--;
    return count;
}

// Finds addresses for the segments, with guards between them if the address space has room for
// these.
static aq_status_t find_places(const smp_conduit_t *smp, const uintptr_t *sizes, uintptr_t *places)
{
    const aq_conduit_env_t *env = smp->mail.base.env;
    const uint32_t present = count_present(env);
    for (uint32_t i = 0; i < present; i++)
        places[i] = segment_bytes(env, sizes[env->nbrhd[i]]);
    const size_t huge = segment_huge_page(env);
    if (aq_guarded_reserve(places, present, env->nbrhd_index, huge, true) ||
        aq_guarded_reserve(places, present, env->nbrhd_index, huge, false))
        return AQ_OK;
    aq_log_error("the segments of this host do not fit into the address space; ask for less or "
                 "raise the limit of virtual memory (ulimit -v)");
    return AQ_ERR_RESOURCE;
}

static aq_status_t map_segments(smp_conduit_t *smp, const uintptr_t *sizes, void **here)
{
    const aq_conduit_env_t *env = smp->mail.base.env;
    uintptr_t *places = malloc(env->nbrhd_size * sizeof *places);
    if (!places) {
        aq_log_error("out of memory for the segments of %u ranks", env->nbrhd_size);
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = find_places(smp, sizes, places);
    const int fd = env->segment_pool < 0 ? smp->fd : env->segment_pool;
    size_t end = env->segment_pool < 0 ? smp->segments_offset : 0;
    const uint32_t present = count_present(env);
    for (uint32_t i = 0; status == AQ_OK && i < present; i++) {
        const size_t size = segment_bytes(env, sizes[env->nbrhd[i]]);
        const size_t offset = segment_offset(env, end, size);
        here[env->nbrhd[i]] = (void *)places[i];
        if (i == env->nbrhd_index)
            smp->own_offset = offset;
        status = aq_memfile_map_at(fd, offset, size, (void *)places[i]);
        end = offset + size;
    }
    free(places);
    return status;
}

bool smp_memory_segment_file(aq_conduit_t *conduit, aq_memfile_ticket_t *file, uint64_t *offset)
{
    const smp_conduit_t *smp = smp_of(conduit);
    if (smp->fd < 0 || !smp->own_offset || aq_memfile_ticket(smp->fd, file) != AQ_OK)
        return false;
    *offset = smp->own_offset;
    return true;
}

// Makes room for the segments behind the scratch, one after the other.
static aq_status_t extend_file(const smp_conduit_t *smp, const uintptr_t *sizes)
{
    const aq_conduit_env_t *env = smp->mail.base.env;
    size_t end = smp->segments_offset;
    for (uint32_t i = 0; i < env->nbrhd_size; i++) {
        const size_t size = segment_bytes(env, sizes[env->nbrhd[i]]);
        end = segment_offset(env, end, size) + size;
    }
    const int error = env->nbrhd_index == 0 ? aq_memfile_resize(smp->fd, end) : 0;
    if (error == 0)
        return AQ_OK;
    aq_log_error("the segments of this host (%zu bytes) cannot be made: %s; ask for less or "
                 "raise the limit of the size of a file (ulimit -f)",
                 end - smp->segments_offset, strerror(error));
    return AQ_ERR_RESOURCE;
}

aq_status_t smp_memory_share_segments(aq_conduit_t *conduit, const uintptr_t *sizes, void **here)
{
    smp_conduit_t *smp = smp_of(conduit);
    aq_status_t status = conduit->env->segment_pool < 0 ? extend_file(smp, sizes) : AQ_OK;
    if (status == AQ_OK)
        status = map_segments(smp, sizes, here);
    if (status != AQ_OK)
        return status;
    if (conduit->env->boot->absent)
        return AQ_OK; // ranks that join open the file through this process
    close(smp->fd);
    smp->fd = -1;
    return AQ_OK;
}
