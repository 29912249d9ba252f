// SPDX-License-Identifier: BSD-3-Clause
// Information about the host, the process and this build; limits and streams of the process.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gasnet_tools.h"
#include "../base/log/log.h"
#include "../base/size.h"

#define VERSION_STRING                                                                             \
    _STRINGIFY(GASNETT_RELEASE_VERSION_MAJOR)                                                      \
    "." _STRINGIFY(GASNETT_RELEASE_VERSION_MINOR) "." _STRINGIFY(GASNETT_RELEASE_VERSION_PATCH)

const char *gasnett_release_version_str(void)
{
    return VERSION_STRING;
}

uint64_t gasnett_release_version(void)
{
    return GASNETT_RELEASE_VERSION_MAJOR * UINT64_C(1000000) +
           GASNETT_RELEASE_VERSION_MINOR * UINT64_C(10000) + GASNETT_RELEASE_VERSION_PATCH;
}

const char *gasnett_performance_warning_str(void)
{
    return ""
#ifdef AQ_DEBUG
           "        checks of arguments (--enable-debug)\n"
#endif
#ifdef AQ_SANITIZER
           "        sanitizers (--enable-sanitizer=" AQ_SANITIZER ")\n"
#endif
        ;
}

const char *gasnett_gethostname(void)
{
    return aq_log_host();
}

static char exe_path[4096];

static void find_exe(void)
{
    ssize_t length = readlink("/proc/self/exe", exe_path, sizeof exe_path - 1);
    exe_path[length > 0 ? length : 0] = '\0';
}

const char *gasnett_exe_name(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_exe);
    return exe_path;
}

int gasnett_cpu_count(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 0;
}

uint64_t gasnett_getPhysMemSz(int failureIsFatal)
{
    uint64_t size = aq_size_physical_memory();
    if (size != UINT64_MAX)
        return size;
    if (failureIsFatal)
        gasnett_fatalerror_nopos("gasnett_getPhysMemSz: the system does not report its memory");
    return 0;
}

int gasnett_set_affinity(int rank)
{
    int count = gasnett_cpu_count();
    if (count == 0)
        return -1;
    size_t number = (size_t)((rank % count + count) % count);
    cpu_set_t *set = CPU_ALLOC((size_t)count);
    if (!set)
        return -1;
    size_t bytes = CPU_ALLOC_SIZE((size_t)count);
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(number, bytes, set);
    int result = sched_setaffinity(0, bytes, set);
    CPU_FREE(set);
    return result;
}

void gasnett_sched_yield(void)
{
    sched_yield();
}

// A disk may still buffer the output. fsync refuses anything that is not a file.
static void stream_flush(FILE *stream, int fd)
{
    fflush(stream);
    fsync(fd);
}

void gasnett_flush_streams(void)
{
    stream_flush(stdout, STDOUT_FILENO);
    stream_flush(stderr, STDERR_FILENO);
}

// The descriptors stay open, because closed ones would be reused for the next opened files, and
// output would go into those.
void gasnett_close_streams(void)
{
    fflush(stdout);
    fflush(stderr);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (null < 0)
            close(fd);
        else if (fd != null)
            dup2(null, fd);
    if (null > STDERR_FILENO)
        close(null);
}

int gasnett_maximize_rlimit(int res, const char *lim_desc)
{
    char name[128];
    struct rlimit limit;
    snprintf(name, sizeof name, "GASNET_MAXIMIZE_%s", lim_desc);
    if (!gasnett_getenv_yesno_withdefault(name, 1))
        return 1;
    if (getrlimit((__rlimit_resource_t)res, &limit) != 0)
        return 0;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit((__rlimit_resource_t)res, &limit) == 0;
}

int gasnett_maximize_rlimits(void)
{
    static const struct {
        int res;
        const char *name;
    } limits[] = {{RLIMIT_CPU, "RLIMIT_CPU"},     {RLIMIT_DATA, "RLIMIT_DATA"},
                  {RLIMIT_STACK, "RLIMIT_STACK"}, {RLIMIT_RSS, "RLIMIT_RSS"},
                  {RLIMIT_AS, "RLIMIT_AS"},       {RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK"}};
    bool all = true;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        all &= gasnett_maximize_rlimit(limits[i].res, limits[i].name);
    return all;
}
