// SPDX-License-Identifier: BSD-3-Clause
// What a host answers to gasnet_recon and gasnet_wipe.
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../other/observe/top/process_table.h"
#include "host_probe.h"
#include "../shell/net_address.h"

#define NAME_ROOM 32
#define ANCESTORS 64

// ---- recon ----

static uint64_t free_memory_kb(void)
{
    FILE *info = fopen("/proc/meminfo", "re");
    char line[128];
    uint64_t kb = 0;
    while (info != NULL && fgets(line, sizeof line, info) != NULL)
        if (sscanf(line, "MemAvailable: %" SCNu64, &kb) == 1)
            break;
    if (info != NULL)
        (void)fclose(info);
    return kb;
}

static void name_verbs(char name[NAME_ROOM])
{
    DIR *devices = opendir("/sys/class/infiniband");
    const struct dirent *entry;
    snprintf(name, NAME_ROOM, "none");
    while (devices != NULL && (entry = readdir(devices)) != NULL)
        if (entry->d_name[0] != '.') {
            snprintf(name, NAME_ROOM, "%.*s", NAME_ROOM - 1, entry->d_name);
            break;
        }
    if (devices != NULL)
        (void)closedir(devices);
}

// The MTU of the interface by which the remote shell came, else of the first one.
static unsigned find_mtu(void)
{
    char server[AQ_ADDRESS_TEXT] = "";
    const char *connection = getenv("SSH_CONNECTION");
    if (connection != NULL && sscanf(connection, "%*s %*s %63s", server) != 1)
        server[0] = '\0';
    unsigned mtu = aq_net_mtu(server);
    return mtu > 0 ? mtu : aq_net_mtu("");
}

// version, time of day in ms, free KB, locked KB (-1: unlimited), verbs device, MTU (0: unknown)
int aq_recon_answer(void)
{
    struct rlimit locked = {0, 0};
    char verbs[NAME_ROOM];
    (void)getrlimit(RLIMIT_MEMLOCK, &locked);
    name_verbs(verbs);
    printf("\n" AQ_REMOTE_ANSWER "%s %" PRIu64 " %" PRIu64 " %" PRId64 " %s %u\n", PACKAGE_VERSION,
           aq_probe_clock_ms(), free_memory_kb(),
           locked.rlim_cur == RLIM_INFINITY ? INT64_C(-1) : (int64_t)(locked.rlim_cur / 1024),
           verbs, find_mtu());
    return fflush(stdout) == 0 ? 0 : 1;
}

// ---- wipe ----

static bool is_mine(pid_t pid)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%ld", (long)pid);
    return stat(path, &st) == 0 && st.st_uid == getuid();
}

// Whether a launcher started the process: its initial environment has the variable for ranks.
static bool is_rank(pid_t pid)
{
    static const char wanted[] = "GASNET_SPAWN_CONTROL=";
    char path[64], *entry = NULL;
    size_t size = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && !found && getdelim(&entry, &size, '\0', file) > 0)
        found = strncmp(entry, wanted, strlen(wanted)) == 0;
    free(entry);
    if (file != NULL)
        (void)fclose(file);
    return found;
}

static bool is_supervisor(const aq_process_t *process)
{
    return strcmp(process->name, "gasnet-ranks") == 0 ||
           strncmp(process->name, "gasnetrun", strlen("gasnetrun")) == 0 ||
           strcmp(process->name, "amudprun") == 0;
}

// Whether an ancestor of the process still supervises its job.
static bool is_watched(aq_process_t process)
{
    for (int i = 0; i < ANCESTORS && process.parent > 1; i++) {
        if (!aq_process_look(process.parent, &process) || process.state == 'X')
            return false;
        if (is_supervisor(&process))
            return true;
    }
    return false;
}

static bool is_to_go(pid_t pid, const aq_process_t *process, bool all)
{
    if (process->state == 'X' || pid == getpid() || pid == getppid())
        return false;
    if (all && strncmp(process->name, "gasnet-", strlen("gasnet-")) == 0)
        return true;
    return is_rank(pid) && (all || !is_watched(*process));
}

// Prints a line for each process that was ended; the last line says that the list is complete.
int aq_wipe_answer(bool all)
{
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    aq_process_t process;
    printf("\n");
    while (processes != NULL && (entry = readdir(processes)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (!isdigit((unsigned char)entry->d_name[0]) || !is_mine(pid) ||
            !aq_process_look(pid, &process) || !is_to_go(pid, &process, all))
            continue;
        if (kill(pid, SIGKILL) == 0)
            printf(AQ_REMOTE_ANSWER "ended %ld %s\n", (long)pid, process.name);
    }
    if (processes != NULL)
        (void)closedir(processes);
    printf(AQ_REMOTE_ANSWER "all\n");
    return fflush(stdout) == 0 ? 0 : 1;
}
