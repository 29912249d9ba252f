// The remote shell that starts a helper: a child of ours with pipes to its standard streams.
//
//   we                              remote shell                     helper
//   argv: ssh host 'exec .../gasnetrun --helper' ------------------> starts
//                                   <-- "aqueduct-helper 1 version client addresses\n" --
//   INTRO (key, whom to call) ------------------------------------->  calls us by TCP
//                                                                     goes on without the shell
//
// Always true: the key is sent to nothing but a program that has greeted as ours. What a shell's
// start-up files print before the greeting does no harm.
#ifndef AQ_REMOTE_H
#define AQ_REMOTE_H

#include <sys/types.h>

#include "net_address.h"

#define AQ_REMOTE_GREETING "aqueduct-helper 1 "
#define AQ_REMOTE_ANSWER "aqueduct-answer 1 " // of other programs than helpers
#define AQ_REMOTE_TEXT 1024

typedef struct aq_remote {
    pid_t pid;                 // 0: none, or reaped
    int in, out, err;          // -1: closed
    char line[AQ_REMOTE_TEXT]; // of its output, the current line
    size_t line_used;
    char last[AQ_REMOTE_TEXT]; // the end of what it wrote to standard error
    size_t last_used;
    int status; // of waitpid, when it was reaped
} aq_remote_t;

// What a helper tells about itself. Texts point into the remote's line.
typedef struct aq_greeting {
    const char *version;
    const char *client;    // the address from which it was reached; "-": not by network
    const char *server;    // its own address in that; "-"
    const char *addresses; // all others of its host, commas between; "-"
} aq_greeting_t;

void aq_remote_clear(aq_remote_t *remote);
// 0 or errno. The child ends when we do.
int aq_remote_start(aq_remote_t *remote, char *const *argv);
// Reads standard output; the rest of a line behind that mark, when such a line has come in whole,
// in place; else NULL.
char *aq_remote_line(aq_remote_t *remote, const char *mark);
// Whether a greeting has come in whole.
bool aq_remote_greeted(aq_remote_t *remote, aq_greeting_t *out);
// Reads standard error once.
void aq_remote_listen(aq_remote_t *remote);
// The last line that stands on standard error, or how the shell ended.
void aq_remote_reason(aq_remote_t *remote, char *why, size_t room);
// Closes the pipes; ends the process if it lives.
void aq_remote_end(aq_remote_t *remote);

// The helper's side. program: what to print as version.
void aq_remote_greet(void);

#endif
