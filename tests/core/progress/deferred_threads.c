/* SPDX-License-Identifier: BSD-3-Clause */
#include "deferred_threads.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>

unsigned deferred_threads_count(void)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    unsigned count = 0;

    while (tasks && (task = readdir(tasks)) != NULL)
        count += task->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return count;
}

static unsigned roles_wanted(void)
{
    return (getenv("GASNET_RCV_THREAD") ? GEX_THREAD_ROLE_RCV : 0) |
           (getenv("GASNET_SND_THREAD") ? GEX_THREAD_ROLE_SND : 0);
}

static void *run_progress(void *arg)
{
    const gex_ProgressThreadInfo_t *info = arg;

    return info->gex_progress_fn(info->gex_progress_arg);
}

static const char *start(const gex_ProgressThreadInfo_t *info, int directly)
{
    pthread_t thread;
    const int error =
        directly ? pthread_create(&thread, NULL, info->gex_progress_fn, info->gex_progress_arg)
                 : pthread_create(&thread, NULL, run_progress, (void *)(uintptr_t)info);

    return error ? "a thread cannot be created" : NULL;
}

static const char *check(const gex_ProgressThreadInfo_t *info)
{
    if (!info->gex_device_list || !*info->gex_device_list)
        return "a thread serves no device";
    return info->gex_thread_roles == roles_wanted() ? NULL : "a thread has another role";
}

// Whether there are so many threads more. The thread sanitizer starts one of its own beside the
// first that the program starts.
static int has_grown_by(unsigned count, unsigned before)
{
    const unsigned more = deferred_threads_count() - before;
#ifdef __SANITIZE_THREAD__
    return more == count || more == count + 1;
#else
    return more == count;
#endif
}

const char *deferred_threads_start(gex_Client_t client, unsigned expected)
{
    const unsigned before = deferred_threads_count();
    const gex_ProgressThreadInfo_t *info;
    const char *wrong = NULL;
    unsigned count;

    if (gex_System_QueryProgressThreads(client, &count, &info, 0) != GASNET_OK)
        return "the threads are not returned";
    if (count != expected)
        return "another number of threads is returned";
    for (unsigned i = 0; !wrong && i < count; i++) {
        wrong = check(&info[i]);
        if (!wrong)
            wrong = start(&info[i], i % 2 == 0);
    }
    if (!wrong && !has_grown_by(count, before))
        wrong = "the library has started threads beside those of the client";
    return wrong;
}
