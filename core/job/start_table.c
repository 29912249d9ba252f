// SPDX-License-Identifier: BSD-3-Clause
// The table of steps by which this process joins a job, and the steps that need no file of their
// own.
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/settings/profile.h"
#include "../../other/base/settings/settings.h"
#include "../../other/mpi/mpi_library.h"
#include "../../other/tools/debug_aids.h"
#include "../am/long_fragment.h"
#include "../am/loopback.h"
#include "../am/window_connect.h"
#include "../endpoint/team.h"
#include "../expose/segment.h"
#include "../expose/segment_revoke.h"
#include "../memory/cma_copy.h"
#include "../memory/cma_read.h"
#include "../memory/fault.h"
#include "../progress/poll_loop.h"
#include "../progress/progress.h"
#include "../progress/progress_thread.h"
#include "../publish/report.h"
#include "../publish/report_stack.h"
#include "../publish/stats_file.h"
#include "../publish/trace_clock.h"
#include "../publish/trace_output.h"
#include "../publish/trace_start.h"
#include "../publish/traffic_file.h"
#include "../record/rank_head.h"
#include "../state/job.h"
#include "exit.h"
#include "exit_broadcast.h"
#include "job_start.h"
#include "layers.h"
#include "start_steps.h"

// ---- bootstrap, conduits ----

// Other conduits than those over MPI may have threads of their own.
static aq_status_t limit_mpi_threads(const aq_job_request_t *request)
{
    aq_mpilib_one_thread = aq_thread_limit() == 1 && aq_profile_find(request->network)->needs_mpi;
    return AQ_OK;
}

static void start_progress(void)
{
    aq_progress_start(aq_job.host.size);
}

// Refuses GASNet-1 in a process that has joined: the nodes of GASNet-1 are the ranks from the start
// of the job.
static aq_status_t check_joined(const aq_job_request_t *request)
{
    if (!aq_job.boot->first || !(request->flags & GEX_FLAG_USES_GASNET1))
        return AQ_OK;
    aq_log_error("a process that joins a running job (gasnetx_Job_Grow) cannot use GASNet-1: call "
                 "gex_Client_Init without GEX_FLAG_USES_GASNET1");
    return AQ_ERR_ARG;
}

// ---- watch ----

// Keeps the library, or the object that contains it, mapped until the process ends. A client that
// is a plug-in may be unloaded after its job, but signal handlers and ending threads still call the
// library, and other threads and ranks continue.
static void stay_loaded(void)
{
    Dl_info object;
    if (dladdr(&aq_client, &object) != 0)
        (void)dlopen(object.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

// Warns if the name of the launcher has selected another conduit than the program is linked for
// (GASNET_SPAWN_CONDUIT, "udp:gasnetrun_udp"). That works, but users should know.
static aq_status_t tell_pairing(const aq_job_request_t *request)
{
    const char *choice = aq_settings_text(AQ_SET_SPAWN_CONDUIT), *colon = strchr(choice, ':');
    const char *used = request->network, *linked = request->linked;
    size_t length = strlen(used);
    (void)unsetenv("GASNET_SPAWN_CONDUIT"); // not for jobs that this rank may start
    if (aq_job.rank == 0 && colon && strcmp(used, linked) != 0 &&
        (size_t)(colon - choice) == length && strncmp(choice, used, length) == 0)
        aq_log_warn("%s is linked for conduit %s but runs over %s, because %s starts it; start it "
                    "with gasnetrun_%s, link it for %s, or set GASNET_CONDUIT=%s if this is meant",
                    program_invocation_short_name, linked, used, colon + 1, linked, used, used);
    return AQ_OK;
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

static void tell_settings(void)
{
    if (aq_job.rank != 0)
        return;
    if (aq_settings_bool(AQ_SET_VERBOSEENV))
        aq_settings_print_given(stderr);
    else
        aq_settings_warn_ignored();
}

static void start_debug_aids(void)
{
    aq_debug_start(aq_job.rank);
}

static void start_rank_file(void)
{
    aq_rank_file_start(aq_report_signal());
}

static aq_status_t note_segment_mode(const aq_job_request_t *request)
{
    if (request->segment_mode == AQ_SEGMENT_EVERYTHING)
        aq_segment_everything();
    return AQ_OK;
}

static void end_trace(void)
{
    aq_trace_write();
    aq_stats_file_end();
}

// ---- objects, messages ----

static aq_status_t make_objects(const aq_job_request_t *request)
{
    aq_client.name = strdup(request->client ? request->client : "");
    aq_client.flags = request->flags;
    aq_endpoint.client = &aq_client;
    aq_job.returns_errors = strcmp(aq_settings_text(AQ_SET_ERRORS), "return") == 0;
    aq_team_start(&aq_endpoint);
    return AQ_OK;
}

static void start_layers(void)
{
    aq_layers_start(aq_layer_table);
}

// The ranks meet. Afterwards waits in the bootstrap poll, and an exit of main leaves the job.
static aq_status_t meet(const aq_job_request_t *request)
{
    (void)request;
    const aq_status_t status = aq_segment_agree_on_limit();
    aq_boot_meanwhile(aq_progress_poll);
    aq_job.boot->leave = aq_exit_returning;
    return status;
}

static aq_status_t start_progress_threads(const aq_job_request_t *request)
{
    return aq_progress_threads_start((request->flags & GEX_FLAG_DEFER_THREADS) != 0);
}

// ---- the table ----

const aq_start_step_t aq_start_table[] = {
    {"threads of MPI", AQ_PHASE_BOOTSTRAP, .join = limit_mpi_threads},
    {"ways to leave", AQ_PHASE_BOOTSTRAP, .start = aq_exit_start},
    {"signals of the client", AQ_PHASE_BOOTSTRAP, .start = aq_fault_note_signals},
    {"bootstrap", AQ_PHASE_BOOTSTRAP, .join = aq_job_join, .stop = aq_job_leave},

    {"hosts and neighbourhoods", AQ_PHASE_CONDUITS, .join = aq_job_find_hosts},
    {"peer table", AQ_PHASE_CONDUITS, .join = aq_job_allocate_peers},
    {"conduits", AQ_PHASE_CONDUITS, .join = aq_job_open_conduits, .stop = aq_job_close_conduits},
    {"description of the process", AQ_PHASE_CONDUITS, .start = aq_process_start},
    {"copies between processes", AQ_PHASE_CONDUITS, .start = aq_cma_copy_start},
    {"polls", AQ_PHASE_CONDUITS, .start = start_progress},
    {"polls in loops", AQ_PHASE_CONDUITS, .start = aq_poll_loop_start},
    {"check of GASNet-1", AQ_PHASE_CONDUITS, .join = check_joined},

    {"library stays loaded", AQ_PHASE_WATCH, .start = stay_loaded},
    {"launcher and conduit", AQ_PHASE_WATCH, .join = tell_pairing},
    {"lines of output", AQ_PHASE_WATCH, .start = set_buffering},
    {"given settings", AQ_PHASE_WATCH, .start = tell_settings},
    {"signals that end", AQ_PHASE_WATCH, .start = aq_exit_catch_signals},
    {"debug aids", AQ_PHASE_WATCH, .start = start_debug_aids},
    {"faults of memory", AQ_PHASE_WATCH, .start = aq_fault_start},
    {"report", AQ_PHASE_WATCH, .start = aq_report_start},
    {"stack in the report", AQ_PHASE_WATCH, .start = aq_report_stack_start},
    {"memory file of the rank", AQ_PHASE_WATCH, .start = start_rank_file},
    {"segment mode", AQ_PHASE_WATCH, .join = note_segment_mode},
    {"traffic matrix", AQ_PHASE_WATCH, .start = aq_traffic_start, .stop = aq_traffic_write},
    {"trace and text of counters", AQ_PHASE_WATCH, .start = aq_trace_start, .stop = end_trace},

    {"client, endpoint, team", AQ_PHASE_OBJECTS, .join = make_objects},
    {"end of the job by messages", AQ_PHASE_OBJECTS, .start = aq_exit_broadcast_start},
    {"pieces of Longs", AQ_PHASE_OBJECTS, .start = aq_long_fragment_start},
    {"messages to oneself", AQ_PHASE_OBJECTS, .start = aq_loopback_start},
    {"windows", AQ_PHASE_OBJECTS, .start = aq_window_connect_start},
    {"questions about clocks", AQ_PHASE_OBJECTS, .start = aq_trace_clock_register},
    {"segments that go", AQ_PHASE_OBJECTS, .start = aq_segment_revoke_start},
    {"layers above the core", AQ_PHASE_OBJECTS, .start = start_layers},

    {"limits of segments", AQ_PHASE_MESSAGES, .join = meet},
    {"progress threads", AQ_PHASE_MESSAGES, .join = start_progress_threads,
     .stop = aq_progress_threads_stop},
    {"clocks of the trace", AQ_PHASE_MESSAGES, .start = aq_trace_clock_start},
    {0},
};
