// SPDX-License-Identifier: BSD-3-Clause
// What /proc says about processes.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct aq_process {
    pid_t parent;
    char state;   // a letter; 'X': there is no such process, or it is a zombie
    uint64_t cpu; // ticks
    char name[32];
} aq_process_t;

// Returns false if there is no such process.
bool aq_process_look(pid_t pid, aq_process_t *process);

// The id of a process in its own PID namespace, as in a container; 0: there is no such process.
pid_t aq_process_inner(pid_t pid);

// Whether `above` is `pid` or one of its ancestors.
bool aq_process_is_above(pid_t above, pid_t pid);

// Calls visit for each process, and for each descriptor of a process of which this one may know
// them and that is a memory file of that name.
void aq_process_each_file(const char *name, void (*visit)(pid_t pid, int fd, void *context),
                          void *context);

// As aq_process_each_file, of one process. Returns false if it is gone, or of another user.
bool aq_process_each_file_of(pid_t pid, const char *name,
                             void (*visit)(pid_t pid, int fd, void *context), void *context);

// Opens a descriptor of another process again, for reading; -1: it is gone.
int aq_process_open_file(pid_t pid, int fd);
