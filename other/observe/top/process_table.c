// SPDX-License-Identifier: BSD-3-Clause
// Parses /proc for gasnet_top, for helpers that answer readers (spawner/launch/helper_look.c), and
// for those that signal or end the processes of a job (spawner/supervise, gasnet_wipe).
#include "process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/text_file.h"
#include "../format/printable.h"

enum { DEEPEST = 1000 }; // ancestors, in case the table changes meanwhile

// "PID (name) state parent ... utime stime": the name may contain anything.
static bool parse_stat(const char *text, aq_process_t *process)
{
    unsigned long user = 0, system = 0;
    int parent = 0;
    char state = 'X';
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close < open)
        return false;
    snprintf(process->name, sizeof process->name, "%.*s", (int)(close - open - 1), open + 1);
    aq_printable_make(process->name);
    if (sscanf(close + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state, &parent,
               &user, &system) != 4)
        return false;
    process->state = state == 'Z' ? 'X' : state;
    process->parent = parent;
    process->cpu = user + system;
    return true;
}

bool aq_process_look(pid_t pid, aq_process_t *process)
{
    char path[64], text[512];
    *process = (aq_process_t){.state = 'X'};
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return aq_text_file_start(path, text, sizeof text) > 0 && parse_stat(text, process);
}

pid_t aq_process_inner(pid_t pid)
{
    char path[64], line[256];
    int inner = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    while (!inner && fgets(line, sizeof line, file)) {
        const char *last = strncmp(line, "NSpid:", 6) == 0 ? strrchr(line, '\t') : NULL;
        inner = last ? atoi(last + 1) : 0;
    }
    fclose(file);
    return inner;
}

bool aq_process_is_above(pid_t above, pid_t pid)
{
    aq_process_t process;
    for (int i = 0; i < DEEPEST && pid > 0; i++) {
        if (pid == above)
            return true;
        if (!aq_process_look(pid, &process))
            return false;
        pid = process.parent;
    }
    return false;
}

bool aq_process_each_file_of(pid_t pid, const char *name,
                             void (*visit)(pid_t pid, int fd, void *context), void *context)
{
    char path[64], target[256], link[128];
    snprintf(link, sizeof link, "/memfd:%s (deleted)", name);
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    if (!dir)
        return false;
    for (struct dirent *entry; (entry = readdir(dir));) {
        const ssize_t length = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
        if (length <= 0)
            continue;
        target[length] = '\0';
        if (strcmp(target, link) == 0)
            visit(pid, atoi(entry->d_name), context);
    }
    closedir(dir);
    return true;
}

void aq_process_each_file(const char *name, void (*visit)(pid_t pid, int fd, void *context),
                          void *context)
{
    DIR *dir = opendir("/proc");
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            (void)aq_process_each_file_of(atoi(entry->d_name), name, visit, context);
    closedir(dir);
}

int aq_process_open_file(pid_t pid, int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}
