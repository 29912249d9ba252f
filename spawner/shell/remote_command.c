// SPDX-License-Identifier: BSD-3-Clause
// Builds the argument list: the user's shell and options, the host, and one word for the remote
// login shell (shell_words.c); for this host, gasnetrun itself. The tree (node_start.c) and
// host_probe.c execute it by remote.c.
#include "remote_command.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/log/log.h"
#include "net_address.h"
#include "shell_words.h"

#define OUR_WORDS 16 // words of a command line besides the user's options

bool aq_remote_is_here(const aq_remote_host_t *host)
{
    const char *here = aq_log_host();
    size_t label = strcspn(here, ".");
    if (host->user[0] != '\0')
        return false;
    return strcmp(host->name, here) == 0 || strcmp(host->name, "localhost") == 0 ||
           (strlen(host->name) == label && strncmp(host->name, here, label) == 0) ||
           aq_net_is_own(host->name);
}

static char *program_path(const aq_remote_way_t *way, const aq_remote_host_t *host)
{
    const char *slash = strrchr(way->program, '/');
    char *path;
    if (host->prefix[0] == '\0')
        return strdup(way->program);
    return asprintf(&path, "%s/bin/%s", host->prefix, slash != NULL ? slash + 1 : way->program) < 0
               ? NULL
               : path;
}

static void add_word(aq_remote_command_t *command, const char *word)
{
    if (command->count + 1 < AQ_REMOTE_WORDS)
        command->argv[command->count++] = (char *)(uintptr_t)word;
}

void aq_remote_command_free(aq_remote_command_t *command)
{
    aq_shell_free_words(command->options);
    free(command->path);
    free(command->remote);
    *command = (aq_remote_command_t){0};
}

// ssh takes the first value of an option, so the user's options come first.
static bool make_remote(aq_remote_command_t *command, const aq_remote_way_t *way,
                        const aq_remote_host_t *host, const char *word)
{
    command->options = aq_shell_split(way->options);
    command->remote = aq_shell_command(command->path, word);
    if (command->remote == NULL || command->options == NULL)
        return false;
    add_word(command, way->shell);
    for (size_t i = 0; command->options[i] != NULL && i + OUR_WORDS < AQ_REMOTE_WORDS; i++)
        add_word(command, command->options[i]);
    if (strstr(way->shell, "rsh") == NULL) {
        add_word(command, "-x");
        add_word(command, "-oBatchMode=yes");
    }
    if (host->user[0] != '\0') {
        add_word(command, "-l");
        add_word(command, host->user);
    }
    add_word(command, host->name);
    add_word(command, command->remote);
    return true;
}

bool aq_remote_command_make(aq_remote_command_t *command, const aq_remote_way_t *way,
                            const aq_remote_host_t *host, const char *word)
{
    *command = (aq_remote_command_t){.path = program_path(way, host)};
    if (command->path == NULL)
        return false;
    if (!aq_remote_is_here(host))
        return make_remote(command, way, host, word);
    add_word(command, command->path);
    add_word(command, word);
    return true;
}
