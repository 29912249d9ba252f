// SPDX-License-Identifier: BSD-3-Clause
// gex_Client_Init: checks the client, loads settings, and takes the steps of start_table.c. Also
// queries of client, job, hosts and neighbourhoods.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/settings/settings.h"
#include "../state/job.h"
#include "../state/job_groups.h"
#include "start_steps.h"
#include "pre_init_trap.h"
#include "../endpoint/team.h"

struct gex_client aq_client;

static char link_conduit[16]; // "smp" of "smp par": the default conduit

// Refuses a client that was compiled for another version or thread mode than the library that it is
// linked with.
static aq_status_t check_build(const aq_api_build_t *build)
{
    if (build->abi != AQ_API_ABI || build->tm_head_bytes != sizeof(struct gex_tm)) {
        aq_log_error("this program was compiled against version %u of the library's binary "
                     "interface, the library has version %u: compile it again with the headers of "
                     "this installation",
                     build->abi, AQ_API_ABI);
        return AQ_ERR_ARG;
    }
    const char *blank = strchr(build->link, ' ');
    if (!blank || (*build->mode && strcmp(blank + 1, build->mode) != 0)) {
        aq_log_error("this program was compiled for thread mode %s but is linked with a library of "
                     "'%s': link -lgasnet-<conduit>-%s",
                     build->mode, build->link, build->mode);
        return AQ_ERR_ARG;
    }
    snprintf(link_conduit, sizeof link_conduit, "%.*s", (int)(blank - build->link), build->link);
    return aq_thread_mode(blank + 1) ? AQ_OK : AQ_ERR_ARG;
}

static aq_status_t load_settings(void)
{
    const aq_status_t status = aq_settings_load_logged();
    aq_log_quiet(aq_settings_bool(AQ_SET_QUIET));
    aq_log_verbose(aq_settings_bool(AQ_SET_SPAWN_VERBOSE));
    aq_thread_expect_helpers();
    return status;
}

static const char *wanted_conduit(void)
{
    return aq_settings_given(AQ_SET_CONDUIT) ? aq_settings_text(AQ_SET_CONDUIT) : link_conduit;
}

static int public_error(aq_status_t status)
{
    return status == AQ_ERR_ARG ? GASNET_ERR_BAD_ARG : GASNET_ERR_RESOURCE;
}

static aq_segment_mode_t segment_mode(const char *name)
{
    return strcmp(name, "everything") == 0 ? AQ_SEGMENT_EVERYTHING
           : strcmp(name, "large") == 0    ? AQ_SEGMENT_LARGE
                                           : AQ_SEGMENT_FAST;
}

static aq_status_t init_client(const char *name, int *argc, char ***argv, gex_Flags_t flags,
                               const aq_api_build_t *build)
{
    aq_job_request_t request = {.client = name, .linked = link_conduit, .flags = flags};
    aq_status_t status = check_build(build);
    if (status == AQ_OK)
        status = load_settings();
    if (status == AQ_OK)
        status = aq_boot_ask_module(link_conduit);
    if (status == AQ_OK)
        status = aq_boot_take_ranks(link_conduit, argc, argv, &request.ranks);
    if (status != AQ_OK)
        return status;
    request.network = wanted_conduit();
    request.segment_mode = segment_mode(build->segment);
    return aq_steps_start(aq_start_table, &request);
}

// Marks the job as failed, so that later calls detect that there is none.
static void end_failed_start(void)
{
    aq_job.failed = true;
    aq_job.rank = aq_job.size = 0;
    aq_pre_init_trap_catch();
}

static int refuse_again(const char *call)
{
    if (aq_job.size)
        aq_log_error("%s was called a second time: one client a process is supported", call);
    else
        aq_log_error("%s failed before, when the job had begun to start: end the program", call);
    return GASNET_ERR_NOT_INIT;
}

static int join_job(const char *name, int *argc, char ***argv, gex_Flags_t flags,
                    const aq_api_build_t *build)
{
    if (aq_job_running())
        return refuse_again("gex_Client_Init");
    aq_pre_init_trap_leave();
    aq_boot_begin_start();
    aq_status_t status = init_client(name, argc, argv, flags, build);
    aq_boot_end_start();
    if (status == AQ_OK)
        return GASNET_OK;
    aq_job_exit_if_ended();
    end_failed_start();
    return public_error(status);
}

int aq_api_client_init(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p, const char *name,
                       int *argc, char ***argv, gex_Flags_t flags, const aq_api_build_t *build)
{
    static atomic_flag joining = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&joining)) {
        aq_log_error("gex_Client_Init was called while another thread is in it: one thread of a "
                     "process calls it");
        return GASNET_ERR_NOT_INIT;
    }
    int result = join_job(name, argc, argv, flags, build);
    atomic_flag_clear(&joining);
    if (result != GASNET_OK)
        return result;
    if (client_p)
        *client_p = &aq_client;
    if (ep_p)
        *ep_p = &aq_endpoint;
    if (tm_p)
        *tm_p = &aq_team.head;
    return GASNET_OK;
}

gex_Flags_t gex_Client_QueryFlags(gex_Client_t client)
{
    aq_job_need("gex_Client_QueryFlags");
    return client->flags;
}

const char *gex_Client_QueryName(gex_Client_t client)
{
    aq_job_need("gex_Client_QueryName");
    return client->name;
}

void gex_Client_SetCData(gex_Client_t client, const void *val)
{
    aq_job_need("gex_Client_SetCData");
    client->cdata = (void *)(uintptr_t)val;
}

void *gex_Client_QueryCData(gex_Client_t client)
{
    aq_job_need("gex_Client_QueryCData");
    return client->cdata;
}

gex_Rank_t gex_System_QueryJobRank(void)
{
    aq_job_need("gex_System_QueryJobRank");
    return aq_job.rank;
}

gex_Rank_t gex_System_QueryJobSize(void)
{
    aq_job_need("gex_System_QueryJobSize");
    return aq_job_present();
}

// Members are in ascending order, so those that have been started come first.
static void report_group(const aq_group_t *group, gex_RankInfo_t **info_p, gex_Rank_t *count_p,
                         gex_Rank_t *index_p)
{
    const uint32_t present = aq_job_present();
    gex_Rank_t count = group->size;
    while (group->members[count - 1].gex_jobrank >= present)
        count--;
    if (info_p)
        *info_p = group->members;
    if (count_p)
        *count_p = count;
    if (index_p)
        *index_p = group->my_index;
}

void gex_System_QueryNbrhdInfo(gex_RankInfo_t **info_p, gex_Rank_t *count_p, gex_Rank_t *index_p)
{
    aq_job_need("gex_System_QueryNbrhdInfo");
    report_group(&aq_job.nbrhd, info_p, count_p, index_p);
}

void gex_System_QueryHostInfo(gex_RankInfo_t **info_p, gex_Rank_t *count_p, gex_Rank_t *index_p)
{
    aq_job_need("gex_System_QueryHostInfo");
    report_group(&aq_job.host, info_p, count_p, index_p);
}

void gex_System_QueryMyPosition(gex_Rank_t *nbrhd_size_p, gex_Rank_t *nbrhd_rank_p,
                                gex_Rank_t *host_size_p, gex_Rank_t *host_rank_p)
{
    aq_job_need("gex_System_QueryMyPosition");
    gex_Rank_t hosts, nbrhds;
    aq_job_count_groups(&hosts, &nbrhds);
    if (nbrhd_size_p)
        *nbrhd_size_p = nbrhds;
    if (nbrhd_rank_p)
        *nbrhd_rank_p = aq_job.nbrhd.my_group;
    if (host_size_p)
        *host_size_p = hosts;
    if (host_rank_p)
        *host_rank_p = aq_job.host.my_group;
}

uint64_t gex_System_QueryMaxThreads(void)
{
    return aq_thread_limit();
}

int gex_System_QueryHiddenAMConcurrencyLevel(void)
{
    aq_job_need("gex_System_QueryHiddenAMConcurrencyLevel");
    return aq_threads && aq_settings_bool(AQ_SET_RCV_THREAD);
}

char *gasnet_getenv(const char *name)
{
    return getenv(name);
}
