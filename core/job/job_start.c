// SPDX-License-Identifier: BSD-3-Clause
// The first steps of start_table.c: starts the bootstrap, finds hosts and neighbourhoods, allocates
// the peer table, and opens the conduits that registry.c finds.
#include "job_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../other/base/settings/exit_timeout.h"
#include "../../other/base/system/own_process.h"
#include "../../other/base/settings/profile.h"
#include "../../other/base/settings/settings.h"
#include "../am/am.h"
#include "../ground/fatal.h"
#include "../state/job.h"
#include "../state/job_groups.h"
#include "../publish/observer.h"
#include "../progress/progress.h"
#include "registry.h"
#include "../memory/segment_table.h"
#include "../endpoint/shift_table.h"

aq_status_t aq_job_find_hosts(const aq_job_request_t *request)
{
    (void)request;
    return aq_job_find_groups(&aq_job, (uint32_t)aq_settings_int(AQ_SET_SUPERNODE_MAXSIZE));
}

aq_status_t aq_job_allocate_peers(const aq_job_request_t *request)
{
    aq_job_t *job = &aq_job;
    (void)request;
    job->link = calloc(job->size, sizeof *job->link);
    job->shift = aq_shift_table_new(job->size);
    job->segment_addr = calloc(job->size, sizeof *job->segment_addr);
    job->segment_size = calloc(job->size, sizeof *job->segment_size);
    if (!job->link || !job->shift || !job->segment_addr || !job->segment_size) {
        aq_log_error("out of memory for the peer table of %u ranks", job->size);
        return AQ_ERR_RESOURCE;
    }
    for (uint32_t r = 0; r < job->size; r++)
        job->shift[r] = AQ_UNMAPPED;
    return AQ_OK;
}

// Exchanges the descriptions by which ranks reach each other over a conduit. A conduit with an
// empty description needs no table.
static aq_status_t exchange_descriptions(aq_job_t *job, unsigned index)
{
    aq_conduit_t *conduit = job->conduits[index];
    size_t length = conduit->ops->description_bytes;
    if (!length)
        return AQ_OK;
    char mine[AQ_DESCRIPTION_BYTES] = {0};
    conduit->ops->describe(conduit, mine);
    job->descriptions[index] = malloc(length * job->size);
    if (!job->descriptions[index]) {
        aq_log_error("out of memory for the network addresses of %u ranks (%zu bytes each)",
                     job->size, length);
        return AQ_ERR_RESOURCE;
    }
    return job->boot->ops->exchange(job->boot, mine, length, job->descriptions[index]);
}

// Returns the conduit for ranks that share memory: the named conduit if it is of that kind,
// otherwise the first one of that kind.
static const char *find_host_conduit(const char *network)
{
    char why[1024];
    size_t i = 0;
    (void)aq_registry_find(network, why, sizeof why); // reads the profile of a module
    if (aq_profile_find(network)->one_host)
        return network;
    while (!aq_profile_at(i)->one_host && i + 1 < aq_profile_count())
        i++;
    return aq_profile_at(i)->name;
}

// Finds the conduit of the host and the network. Hosts may differ in their installations and
// devices, so all ranks agree before anything is shared, and the first rank that cannot use a
// conduit logs the reason. A network that a job in one neighbourhood does not need must still exist
// by name.
static aq_status_t find_conduits(const aq_job_t *job, const char *const names[2],
                                 const aq_conduit_ops_t *found[2])
{
    const bool is_used[] = {true, job->nbrhd.groups > 1};
    char why[1024] = "", sentence[1100] = "";
    bool fine = true;
    for (unsigned i = 0; fine && i < 2; i++) {
        found[i] = aq_registry_find(names[i], why, sizeof why);
        fine = found[i] && (!is_used[i] || found[i]->usable(why, sizeof why));
        snprintf(sentence, sizeof sentence, "conduit %s cannot be used: %s", names[i], why);
        if (fine && is_used[i] && job->grows && !found[i]->admit) {
            snprintf(sentence, sizeof sentence,
                     "conduit %s cannot have ranks that start later: leave --reserve out, or use "
                     "conduit smp or udp",
                     names[i]);
            fine = false;
        }
    }
    return aq_boot_agree(job->boot, fine ? AQ_OK : AQ_ERR_ABSENT, sentence);
}

static aq_status_t open_conduit(aq_job_t *job, const aq_conduit_ops_t *ops)
{
    unsigned index = job->conduit_count;
    aq_status_t status = ops->open(&job->env, &job->conduits[index]);
    if (status != AQ_OK)
        return status;
    job->conduit_count++;
    aq_job_find_limits();
    return exchange_descriptions(job, index);
}

// Returns after rank 0 has logged the sentence, since the launcher ends the job when a rank leaves.
static aq_status_t refuse_network(const aq_job_t *job, const char *conduit)
{
    char sentence[256];
    snprintf(sentence, sizeof sentence,
             "conduit %s cannot reach across %u neighbourhoods: start all ranks on one host, and "
             "unset GASNET_SUPERNODE_MAXSIZE, or choose a network conduit with GASNET_CONDUIT",
             conduit, job->nbrhd.groups);
    return aq_boot_agree(job->boot, AQ_ERR_CONFIG, sentence);
}

// One conduit, smp unless the named conduit replaces it, serves the neighbourhood of this process;
// the named conduit serves all other ranks. The former is always open: even a rank that shares
// memory with no other uses it to send to itself, and for its segment and the scratch of its
// barriers.
aq_status_t aq_job_open_conduits(const aq_job_request_t *request)
{
    aq_job_t *job = &aq_job;
    const char *network = request->network;
    job->env = (aq_conduit_env_t){
        .boot = job->boot,
        .rank = job->rank,
        .size = job->size,
        .nbrhd_size = job->nbrhd.size,
        .nbrhd_index = job->nbrhd.my_index,
        .nbrhd = (const uint32_t *)job->nbrhd.members,
        .threads = aq_threads,
        .deferred = (request->flags & GEX_FLAG_DEFER_THREADS) != 0,
        .segment_mode = request->segment_mode,
        .segment_addr = job->segment_addr,
        .segment_size = job->segment_size,
        .segment_pool = -1,
        .exit_timeout_ns = aq_exit_timeout_ns(job->size),
        .deliver = aq_am_deliver,
        .segment_holds = aq_segment_holds,
        .poll_replies = aq_progress_poll_replies,
        .count_frame = aq_counts_frame,
        .go_on = aq_progress_go_on,
    };
    aq_observer_start();
    // Before ranks share anything: otherwise a rank would report that another rank is missing.
    const char *const names[] = {find_host_conduit(network), network};
    if (job->nbrhd.groups > 1 && strcmp(names[0], names[1]) == 0)
        return refuse_network(job, network);
    const aq_conduit_ops_t *found[2] = {0};
    aq_status_t status = find_conduits(job, names, found);
    if (status == AQ_OK)
        status = open_conduit(job, found[0]);
    if (status != AQ_OK || job->nbrhd.groups == 1)
        return status;
    atomic_store_explicit(&job->unused_conduits, job->nbrhd.size == 1, memory_order_relaxed);
    return open_conduit(job, found[1]);
}

void aq_job_close_conduits(void)
{
    for (unsigned i = 0; i < aq_job.conduit_count; i++)
        aq_job.conduits[i]->ops->close(aq_job.conduits[i]);
}

static void abort_job(int code)
{
    if (!aq_own_process())
        _exit(code);
    aq_job.boot->ops->abort(aq_job.boot, code);
}

aq_status_t aq_job_join(const aq_job_request_t *request)
{
    aq_job_t *job = &aq_job;
    aq_boot_t *boot;
    aq_status_t status = aq_boot_start(request->network, request->ranks, &boot);
    if (status != AQ_OK)
        return status;
    job->boot = boot;
    aq_fatal_end_job_with(abort_job);
    job->network = request->network;
    job->rank = boot->rank;
    job->size = boot->size;
    atomic_store(&job->absent, boot->absent);
    job->grows = boot->absent || boot->first;
    aq_log_identity(job->rank, aq_job_present());
    return AQ_OK;
}

void aq_job_leave(void)
{
    aq_job.boot->ops->finalize(aq_job.boot);
}
