// SPDX-License-Identifier: BSD-3-Clause
// Processes of others that are bound to processors: ranks of an MPI, servers, programs under
// taskset. Only those that run at the moment count, because systems bind helpers to processors that
// sleep nearly always; and only the first thread of a process, by which a process is bound as a
// whole.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../other/base/text_file.h"
#include "binding.h"

#define KERNEL_THREAD 0x00200000 // in the flags of /proc/N/stat

// Whether the process may use some of the processors that are wanted, and not all of those that
// this process may use.
static bool is_bound(pid_t process, const cpu_set_t *wanted, const cpu_set_t *usable)
{
    cpu_set_t cpus, both;
    if (sched_getaffinity(process, sizeof cpus, &cpus) != 0)
        return false;
    CPU_AND(&both, &cpus, wanted);
    if (CPU_COUNT(&both) == 0)
        return false;
    CPU_AND(&both, &cpus, usable);
    return !CPU_EQUAL(&both, usable);
}

// Whether the process runs and is no kernel thread, most of which are bound. State and flags follow
// the name, which may have any characters.
static bool is_running(pid_t process)
{
    char path[32], line[512], state = 0;
    unsigned long flags = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)process);
    (void)aq_text_file_start(path, line, sizeof line);
    const char *name_end = strrchr(line, ')');
    return name_end != NULL &&
           sscanf(name_end + 1, " %c %*d %*d %*d %*d %*d %lu", &state, &flags) == 2 &&
           state == 'R' && !(flags & KERNEL_THREAD);
}

pid_t aq_binding_find_other(const cpu_set_t *wanted, const cpu_set_t *usable)
{
    pid_t found = 0;
    DIR *processes = opendir("/proc");
    if (processes == NULL)
        return 0;
    for (struct dirent *entry; found == 0 && (entry = readdir(processes)) != NULL;) {
        const pid_t process = (pid_t)atoi(entry->d_name);
        if (process > 0 && process != getpid() && is_bound(process, wanted, usable) &&
            is_running(process))
            found = process;
    }
    (void)closedir(processes);
    return found;
}
