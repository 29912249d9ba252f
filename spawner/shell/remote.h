// SPDX-License-Identifier: BSD-3-Clause
// The remote shell that starts a helper: a child process with pipes to its standard streams.
//
//   this process                    remote shell                     helper
//   argv: ssh host 'exec .../gasnetrun --helper' ------------------> starts
//                                   <-- "aqueduct-helper 1 version client addresses\n" --
//   INTRO (key, address to call) ---------------------------------->  calls back by TCP
//                                                                     goes on without the shell
//
// Always true: the key is sent only after the greeting of a helper. Output of a shell's start-up
// files before the greeting does no harm.
#pragma once

#include <sys/types.h>

#include "net_address.h"

#define AQ_REMOTE_GREETING "aqueduct-helper 1 "
#define AQ_REMOTE_ANSWER "aqueduct-answer 1 " // of other programs than helpers
#define AQ_REMOTE_TEXT 1024

typedef struct aq_remote {
    pid_t pid;                 // 0: none, or reaped
    int in, out, err;          // -1: closed
    char line[AQ_REMOTE_TEXT]; // current line of its output
    size_t line_used;
    char last[AQ_REMOTE_TEXT]; // the end of its standard error
    size_t last_used;
    int status; // from waitpid, once reaped
} aq_remote_t;

// What a helper reports about itself. Texts point into the remote's line.
typedef struct aq_greeting {
    const char *version;
    const char *client;    // address of the ssh client; "-": not over a network
    const char *server;    // address of the ssh server; "-"
    const char *addresses; // all other addresses of its host, separated by commas; "-"
} aq_greeting_t;

void aq_remote_clear(aq_remote_t *remote);
// Starts the child, which ends when this process does. Returns 0 or errno.
int aq_remote_start(aq_remote_t *remote, char *const *argv);
// Reads standard output. Returns, in place, the rest of a complete line that begins with mark;
// NULL: no such line yet.
char *aq_remote_line(aq_remote_t *remote, const char *mark);
// Whether a complete greeting has arrived.
bool aq_remote_greeted(aq_remote_t *remote, aq_greeting_t *out);
// Reads standard error once.
void aq_remote_listen(aq_remote_t *remote);
// Writes the last line of standard error, or how the shell ended.
void aq_remote_reason(aq_remote_t *remote, char *errbuf, size_t errbuf_size);
// Closes the pipes and kills the process if it still runs.
void aq_remote_end(aq_remote_t *remote);

// The addresses of this host as its greeting has them: separated by commas; "-": none.
void aq_remote_own_addresses(char text[AQ_REMOTE_TEXT]);
// For the helper: prints the greeting.
void aq_remote_greet(void);
