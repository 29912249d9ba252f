// Asking all hosts of a list the same thing at the same time, for gasnet_recon and gasnet_wipe; and
// what gasnetrun answers there.
#ifndef AQ_HOST_PROBE_H
#define AQ_HOST_PROBE_H

#include "hosts.h"
#include "remote.h"

#define AQ_PROBE_TEXT 4096

typedef struct aq_probe_host {
    const aq_host_t *row;
    aq_remote_t remote;
    uint64_t deadline;
    bool begun, done;
    bool answered;              // there was a line of ours, and the exit code was 0
    uint64_t clock_ms;          // our time of day when it came
    char answer[AQ_PROBE_TEXT]; // the lines, as far as they fit
    char why[AQ_REMOTE_TEXT];   // when not answered
} aq_probe_host_t;

// What both programs take: -H, -a where `all` is not NULL, -h, --version. Finds the hosts. Returns
// -1, or the exit code with which the program is to end now.
int aq_probe_options(int argc, char **argv, const char *usage, aq_hosts_t *hosts, bool *all);

// Runs `gasnetrun word` on all hosts, at most that many at a time; blocks until all have answered
// or failed. The table has a row for each host and is to be freed; NULL: no memory (logged).
aq_probe_host_t *aq_probe_hosts(const aq_hosts_t *hosts, const char *word);

// What to do about a host that did not answer; never NULL.
const char *aq_probe_remedy(const char *why);

uint64_t aq_probe_clock_ms(void);

// On the host: print the answer, return the exit code.
int aq_recon_answer(void);
int aq_wipe_answer(bool all);

#endif
