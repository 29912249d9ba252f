// SPDX-License-Identifier: BSD-3-Clause
// The thread sleeps on two descriptors: the lifeline of the launcher, and a pidfd of the next rank.
// spawn_mpi.c starts it once the ranks of the host share a boot page.
#include "spawn_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../other/base/log/log.h"
#include "../../other/base/system/quiet_thread.h"
#include "rank_report.h"

enum { LAUNCHER, NEXT, WATCHED };

static aq_watch_t watch; // a process has one job

static bool has_left(uint32_t rank)
{
    return atomic_load(&watch.page->state[rank]) == AQ_RANK_FINALIZED;
}

// The first rank of this host logs the reason. All ranks end, and the launcher's job too if it
// still runs.
__attribute__((noreturn)) static void watch_end(const char *why)
{
    if (atomic_exchange(&watch.page->abort_requested, 1) == 0)
        aq_log_error("%s", why);
    int code = aq_page_announce(watch.page, (int32_t)watch.rank, 1);
    aq_report_send(AQ_REPORT_FOLLOWS, code);
    fflush(NULL);
    if (watch.end_job)
        watch.end_job(code, why);
    _exit(code ? code : 1);
}

static void lose_launcher(void)
{
    if (!has_left(watch.rank))
        watch_end("the launcher of the job (mpirun, prterun, srun) has ended, so all ranks end; "
                  "find out why it ended, and start the job again");
}

// Returns if nothing is wrong with the next rank.
static void lose_next(void)
{
    char why[160];
    if (has_left(watch.next) || has_left(watch.rank))
        return;
    snprintf(why, sizeof why,
             "rank %" PRIu32 " has ended without leaving the job, so all ranks end; see what the "
             "rank or the launcher reports",
             watch.next);
    watch_end(why);
}

static void *watch_run(void *unused)
{
    struct pollfd polls[WATCHED] = {{.fd = watch.lifeline, .events = POLLRDHUP}, {.fd = -1}};
    (void)unused;
    if (watch.next != watch.rank) {
        polls[NEXT] = (struct pollfd){.fd = (int)syscall(SYS_pidfd_open, watch.next_pid, 0),
                                      .events = POLLIN};
        if (polls[NEXT].fd < 0 && errno == ESRCH)
            lose_next();
    }
    while (polls[LAUNCHER].fd >= 0 || polls[NEXT].fd >= 0) {
        if (poll(polls, WATCHED, -1) < 0)
            continue;
        if (polls[LAUNCHER].revents) {
            lose_launcher();
            polls[LAUNCHER].fd = -1;
        }
        if (polls[NEXT].revents) {
            lose_next();
            polls[NEXT].fd = -1;
        }
    }
    return NULL;
}

aq_status_t aq_watch_start(const aq_watch_t *wanted)
{
    pthread_t thread;
    watch = *wanted;
    int error = aq_quiet_thread_create(&thread, watch_run, NULL);
    if (error) {
        aq_log_error("no thread can be started to watch the launcher: %s; allow more processes "
                     "(ulimit -u)",
                     strerror(error));
        return AQ_ERR_RESOURCE;
    }
    (void)pthread_detach(thread);
    return AQ_OK;
}
