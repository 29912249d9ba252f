// The memory of the smp conduit: one anonymous file that holds the mailboxes, the scratch and the
// segments of a neighbourhood.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../other/base/log.h"
#include "gasnetex_core.h"
#include "smp_conduit.h"

enum { PAGE = GASNET_PAGESIZE };

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

// The first process of the neighbourhood creates the file. An exchange sends the ticket with which
// others open it to all ranks.
static aq_status_t find_file(smp_conduit_t *smp)
{
    const aq_conduit_env_t *env = smp->mail.base.env;
    aq_memfile_ticket_t mine = {0};
    aq_status_t status = AQ_OK;
    if (env->nbrhd_index == 0) {
        status = aq_memfile_create("gasnet-smp", smp->segments_offset, &smp->fd);
        if (status == AQ_OK)
            status = aq_memfile_ticket(smp->fd, &mine);
    }
    if (status != AQ_OK || env->size == 1)
        return status;
    aq_memfile_ticket_t *all = malloc(env->size * sizeof *all);
    if (!all) {
        aq_log_error("out of memory for the tickets of %u ranks", env->size);
        return AQ_ERR_RESOURCE;
    }
    status = env->boot->ops->exchange(env->boot, &mine, sizeof mine, all);
    if (status == AQ_OK && env->nbrhd_index != 0)
        status = aq_memfile_open(&all[env->nbrhd[0]], &smp->fd);
    free(all);
    return status;
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
    return AQ_OK;
}

// Maps all segments with a guard on both sides of each, that of this process last: if the processes
// have the same base, a segment is lower here than in its owner, so that the owner's address NULL
// is not one of this process and faults. Returns AQ_ERR_ABSENT if there is no room for the guards.
static aq_status_t map_guarded(const smp_conduit_t *smp, const uintptr_t *sizes, size_t total,
                               void **here)
{
    const aq_conduit_env_t *env = smp->mail.base.env;
    const uint32_t count = env->nbrhd_size;
    const size_t room = total + (count + (size_t)1) * AQ_SEGMENT_GUARD;
    char *base = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    aq_status_t status = base == MAP_FAILED ? AQ_ERR_ABSENT : AQ_OK;
    char *at = base + room;
    for (uint32_t k = 0; status == AQ_OK && k < count; k++) {
        const uint32_t i = (env->nbrhd_index + count - k) % count;
        at -= round_up(sizes[env->nbrhd[i]], PAGE) + AQ_SEGMENT_GUARD;
        here[env->nbrhd[i]] = at;
    }
    size_t offset = smp->segments_offset;
    for (uint32_t i = 0; status == AQ_OK && i < count; i++) {
        const size_t size = round_up(sizes[env->nbrhd[i]], PAGE);
        status = aq_memfile_map_at(smp->fd, offset, size, here[env->nbrhd[i]]);
        offset += size;
    }
    return status;
}

// Maps all segments at once.
static aq_status_t map_plain(const smp_conduit_t *smp, const uintptr_t *sizes, size_t total,
                             void **here)
{
    const aq_conduit_env_t *env = smp->mail.base.env;
    char *base;
    aq_status_t status = aq_memfile_map(smp->fd, smp->segments_offset, total, (void **)&base);
    for (uint32_t i = 0; status == AQ_OK && i < env->nbrhd_size; i++) {
        here[env->nbrhd[i]] = base;
        base += round_up(sizes[env->nbrhd[i]], PAGE);
    }
    return status;
}

// The segments lie behind the scratch, one after the other.
aq_status_t smp_memory_share_segments(aq_conduit_t *conduit, const uintptr_t *sizes, void **here)
{
    smp_conduit_t *smp = smp_of(conduit);
    const aq_conduit_env_t *env = conduit->env;
    size_t total = 0;
    for (uint32_t i = 0; i < env->nbrhd_size; i++)
        total += round_up(sizes[env->nbrhd[i]], PAGE);
    int error =
        env->nbrhd_index == 0 ? aq_memfile_resize(smp->fd, smp->segments_offset + total) : 0;
    if (error != 0) {
        aq_log_error("the segments of this host (%zu bytes) cannot be made: %s; ask for less or "
                     "raise the limit of the size of a file (ulimit -f)",
                     total, strerror(error));
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = map_guarded(smp, sizes, total, here);
    if (status == AQ_ERR_ABSENT)
        status = map_plain(smp, sizes, total, here);
    if (status != AQ_OK)
        return status;
    close(smp->fd);
    smp->fd = -1;
    return AQ_OK;
}
