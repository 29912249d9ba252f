// SPDX-License-Identifier: BSD-3-Clause
// Running one command on all hosts of a list in parallel, for gasnet_recon and gasnet_wipe, and
// what gasnetrun answers on each host.
#pragma once

#include "../wire/frame.h"
#include "../hosts/hosts.h"
#include "../shell/remote.h"

#define AQ_PROBE_TEXT 4096

typedef struct aq_probe_host {
    const aq_host_t *row;
    aq_remote_t remote;
    uint64_t deadline;
    const struct aq_probe_task *task;
    bool begun, done;
    bool given;                 // the input, if the task has one
    bool answered;              // the exit code was 0, and there was an answer line
    uint64_t clock_ms;          // local time of day of the answer
    char answer[AQ_PROBE_TEXT]; // the lines, as far as they fit
    char why[AQ_REMOTE_TEXT];   // if not answered
} aq_probe_host_t;

// Parses the options that all these programs have (-H, -h, --version, and -a if `all` is not NULL)
// and loads the settings. *list: the value of -H; NULL: not given. Returns -1, or the exit code
// with which the program must end now.
int aq_probe_options(int argc, char **argv, const char *usage, const char **list, bool *all);
// Finds the hosts (aq_hosts_find). Returns -1, or the exit code as above.
int aq_probe_find(aq_hosts_t *hosts, const char *list);

// Appends the input of the program on that host.
typedef void aq_probe_input_t(const aq_host_t *row, void *item, aq_bytes_t *out);

// What to run on the hosts. With `input` the program gets that on its standard input, once the
// first line of its answer has said that it is of this version; then the answer goes on.
typedef struct aq_probe_task {
    const char *word; // for gasnetrun
    aq_probe_input_t *input;
    void *item;
} aq_probe_task_t;

// Runs `gasnetrun word` on all hosts, up to 32 at a time, and blocks until all have answered or
// failed. Returns a table with one row per host, which the caller frees. NULL: no memory (logged).
aq_probe_host_t *aq_probe_hosts(const aq_hosts_t *hosts, const aq_probe_task_t *task);

// Returns what the user can do about a host that did not answer; never NULL.
const char *aq_probe_remedy(const char *why);

uint64_t aq_probe_clock_ms(void);

// Run on the host: print the answer and return the exit code.
int aq_recon_answer(void);
int aq_wipe_answer(bool all);
