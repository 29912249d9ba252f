// SPDX-License-Identifier: BSD-3-Clause
// Starting and supervising the ranks of this host: what the launcher, the helper of a host and a
// program that forks its own ranks have in common. supervisor_job.h has the state.
#pragma once

#include "../boot/boot.h"

// The ranks of this host in a job that has ranks on other hosts too.
typedef struct aq_supervise_part {
    struct aq_boot_page *page; // made and filled in by the caller
    int page_fd;
    const uint32_t *ranks; // their numbers in the job, ascending, with the reserve
    uint32_t launcher;     // the process that knows the ranks of all hosts, and where it is
    const char *launcher_host;
} aq_supervise_part_t;

typedef struct aq_supervise_options {
    uint32_t size;                   // ranks to start here
    uint32_t reserve;                // ranks that may be started later (grow in aq_boot_ops_t)
    const aq_supervise_part_t *part; // NULL: these ranks are the whole job
    char *const *argv; // program and arguments that each rank executes; NULL: only fork, see below
    const char *environment; // names of variables to pass, separated by commas (-E); NULL: all
    bool label_lines;        // prefix each line of output with the rank
    bool one_layout;         // with argv: map code and data at the same addresses in all ranks
    uint32_t cpus_per_rank;  // -c: bind each rank to that many processors; 0: see GASNET_BIND
} aq_supervise_options_t;

// Starts the ranks, forwards their output line by line, standard input to rank 0, and signals to
// all, and blocks until all ranks are gone. *code is the exit code of the job, also when nothing
// could be started. Logs faults.
//
// A reserve needs argv.
//
// With argv: returns false, in the caller only. With argv NULL: returns true in each child, with
// *out set; in the caller it does not return but ends the process with the code of the job.
//
// The settings must be loaded. Takes over all signals and all children of the process.
bool aq_supervise(const aq_supervise_options_t *options, aq_boot_t **out, int *code);
