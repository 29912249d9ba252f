// Where rings, scratch and segments live: one anonymous file for the neighbourhood.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../core/gasnetex_core.h"
#include "../../other/log.h"
#include "../../other/settings.h"
#include "smp_conduit.h"

enum { PAGE = GASNET_PAGESIZE };

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

// A ring holds GASNET_PSHM_NETWORK_DEPTH payloads of the largest Medium, rounded up to a power
// of two.
static size_t ring_lines(void)
{
    size_t wanted = (size_t)aq_settings_int(AQ_SET_PSHM_NETWORK_DEPTH) * SMP_MAX_MEDIUM / SMP_LINE;
    size_t lines = 1;
    while (lines < wanted)
        lines *= 2;
    return lines;
}

static char *process_area(const smp_conduit_t *smp, uint32_t index)
{
    return smp->shared + index * smp->bytes_per_process;
}

static char *ring_area(const smp_conduit_t *smp, uint32_t index, unsigned ring)
{
    return process_area(smp, index) + round_up(sizeof(smp_process_t), PAGE) +
           ring * smp->ring_lines * SMP_LINE;
}

static void plan(smp_conduit_t *smp)
{
    const aq_conduit_env_t *env = smp->base.env;
    smp->ring_lines = ring_lines();
    smp->bytes_per_process = round_up(sizeof(smp_process_t), PAGE) + 2 * smp->ring_lines * SMP_LINE;
    smp->segments_offset = env->nbrhd_size * (smp->bytes_per_process + AQ_SCRATCH_BYTES);
    memcpy(&smp->key, env->boot->key, sizeof smp->key);
    smp->key |=
        (uint64_t)1 << 63; // no position, and not the zero of fresh memory, is taken for a flag
}

// The first process of the neighbourhood makes the file; the ticket to open it goes to all ranks.
static aq_status_t find_file(smp_conduit_t *smp)
{
    const aq_conduit_env_t *env = smp->base.env;
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

smp_process_t *smp_memory_process(const smp_conduit_t *smp, uint32_t index)
{
    return (smp_process_t *)(void *)process_area(smp, index);
}

static void set_up_own_rings(smp_conduit_t *smp)
{
    uint32_t me = smp->base.env->nbrhd_index;
    smp_process_t *process = smp_memory_process(smp, me);
    smp->doorbell = &process->doorbell;
    smp->asleep = &smp_memory_process(smp, 0)->asleep;
    for (unsigned i = 0; i < 2; i++)
        smp->in[i] = (smp_ring_in_t){
            .control = &process->ring[i],
            .lines = ring_area(smp, me, i),
            .count = smp->ring_lines,
            .key = smp->key,
        };
}

aq_status_t smp_memory_open(smp_conduit_t *smp)
{
    const aq_conduit_env_t *env = smp->base.env;
    plan(smp);
    aq_status_t status = find_file(smp);
    if (status == AQ_OK)
        status = aq_memfile_map(smp->fd, 0, smp->segments_offset, (void **)&smp->shared);
    if (status != AQ_OK)
        return status;
    smp->scratch = smp->shared + env->nbrhd_size * smp->bytes_per_process;
    set_up_own_rings(smp);
    return AQ_OK;
}

void smp_memory_link(smp_conduit_t *smp, uint32_t index, smp_link_t *link)
{
    smp_process_t *process = smp_memory_process(smp, index);
    link->doorbell = &process->doorbell;
    for (unsigned i = 0; i < 2; i++)
        link->out[i] = (smp_ring_out_t){
            .control = &process->ring[i],
            .lines = ring_area(smp, index, i),
            .count = smp->ring_lines,
            .key = smp->key,
        };
}

// All segments lie in one run behind the scratch; everybody maps the run whole.
aq_status_t smp_memory_share_segments(aq_conduit_t *conduit, const uintptr_t *sizes, void **here)
{
    smp_conduit_t *smp = smp_of(conduit);
    const aq_conduit_env_t *env = conduit->env;
    size_t total = 0;
    for (uint32_t i = 0; i < env->nbrhd_size; i++)
        total += round_up(sizes[env->nbrhd[i]], PAGE);
    if (env->nbrhd_index == 0 && ftruncate(smp->fd, (off_t)(smp->segments_offset + total)) != 0) {
        aq_log_error("the segments of this host (%zu bytes) cannot be made: %s; ask for less or "
                     "raise the limit of file "
                     "sizes (ulimit -f)",
                     total, strerror(errno));
        return AQ_ERR_RESOURCE;
    }
    char *base;
    aq_status_t status = aq_memfile_map(smp->fd, smp->segments_offset, total, (void **)&base);
    if (status != AQ_OK)
        return status;
    close(smp->fd);
    smp->fd = -1;
    for (uint32_t i = 0; i < env->nbrhd_size; i++) {
        here[env->nbrhd[i]] = base;
        base += round_up(sizes[env->nbrhd[i]], PAGE);
    }
    return AQ_OK;
}
