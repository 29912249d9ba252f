// SPDX-License-Identifier: BSD-3-Clause
// The command line that starts one of our programs on another host.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// How to reach hosts. Texts belong to the caller.
typedef struct aq_remote_way {
    const char *shell;   // GASNET_SSH_CMD
    const char *options; // GASNET_SSH_OPTIONS
    const char *program; // path of gasnetrun here; used on hosts without a prefix
} aq_remote_way_t;

// "": not given.
typedef struct aq_remote_host {
    const char *name, *user, *prefix;
} aq_remote_host_t;

#define AQ_REMOTE_WORDS 64

typedef struct aq_remote_command {
    char *argv[AQ_REMOTE_WORDS]; // NULL-terminated
    size_t count;
    char **options;
    char *path, *remote;
} aq_remote_command_t;

// Whether that host is this one, so that no remote shell is needed.
bool aq_remote_is_here(const aq_remote_host_t *host);
// Makes the command `gasnetrun word` for that host. False: no memory, or an open quote in the
// options. Free the command in any case. word may hold only letters and dashes, which need no
// quotes.
bool aq_remote_command_make(aq_remote_command_t *command, const aq_remote_way_t *way,
                            const aq_remote_host_t *host, const char *word);
void aq_remote_command_free(aq_remote_command_t *command);
