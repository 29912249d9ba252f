// SPDX-License-Identifier: BSD-3-Clause
// How much the machine allows a process to pin, and which limit prevents more; and that malloc
// keeps what is pinned.
#include "firehose.h"

#include "../other/base/settings/settings.h"
#include "../other/base/size.h"
#include "../other/base/minmax.h"

#include <errno.h>
#include <linux/capability.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

// Reads a number from a file of the kernel, for example "VmPin:        64 kB". 0: not found.
static uint64_t kernel_says(const char *path, const char *name, int base)
{
    char line[128];
    uint64_t value = 0;
    size_t length = strlen(name);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            value = strtoull(line + length + 1, NULL, base);
    if (file)
        fclose(file);
    return value;
}

// The kernel gives its first user namespace this number (linux/proc_ns.h).
#define FIRST_USER_NAMESPACE 0xEFFFFFFDu

// In a further user namespace, as rootless containers have one, the capability lifts no limit.
static bool is_privileged(void)
{
    struct stat own;
    if (stat("/proc/self/ns/user", &own) == 0 && own.st_ino != FIRST_USER_NAMESPACE)
        return false;
    return kernel_says("/proc/self/status", "CapEff", 16) >> CAP_IPC_LOCK & 1;
}

static uint64_t memlock_limit(void)
{
    struct rlimit limit;
    if (is_privileged() || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur;
}

static void raise_memlock(void)
{
    struct rlimit limit;
    if (!aq_settings_bool(AQ_SET_MAXIMIZE_MEMLOCK) || getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_MEMLOCK, &limit); // a failure shows later, when the limit is reached
}

static uint64_t part_of(const aq_size_limit_t *limit, uint64_t whole)
{
    return limit->fraction > 0 ? (uint64_t)(limit->fraction * (double)whole) : limit->bytes;
}

static const aq_size_limit_t *memory_limit(void)
{
    static const aq_size_limit_t usual = {.fraction = 2.0 / 3.0};
    const aq_size_limit_t *limit = aq_settings_limit(AQ_SET_PHYSMEM_MAX);
    return limit->bytes || limit->fraction > 0 ? limit : &usual;
}

uint64_t aq_firehose_pinnable(uint32_t processes)
{
    uint64_t share = part_of(memory_limit(), aq_size_physical_memory()) / processes;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    raise_memlock();
    return aq_min(share, memlock_limit()) & ~(page - 1);
}

uint64_t aq_firehose_regions(uint64_t device, uint32_t processes)
{
    aq_size_limit_t limit = *aq_settings_limit(AQ_SET_PINNED_REGIONS_MAX);
    if (limit.bytes == 0 && limit.fraction <= 0) {
        uint64_t memory = aq_size_physical_memory();
        limit.fraction = (double)aq_min(part_of(memory_limit(), memory), memory) / (double)memory;
    }
    return aq_min(part_of(&limit, device), device) / processes;
}

// ---- memory of the client ----

bool aq_firehose_memory_stays(void)
{
    return aq_settings_bool(AQ_SET_USE_FIREHOSE) && aq_settings_bool(AQ_SET_DISABLE_MUNMAP);
}

// malloc unmaps empty arenas beside the first whatever the threshold, so there must be no others.
void aq_firehose_memory_keep(void)
{
    if (!aq_firehose_memory_stays())
        return;
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    mallopt(M_ARENA_MAX, 1);
}

// ---- a refusal ----

aq_firehose_pinned_t aq_firehose_why(int error, uint64_t bytes)
{
    uint64_t pinned = kernel_says("/proc/self/status", "VmPin", 10) * 1024;
    uint64_t resident = kernel_says("/proc/self/status", "VmRSS", 10) * 1024;
    uint64_t available = kernel_says("/proc/meminfo", "MemAvailable", 10) * 1024;
    if (error == EFAULT || error == EACCES || error == EINVAL || error == EPERM)
        return AQ_FIREHOSE_NO_ACCESS;
    if (bytes > memlock_limit() || pinned > memlock_limit() - bytes)
        return AQ_FIREHOSE_MEMLOCK;
    if (bytes > available || resident + bytes > aq_size_physical_memory())
        return AQ_FIREHOSE_CGROUP;
    return AQ_FIREHOSE_DEVICE;
}

const char *aq_firehose_remedy(aq_firehose_pinned_t limit)
{
    switch (limit) {
    case AQ_FIREHOSE_MEMLOCK:
        return "the limit on locked memory (RLIMIT_MEMLOCK) is reached; raise it with ulimit -l, "
               "in /etc/security/limits.conf or by LimitMEMLOCK= of the service that starts the "
               "job";
    case AQ_FIREHOSE_CGROUP:
        return "the memory limit of the control group or of the host is reached; raise memory.max "
               "of the group (MemoryMax= of its unit, --mem of the batch job) or set "
               "GASNET_PHYSMEM_MAX to less than that";
    case AQ_FIREHOSE_DEVICE:
        return "the network device has no room for more regions (max_mr of ibv_devinfo -v, mr_cnt "
               "of fi_info -v); start fewer processes on the host or set GASNET_PINNED_REGIONS_MAX "
               "to less than that";
    case AQ_FIREHOSE_SETTING:
        return "GASNET_PHYSMEM_MAX is reached; raise it";
    case AQ_FIREHOSE_NO_ACCESS:
        return "there is no such memory, or it is read-only; correct the address";
    default:
        return "no limit is reached";
    }
}
