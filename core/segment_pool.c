#include "segment_pool.h"

#include <stdlib.h>
#include <unistd.h>

#include "../other/base/log.h"
#include "../other/base/memfile.h"
#include "../other/base/settings.h"
#include "job.h"

// Of all segments of the neighbourhood; 0: one of them is smaller than a huge page.
static size_t pool_bytes(void)
{
    const aq_conduit_env_t *env = &aq_job.env;
    size_t bytes = 0;
    for (uint32_t i = 0; i < env->nbrhd_size; i++) {
        const uintptr_t size = env->segment_size[env->nbrhd[i]];
        if (size < AQ_HUGE_PAGE)
            return 0;
        bytes += (size + AQ_HUGE_PAGE - 1) / AQ_HUGE_PAGE * AQ_HUGE_PAGE;
    }
    return bytes;
}

// In the first process of the neighbourhood. Leaves *ticket alone if there is no file.
static aq_status_t pool_create(aq_memfile_ticket_t *ticket)
{
    const size_t bytes = pool_bytes();
    int *fd = &aq_job.env.segment_pool;
    if (!bytes || aq_memfile_try_create_huge("gasnet-segments", bytes, fd) != 0)
        return AQ_OK;
    if (aq_settings_bool(AQ_SET_VERBOSE))
        aq_log_notice("the segments of this host have %zu huge pages of the pool of the system",
                      bytes / AQ_HUGE_PAGE);
    return aq_memfile_ticket(*fd, ticket);
}

aq_status_t aq_segment_pool_open(void)
{
    const aq_conduit_env_t *env = &aq_job.env;
    aq_memfile_ticket_t mine = {0}, *all = malloc(aq_job.size * sizeof *all);
    if (!all) {
        aq_log_error("out of memory for the tickets of %u ranks", aq_job.size);
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = env->nbrhd_index == 0 ? pool_create(&mine) : AQ_OK;
    if (status == AQ_OK)
        status = env->boot->ops->exchange(env->boot, &mine, sizeof mine, all);
    const aq_memfile_ticket_t ticket = status == AQ_OK ? all[env->nbrhd[0]] : mine;
    free(all);
    if (status == AQ_OK && env->nbrhd_index != 0 && ticket.pid)
        status = aq_memfile_open(&ticket, &aq_job.env.segment_pool);
    return status;
}

void aq_segment_pool_close(void)
{
    if (aq_job.env.segment_pool >= 0)
        close(aq_job.env.segment_pool);
}
