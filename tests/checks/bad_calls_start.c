// SPDX-License-Identifier: BSD-3-Clause
// Wrong calls that are refused with an error code and a message: init, progress threads, segment,
// registration.
#include "bad_calls.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int init_name(const char *name)
{
    return gex_Client_Init(NULL, &bad_ep, &bad_tm, name, NULL, NULL, 0);
}

static void init_twice(void)
{
    bad_returned(init_name("BAD_CALLS"), GASNET_ERR_NOT_INIT);
}

// Two threads of rank 0 join the job. Rank 1 joins when one of the two has been refused, so that
// the other is in gex_Client_Init until then.
static pthread_barrier_t both;
static int results[2];
static char refused_file[64];

static void *init_in_thread(void *result)
{
    pthread_barrier_wait(&both);
    *(int *)result = init_name("BAD_CALLS");
    if (*(int *)result != GASNET_OK)
        fclose(fopen(refused_file, "w"));
    return NULL;
}

static void init_beside(void)
{
    pthread_t other;
    pthread_barrier_init(&both, NULL, 2);
    if (pthread_create(&other, NULL, init_in_thread, &results[1]) != 0)
        bad_abort("there is no second thread");
    init_in_thread(&results[0]);
    pthread_join(other, NULL);
    bad_returned(results[0] + results[1], GASNET_OK + GASNET_ERR_NOT_INIT);
}

static void init_at_once(void)
{
    int rank = -1;
    const char *control = getenv("GASNET_SPAWN_CONTROL");
    if (!control || sscanf(control, "fork:%*d:%d", &rank) != 1)
        bad_abort("there is no launcher");
    snprintf(refused_file, sizeof refused_file, "bad_calls.%ld", (long)getppid());
    if (rank == 0) {
        init_beside();
    } else {
        while (unlink(refused_file) != 0)
            usleep(1000);
        bad_returned(init_name("BAD_CALLS"), GASNET_OK);
    }
    gasnet_exit(results[0] + results[1] != (rank == 0 ? GASNET_ERR_NOT_INIT : GASNET_OK));
}

// ---- progress threads ----

static const gex_ProgressThreadInfo_t *info;
static unsigned count;

static void threads_kept(void)
{
    bad_returned(gex_System_QueryProgressThreads(bad_client, &count, &info, 0),
                 GASNET_ERR_RESOURCE);
}

static void threads_twice(void)
{
    if (gex_System_QueryProgressThreads(bad_client, &count, &info, 0) != GASNET_OK || count)
        bad_abort("the threads of mode seq are not none");
    threads_kept();
}

static void threads_null(void)
{
    bad_returned(gex_System_QueryProgressThreads(bad_client, NULL, &info, 0), GASNET_ERR_BAD_ARG);
}

static void threads_flags(void)
{
    bad_returned(gex_System_QueryProgressThreads(bad_client, &count, &info, GEX_FLAG_DEFER_THREADS),
                 GASNET_ERR_BAD_ARG);
}

// ---- segments ----

static int attach(uintptr_t size)
{
    gex_Segment_t segment;
    return gex_Segment_Attach(&segment, bad_tm, size);
}

static void attach_odd(void)
{
    bad_returned(attach(GASNET_PAGESIZE + 1), GASNET_ERR_BAD_ARG);
}

static void attach_zero(void)
{
    bad_returned(attach(0), GASNET_ERR_BAD_ARG);
}

static void attach_twice(void)
{
    if (attach(BAD_SEGMENT) != GASNET_OK)
        bad_abort("the segment cannot be attached");
    bad_returned(attach(BAD_SEGMENT), GASNET_ERR_RESOURCE);
}

// ---- handlers ----

static void on_request(gex_Token_t token)
{
    (void)token;
}

static gex_AM_Entry_t good(gex_AM_Index_t index)
{
    gex_AM_Entry_t made = {.gex_index = index, .gex_fnptr = (gex_AM_Fn_t)on_request};
    made.gex_flags = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST;
    made.gex_name = "mine";
    return made;
}

static void refused(gex_AM_Entry_t made)
{
    gex_AM_Entry_t table[] = {good(200), made};
    bad_returned(gex_EP_RegisterHandlers(bad_ep, table, 2), GASNET_ERR_BAD_ARG);
}

static void register_low(void)
{
    refused(good(GEX_AM_INDEX_BASE - 1));
}

static void register_taken(void)
{
    refused(good(BAD_H_SHORT));
}

static void register_same(void)
{
    refused(good(200));
}

static void register_full(void)
{
    gex_AM_Entry_t table[192];
    for (size_t i = 0; i < 192; i++)
        table[i] = good(0);
    bad_returned(gex_EP_RegisterHandlers(bad_ep, table, 192), GASNET_ERR_BAD_ARG);
}

static void register_null(void)
{
    gex_AM_Entry_t made = good(201);
    made.gex_fnptr = NULL;
    refused(made);
}

static void register_nargs(void)
{
    gex_AM_Entry_t made = good(201);
    made.gex_nargs = gex_AM_MaxArgs() + 1;
    refused(made);
}

static void register_category(void)
{
    gex_AM_Entry_t made = good(201);
    made.gex_flags = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST;
    refused(made);
}

static void register_direction(void)
{
    gex_AM_Entry_t made = good(201);
    made.gex_flags = GEX_FLAG_AM_MEDLONG;
    refused(made);
}

#define THREADS "gex_System_QueryProgressThreads"
#define REGISTER "gex_EP_RegisterHandlers: entry 1, handler "

const bad_call_t bad_start_calls[] = {
    {"init-twice", BAD_RETURNS, 0, "gex_Client_Init was called a second time", init_twice, NULL,
     NULL},
    {"init-at-once", BAD_RETURNS, -1, "gex_Client_Init was called while another thread is in it",
     init_at_once, NULL, NULL},
    {"threads-kept", BAD_RETURNS, 0,
     THREADS ": the library runs its threads itself, since gex_Client_Init got no "
             "GEX_FLAG_DEFER_THREADS",
     threads_kept, NULL, NULL},
    {"threads-twice-deferred", BAD_RETURNS, 0,
     THREADS " was called a second time: each thread runs once, so use what the first call "
             "returned",
     threads_twice, NULL, NULL},
    {"threads-null-deferred", BAD_RETURNS, 0, THREADS ": count_p or info_p is NULL", threads_null,
     NULL, NULL},
    {"threads-flags-deferred", BAD_RETURNS, 0, THREADS ": flags is not 0", threads_flags, NULL,
     NULL},
    {"attach-odd", BAD_RETURNS, 0,
     "gex_Segment_Attach: a size of 4097 bytes is no non-zero multiple of GASNET_PAGESIZE "
     "\\(4096\\)",
     attach_odd, NULL, NULL},
    {"attach-zero", BAD_RETURNS, 0,
     "gex_Segment_Attach: a size of 0 bytes is no non-zero multiple of GASNET_PAGESIZE \\(4096\\)",
     attach_zero, NULL, NULL},
    {"attach-twice", BAD_RETURNS, 0, "gex_Segment_Attach was called a second time", attach_twice,
     NULL, NULL},
    {"register-low", BAD_RETURNS, 0,
     REGISTER "63 mine: the index is below GEX_AM_INDEX_BASE \\(64\\)", register_low, NULL, NULL},
    {"register-taken", BAD_RETURNS, 0, REGISTER "100 mine: the index is registered already",
     register_taken, NULL, NULL},
    {"register-same", BAD_RETURNS, 0, REGISTER "200 mine: the index is registered already",
     register_same, NULL, NULL},
    {"register-full", BAD_RETURNS, 0,
     "gex_EP_RegisterHandlers: entry 184, handler 0 mine: no index is free", register_full, NULL,
     NULL},
    {"register-null", BAD_RETURNS, 0, REGISTER "201 mine: gex_fnptr is NULL", register_null, NULL,
     NULL},
    {"register-nargs", BAD_RETURNS, 0, REGISTER "201 mine: gex_nargs is more than", register_nargs,
     NULL, NULL},
    {"register-category", BAD_RETURNS, 0,
     REGISTER "201 mine: gex_flags has to hold one of GEX_FLAG_AM_SHORT", register_category, NULL,
     NULL},
    {"register-direction", BAD_RETURNS, 0,
     REGISTER "201 mine: gex_flags has to hold one of GEX_FLAG_AM_REQUEST", register_direction,
     NULL, NULL},
    {NULL, BAD_FATAL, 0, NULL, NULL, NULL, NULL}};
