// SPDX-License-Identifier: BSD-3-Clause
// Computes hosts and neighbourhoods from the bootstrap's table of hosts. job_start.c asks once for
// those of this rank; queries, teams and the traffic matrix ask later for those of all ranks.
#include "job_groups.h"

#include <stdlib.h>

#include "../../other/base/minmax.h"
#include "../../other/base/settings/settings.h"
#include "../ground/fatal.h"

// The number of a rank's group on its host. A group has at most limit consecutive ranks of the host
// (0: no limit).
static uint32_t run_of(uint32_t place_on_host, uint32_t limit)
{
    return limit ? place_on_host / limit : 0;
}

static aq_status_t make_group(aq_group_t *group, const uint32_t *ranks, uint32_t count,
                              uint32_t my_rank)
{
    uint32_t *members = malloc(count * sizeof *members);
    if (!members) {
        aq_log_error("out of memory for the list of %u ranks of this host", count);
        return AQ_ERR_RESOURCE;
    }
    for (uint32_t i = 0; i < count; i++) {
        members[i] = ranks[i];
        if (ranks[i] == my_rank)
            group->my_index = i;
    }
    group->members = (gex_RankInfo_t *)(void *)members;
    group->size = count;
    return AQ_OK;
}

// Groups are numbered by the order in which their first rank appears.
static void number_groups(aq_job_t *job, uint32_t *place, uint32_t limit)
{
    uint32_t mine = run_of(place[job->rank], limit);
    for (uint32_t r = 0; r < job->size; r++) {
        bool first_of_host = place[r] == 0;
        bool first_of_nbrhd = limit ? place[r] % limit == 0 : first_of_host;
        bool my_host = job->boot->host_of_rank[r] == job->boot->host_of_rank[job->rank];
        if (first_of_host && my_host)
            job->host.my_group = job->host.groups;
        if (first_of_nbrhd && my_host && run_of(place[r], limit) == mine)
            job->nbrhd.my_group = job->nbrhd.groups;
        job->host.groups += first_of_host;
        job->nbrhd.groups += first_of_nbrhd;
    }
}

aq_status_t aq_job_find_groups(aq_job_t *job, uint32_t limit)
{
    const uint32_t *host = job->boot->host_of_rank;
    uint32_t *place = calloc(job->size, sizeof *place); // of each rank among those of its host
    uint32_t *seen = calloc(job->size, sizeof *seen);   // ranks of each host so far
    // The ranks of my host, then those of my neighbourhood.
    uint32_t *here = calloc(job->size, 2 * sizeof *here);
    aq_status_t status = AQ_ERR_RESOURCE;
    if (!place || !seen || !here) {
        aq_log_error("out of memory for the list of %u ranks", job->size);
        goto err_free;
    }
    for (uint32_t r = 0; r < job->size; r++)
        place[r] = seen[host[r]]++;
    uint32_t on_host = 0, in_nbrhd = 0, *nbrhd = here + job->size;
    for (uint32_t r = 0; r < job->size; r++) {
        if (host[r] != host[job->rank])
            continue;
        here[on_host++] = r;
        if (run_of(place[r], limit) == run_of(place[job->rank], limit))
            nbrhd[in_nbrhd++] = r;
    }
    number_groups(job, place, limit);
    status = make_group(&job->host, here, on_host, job->rank);
    if (status == AQ_OK)
        status = make_group(&job->nbrhd, nbrhd, in_nbrhd, job->rank);
err_free:
    free(place);
    free(seen);
    free(here);
    return status;
}

// One pass: counts the ranks of each host, and keeps the number of the host and of its latest
// group.
aq_group_numbers_t *aq_job_group_numbers(void)
{
    uint32_t limit = (uint32_t)aq_settings_int(AQ_SET_SUPERNODE_MAXSIZE);
    uint32_t hosts = 0, nbrhds = 0, *seen = calloc(aq_job.size, sizeof *seen);
    aq_group_numbers_t *latest = calloc(aq_job.size, sizeof *latest);
    aq_group_numbers_t *numbers = calloc(aq_job.size, sizeof *numbers);
    for (uint32_t r = 0; seen && latest && numbers && r < aq_job.size; r++) {
        uint32_t host = aq_job.boot->host_of_rank[r], place = seen[host]++;
        if (place == 0)
            latest[host].host = hosts++;
        if (limit ? place % limit == 0 : place == 0)
            latest[host].nbrhd = nbrhds++;
        numbers[r] = latest[host];
    }
    if (!seen || !latest || !numbers) {
        aq_log_error("out of memory for the group numbers of %u ranks", aq_job.size);
        free(numbers);
        numbers = NULL;
    }
    free(seen);
    free(latest);
    return numbers;
}

// Groups are numbered in the order of their first ranks, so the largest number that a started rank
// has gives the count.
void aq_job_count_groups(uint32_t *hosts, uint32_t *nbrhds)
{
    const uint32_t present = aq_job_present();
    *hosts = aq_job.host.groups;
    *nbrhds = aq_job.nbrhd.groups;
    if (present == aq_job.size)
        return;
    aq_group_numbers_t *numbers = aq_job_group_numbers();
    if (!numbers)
        aq_fatal("out of memory for the groups of %u ranks", aq_job.size);
    *hosts = *nbrhds = 0;
    for (uint32_t r = 0; r < present; r++) {
        *hosts = aq_max(*hosts, numbers[r].host + 1);
        *nbrhds = aq_max(*nbrhds, numbers[r].nbrhd + 1);
    }
    free(numbers);
}
