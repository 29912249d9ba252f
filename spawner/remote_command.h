// The command line that starts a program of ours on another host.
#ifndef AQ_REMOTE_COMMAND_H
#define AQ_REMOTE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

// How hosts are reached. Texts belong to the caller.
typedef struct aq_remote_way {
    const char *shell;   // GASNET_SSH_CMD
    const char *options; // GASNET_SSH_OPTIONS
    const char *program; // gasnetrun of this host: what runs on one without a prefix
} aq_remote_way_t;

// "" : not given.
typedef struct aq_remote_host {
    const char *name, *user, *prefix;
} aq_remote_host_t;

#define AQ_REMOTE_WORDS 64

typedef struct aq_remote_command {
    char *argv[AQ_REMOTE_WORDS]; // NULL behind the last
    size_t count;
    char **options;
    char *path, *remote;
} aq_remote_command_t;

// Whether that host is this one, so that no remote shell is needed.
bool aq_remote_is_here(const aq_remote_host_t *host);
// `gasnetrun word` on that host. False: no memory, or an open quote in the options. Free it in any
// case. Of further words, other than letters and dashes need quotes.
bool aq_remote_command_make(aq_remote_command_t *command, const aq_remote_way_t *way,
                            const aq_remote_host_t *host, const char *word);
void aq_remote_command_free(aq_remote_command_t *command);

#endif
