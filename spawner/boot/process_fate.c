// SPDX-License-Identifier: BSD-3-Clause
// Reads the wait status of another parent's child from /proc while it is a zombie, later from its
// pidfd. The watch on ranks that mpirun started (join/rank_watch.c) asks for it.
#include "process_fate.h"
#include "../../other/base/system/await.h"
#include "../../other/base/text_file.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

// As in <linux/pidfd.h> since Linux 6.15; older headers do not have it.
typedef struct pidfd_info {
    uint64_t mask;
    uint64_t cgroupid;
    uint32_t pid, tgid, ppid;
    uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
    int32_t exit_code;
} pidfd_info_t;

#define GET_INFO _IOWR(0xFF, 11, pidfd_info_t)
#define INFO_EXIT (1u << 3)

static bool ask_kernel(int pidfd, int *status)
{
    pidfd_info_t info = {.mask = INFO_EXIT};
    if (ioctl(pidfd, GET_INFO, &info) != 0 || !(info.mask & INFO_EXIT))
        return false;
    *status = info.exit_code;
    return true;
}

// Reads the exit code of a zombie: exit_code is the last field of the line.
static bool read_zombie(pid_t pid, int *status)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    (void)aq_text_file_start(path, text, sizeof text);
    const char *name_end = strrchr(text, ')'); // the name of the program may contain blanks
    const char *last = strrchr(text, ' ');
    if (!name_end || strncmp(name_end, ") Z", 3) != 0 || !last)
        return false;
    *status = (int)strtol(last, NULL, 10);
    return true;
}

int aq_process_fate(pid_t pid, int pidfd, int wait_ms)
{
    int status;
    if (read_zombie(pid, &status) || ask_kernel(pidfd, &status))
        return status;
    (void)aq_await(pidfd, 0, wait_ms); // POLLHUP: the parent has taken the status
    return ask_kernel(pidfd, &status) ? status : AQ_FATE_UNKNOWN;
}
