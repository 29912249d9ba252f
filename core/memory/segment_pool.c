// SPDX-License-Identifier: BSD-3-Clause
// Makes the file of huge pages: the first process of the neighbourhood creates it, the others open
// it. expose/segment.c calls it before a conduit maps the segments.
#include "segment_pool.h"

#include <stdlib.h>
#include <unistd.h>

#include "../../other/base/memory/huge_pages.h"
#include "../ground/fatal.h"
#include "../../other/base/memory/memfile.h"
#include "../../other/base/settings/settings.h"
#include "../state/job.h"

// The bytes of all segments of the neighbourhood in whole pages; 0: a segment is smaller than a
// page.
static size_t pool_bytes(size_t page)
{
    const aq_conduit_env_t *env = &aq_job.env;
    size_t bytes = 0;
    for (uint32_t i = 0; i < env->nbrhd_size; i++) {
        const uintptr_t size = env->segment_size[env->nbrhd[i]];
        if (size < page)
            return 0;
        bytes += (size + page - 1) / page * page;
    }
    return bytes;
}

static void pool_tell(size_t pages, size_t page)
{
    if (aq_settings_bool(AQ_SET_VERBOSE))
        aq_log_notice("the segments of this host have %zu huge pages of %zu MiB of the pool of the "
                      "system",
                      pages, page >> 20);
}

// Makes the file from the largest pages of which the system has enough. Returns whether it did.
static bool pool_find(void)
{
    size_t pages[AQ_HUGE_PAGE_SIZES];
    const unsigned count = aq_huge_page_sizes(pages);
    int *fd = &aq_job.env.segment_pool;
    for (unsigned i = 0; i < count; i++) {
        const size_t bytes = pool_bytes(pages[i]);
        if (!bytes || aq_memfile_try_create_huge("gasnet-segments", bytes, pages[i], fd) != 0)
            continue;
        pool_tell(bytes / pages[i], pages[i]);
        return true;
    }
    return false;
}

// In the first process of the neighbourhood. Leaves *ticket alone if there is no file.
static aq_status_t pool_create(aq_memfile_ticket_t *ticket)
{
    return pool_find() ? aq_memfile_ticket(aq_job.env.segment_pool, ticket) : AQ_OK;
}

aq_status_t aq_segment_pool_open(void)
{
    const aq_conduit_env_t *env = &aq_job.env;
    aq_memfile_ticket_t mine = {0};
    aq_memfile_ticket_t *all = aq_allocate(aq_job.size * sizeof *all, "the tickets of all ranks");
    aq_status_t status = env->nbrhd_index == 0 ? pool_create(&mine) : AQ_OK;
    if (status == AQ_OK)
        status = env->boot->ops->exchange(env->boot, &mine, sizeof mine, all);
    const aq_memfile_ticket_t ticket = status == AQ_OK ? all[env->nbrhd[0]] : mine;
    free(all);
    if (status == AQ_OK && env->nbrhd_index != 0 && ticket.pid)
        status = aq_memfile_open(&ticket, &aq_job.env.segment_pool);
    if (aq_job.env.segment_pool >= 0)
        aq_job.env.segment_page = aq_memfile_page(aq_job.env.segment_pool);
    return status;
}

void aq_segment_pool_close(void)
{
    if (aq_job.env.segment_pool >= 0)
        close(aq_job.env.segment_pool);
}
