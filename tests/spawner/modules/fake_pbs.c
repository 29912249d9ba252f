// SPDX-License-Identifier: BSD-3-Clause
// Plays the library of PBS for boot module tm: a task is a process on this host, whose host name is
// the line of PBS_NODEFILE, in a namespace of its own. FAKE_PBS names the call that fails.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, SYSTEM = 17000, NO_EVENT = 17001, NO_INIT = 17007 };

static int begun, spawned, answered;

static int fails(const char *call)
{
    const char *failing = getenv("FAKE_PBS");
    return failing != NULL && strcmp(failing, call) == 0;
}

__attribute__((visibility("default"))) int tm_init(void *info, void *roots)
{
    (void)info, (void)roots;
    begun = !fails("tm_init");
    return begun ? SUCCESS : SYSTEM;
}

static void name_host(int node)
{
    char line[256] = "";
    FILE *file = fopen(getenv("PBS_NODEFILE"), "r");
    for (int i = 0; file != NULL && i <= node; i++)
        if (fgets(line, sizeof line, file) == NULL)
            exit(1);
    line[strcspn(line, "\n")] = '\0';
    if (unshare(CLONE_NEWUTS) != 0 || sethostname(line, strlen(line)) != 0)
        exit(1);
}

__attribute__((visibility("default"))) int tm_spawn(int argc, char **argv, char **envp, int node,
                                                    unsigned int *task, int *event)
{
    if (!begun || argv[argc] != NULL)
        return NO_INIT;
    if (!(fails("tm_poll") && spawned == 1) && fork() == 0) {
        name_host(node);
        execve(argv[0], argv, envp);
        _exit(1);
    }
    *task = (unsigned)++spawned;
    *event = spawned;
    return SUCCESS;
}

__attribute__((visibility("default"))) int tm_poll(int event, int *result, int wait, int *error)
{
    if (event != 0 || !wait || answered == spawned)
        return NO_EVENT;
    *result = ++answered;
    *error = fails("tm_poll") && answered == 2 ? SYSTEM : SUCCESS;
    return SUCCESS;
}

__attribute__((visibility("default"))) int tm_finalize(void)
{
    FILE *file = fopen(getenv("FAKE_PBS_LOG"), "w");
    if (file != NULL) {
        fprintf(file, "%d tasks, %d answers\n", spawned, answered);
        fclose(file);
    }
    return SUCCESS;
}
