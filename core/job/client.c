// SPDX-License-Identifier: BSD-3-Clause
// gex_Client_Init: checks the client, loads settings, joins the job (job_start.c), and starts
// observation and layers in their order. Also queries of client, job, hosts and neighbourhoods.
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/tools/debug_aids.h"
#include "../../other/mpi/mpi_library.h"
#include "../../other/base/settings/settings.h"
#include "../progress/progress_thread.h"
#include "exit.h"
#include "exit_broadcast.h"
#include "../ground/fatal.h"
#include "../memory/fault.h"
#include "../state/job.h"
#include "../state/job_groups.h"
#include "job_start.h"
#include "layers.h"
#include "../am/long_fragment.h"
#include "../am/loopback.h"
#include "pre_init_trap.h"
#include "../progress/progress.h"
#include "../record/rank_head.h"
#include "../publish/report.h"
#include "../publish/report_stack.h"
#include "../expose/segment.h"
#include "../expose/segment_revoke.h"
#include "../endpoint/team.h"
#include "../record/trace.h"
#include "../publish/trace_clock.h"
#include "../publish/trace_start.h"
#include "../publish/traffic_file.h"
#include "../am/window_connect.h"

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
    char err[512];
    aq_status_t status = aq_settings_load(err, sizeof err);
    if (status != AQ_OK)
        aq_log_error("%s", err);
    aq_log_quiet(aq_settings_bool(AQ_SET_QUIET));
    aq_log_verbose(aq_settings_bool(AQ_SET_SPAWN_VERBOSE));
    aq_thread_expect_helpers();
    return status;
}

static const char *wanted_conduit(void)
{
    return aq_settings_given(AQ_SET_CONDUIT) ? aq_settings_text(AQ_SET_CONDUIT) : link_conduit;
}

// Warns if the name of the launcher has selected another conduit than the program is linked for
// (GASNET_SPAWN_CONDUIT, "udp:gasnetrun_udp"). That works, but users should know.
static void tell_pairing(void)
{
    const char *choice = aq_settings_text(AQ_SET_SPAWN_CONDUIT), *colon = strchr(choice, ':');
    const char *used = wanted_conduit();
    size_t length = strlen(used);
    (void)unsetenv("GASNET_SPAWN_CONDUIT"); // not for jobs that this rank may start
    if (aq_job.rank != 0 || !colon || strcmp(used, link_conduit) == 0 ||
        (size_t)(colon - choice) != length || strncmp(choice, used, length) != 0)
        return;
    aq_log_warn("%s is linked for conduit %s but runs over %s, because %s starts it; start it with "
                "gasnetrun_%s, link it for %s, or set GASNET_CONDUIT=%s if this is meant",
                program_invocation_short_name, link_conduit, used, colon + 1, link_conduit, used,
                used);
}

static void make_objects(const char *name, gex_Flags_t flags)
{
    aq_client.name = strdup(name ? name : "");
    aq_client.flags = flags;
    aq_endpoint.client = &aq_client;
    aq_job.returns_errors = strcmp(aq_settings_text(AQ_SET_ERRORS), "return") == 0;
    aq_team_start(&aq_endpoint);
}

static int public_error(aq_status_t status)
{
    return status == AQ_ERR_ARG ? GASNET_ERR_BAD_ARG : GASNET_ERR_RESOURCE;
}

// Makes standard output line buffered. Lines in the buffer of the C library are lost when a rank
// ends without flushing, as most ranks do that another rank ends. Lines that pass through a
// launcher to a terminal should appear at once and whole, even if a library has chosen another
// buffer: an MPI may have removed it, and then lines would be written in pieces.
static void set_buffering(void)
{
    static char line[BUFSIZ];
    const bool untouched = __fbufsize(stdout) == 0; // neither written to nor given a buffer
    if (aq_settings_bool(AQ_SET_LINE_BUFFER) && (untouched || aq_job.boot->line_buffer))
        setvbuf(stdout, line, _IOLBF, sizeof line);
}

// Keeps the library, or the object that contains it, mapped until the process ends. A client that
// is a plug-in may be unloaded after its job, but signal handlers and ending threads still call the
// library, and other threads and ranks continue.
static void stay_loaded(void)
{
    Dl_info object;
    if (dladdr(&aq_client, &object) != 0)
        (void)dlopen(object.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static aq_segment_mode_t segment_mode(const char *name)
{
    return strcmp(name, "everything") == 0 ? AQ_SEGMENT_EVERYTHING
           : strcmp(name, "large") == 0    ? AQ_SEGMENT_LARGE
                                           : AQ_SEGMENT_FAST;
}

static void tell_settings(void)
{
    if (aq_settings_bool(AQ_SET_VERBOSEENV))
        aq_settings_print_given(stderr);
    else
        aq_settings_warn_ignored();
}

// Refuses GASNet-1 in a process that has joined: the nodes of GASNet-1 are the ranks from the start
// of the job.
static aq_status_t check_joined(gex_Flags_t flags)
{
    if (!aq_job.boot->first || !(flags & GEX_FLAG_USES_GASNET1))
        return AQ_OK;
    aq_log_error("a process that joins a running job (gasnetx_Job_Grow) cannot use GASNet-1: call "
                 "gex_Client_Init without GEX_FLAG_USES_GASNET1");
    return AQ_ERR_ARG;
}

static aq_status_t start_job(const char *name, uint32_t ranks, gex_Flags_t flags,
                             aq_segment_mode_t mode)
{
    // other conduits may have threads of their own
    aq_mpilib_one_thread = aq_thread_limit() == 1 && aq_profile_find(wanted_conduit())->needs_mpi;
    aq_exit_start();
    aq_fault_note_signals();
    aq_status_t status = aq_job_start(wanted_conduit(), ranks, mode);
    if (status == AQ_OK)
        status = check_joined(flags);
    if (status != AQ_OK)
        return status;
    stay_loaded();
    tell_pairing();
    set_buffering();
    if (aq_job.rank == 0)
        tell_settings();
    aq_exit_catch_signals();
    aq_debug_start(aq_job.rank);
    aq_fault_start();
    aq_report_start();
    aq_report_stack_start();
    aq_rank_file_start(aq_report_signal());
    if (mode == AQ_SEGMENT_EVERYTHING)
        aq_segment_everything();
    aq_traffic_start();
    aq_trace_start();
    make_objects(name, flags);
    aq_exit_broadcast_start();
    aq_long_fragment_start();
    aq_loopback_start();
    aq_window_connect_start();
    aq_trace_clock_register();
    aq_segment_revoke_start();
    aq_layers_start(aq_layer_table);
    status = aq_segment_agree_on_limit(); // also the barrier at the end of init
    aq_boot_meanwhile(aq_progress_poll);
    aq_job.boot->leave = aq_exit_returning;
    if (status == AQ_OK)
        status = aq_progress_threads_start(); // the handlers of the library are registered
    if (status == AQ_OK && aq_trace_wants(AQ_TRACE_ALL))
        aq_trace_clock_start();
    return status;
}

static aq_status_t init_client(const char *name, int *argc, char ***argv, gex_Flags_t flags,
                               const aq_api_build_t *build)
{
    uint32_t ranks;
    aq_status_t status = check_build(build);
    if (status == AQ_OK)
        status = load_settings();
    if (status == AQ_OK)
        status = aq_boot_ask_module(link_conduit);
    if (status == AQ_OK)
        status = aq_boot_take_ranks(link_conduit, argc, argv, &ranks);
    if (status == AQ_OK)
        status = start_job(name, ranks, flags, segment_mode(build->segment));
    return status;
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
    return GASNET_HIDDEN_AM_CONCURRENCY_LEVEL;
}

int gex_System_QueryProgressThreads(gex_Client_t client, unsigned int *count_p,
                                    const gex_ProgressThreadInfo_t **info_p, gex_Flags_t flags)
{
    aq_job_need("gex_System_QueryProgressThreads");
    if (!count_p || !info_p || flags)
        return GASNET_ERR_BAD_ARG;
    if (!(client->flags & GEX_FLAG_DEFER_THREADS))
        return GASNET_ERR_RESOURCE;
    *count_p = 0;
    *info_p = NULL;
    return GASNET_OK;
}

char *gasnet_getenv(const char *name)
{
    return getenv(name);
}
