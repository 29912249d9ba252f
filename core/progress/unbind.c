// SPDX-License-Identifier: BSD-3-Clause
// Counts the threads of a bound process, and lifts the binding if they outnumber its processors.
// progress.c calls it in waits. Always true: only threads that have the processors of the
// launcher's binding are released; a thread that the client has bound stays where it is.
#include "unbind.h"

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../state/job.h"

#define TASKS "/proc/self/task"
// Threads are counted in one of so many turns, but not again within this time: a count takes as
// long as some round trips.
#define TURNS 64
#define COUNT_NS UINT64_C(1000000)
#define PASSES 16 // over the threads, which may start others meanwhile

atomic_bool aq_unbind_armed;
static cpu_set_t share;
static atomic_uint turns;
static _Atomic uint64_t counted; // time of the last count, of aq_clock_ns()

void aq_unbind_start(void)
{
    if (aq_job.boot->bound && sched_getaffinity(0, sizeof share, &share) == 0)
        atomic_store_explicit(&aq_unbind_armed, true, memory_order_relaxed);
}

// The folder of the threads has a link for each; 0: unknown.
static unsigned long count_threads(void)
{
    struct stat st;
    return stat(TASKS, &st) == 0 && st.st_nlink > 2 ? st.st_nlink - 2 : 0;
}

// The kernel leaves out the processors that the cpuset of this process does not have.
static bool release_thread(pid_t thread)
{
    cpu_set_t now, all;
    if (sched_getaffinity(thread, sizeof now, &now) != 0 || !CPU_EQUAL(&now, &share))
        return false;
    memset(&all, 0xff, sizeof all);
    return sched_setaffinity(thread, sizeof all, &all) == 0;
}

// Returns whether a thread was released.
static bool release_threads(void)
{
    bool any = false;
    DIR *tasks = opendir(TASKS);
    if (!tasks)
        return false;
    for (struct dirent *entry; (entry = readdir(tasks));) {
        const pid_t thread = (pid_t)atoi(entry->d_name);
        any |= thread > 0 && release_thread(thread);
    }
    closedir(tasks);
    return any;
}

static bool is_time(void)
{
    if (atomic_fetch_add_explicit(&turns, 1, memory_order_relaxed) % TURNS)
        return false;
    const uint64_t now = aq_clock_ns();
    if (now - atomic_load_explicit(&counted, memory_order_relaxed) < COUNT_NS)
        return false;
    atomic_store_explicit(&counted, now, memory_order_relaxed);
    return true;
}

void aq_unbind_turn(void)
{
    if (!is_time())
        return;
    const unsigned long threads = count_threads();
    if (threads <= (unsigned long)CPU_COUNT(&share) ||
        !atomic_exchange_explicit(&aq_unbind_armed, false, memory_order_relaxed))
        return;
    for (unsigned pass = 0; pass < PASSES && release_threads(); pass++)
        continue;
    aq_log_info("this rank has %lu threads, more than the processors to which it was bound; it may "
                "use all of this host again",
                threads);
}
