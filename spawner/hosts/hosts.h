// SPDX-License-Identifier: BSD-3-Clause
// The hosts that a job may use: a list read from a file, from the user's words, or from what a
// batch system left in the environment; and the placement of ranks on them.
//
//   -H, variables, files, SLURM ... --> aq_hosts_t --> aq_hosts_place --> host of each rank
//
// Always true: no two rows have the same user and name, unless repeats are kept (then each row
// names the first row of its host). The command line of a remote shell cannot mistake a name or a
// user for an option or for several words.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../other/base/log/status.h"

#define AQ_HOSTS_MAX 131072u
#define AQ_HOST_NAME_MAX 255u

typedef struct aq_host {
    char *name;
    char *user;     // NULL: the remote shell's default
    char *prefix;   // folder of the installation there; NULL: the same as here
    char *keys;     // the other key=value words of the line, separated by newlines; NULL: none
    uint32_t slots; // ranks that the host should run; 0: unknown
    uint32_t cpus;  // 0: unknown
    bool idle;      // schedule=no: no rank is placed there
    uint32_t first; // row of the first mention of this host: this row, unless repeats are kept
} aq_host_t;

typedef struct aq_hosts {
    aq_host_t *rows;
    size_t count, room;
    bool keep_repeats; // set before reading: a host that is named again gets a row of its own
    void *known;       // for aq_hosts_add: a search tree (tsearch) over user and name
    char *repeated;    // name of the first host that was given twice and merged; NULL: none
} aq_hosts_t;

// Readers add to a list that is {0} or was read before. On a fault they return false, with one
// sentence in fault (size bytes); the caller still frees the list. Only file access blocks.

// Reads a host file: one host per line, `name key=value ...`; # begins a comment. Faults name what.
bool aq_hosts_read_text(aq_hosts_t *hosts, const char *what, const char *text, size_t length,
                        char *fault, size_t size);

// Reads words separated by commas or blanks: `[user@]name[:slots]`, IPv6 addresses in brackets.
bool aq_hosts_read_list(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                        size_t size);

// Reads SLURM's variables: a list such as n[1-3,07-09],gpu, and slots such as 4(x2),8 or NULL.
bool aq_hosts_read_slurm(aq_hosts_t *hosts, const char *nodes, const char *slots, char *fault,
                         size_t size);
// Reads `name slots name slots ...` (LSB_MCPU_HOSTS).
bool aq_hosts_read_pairs(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                         size_t size);
// Reads names; each mention of a host is a slot (LSB_HOSTS, PBS's file).
bool aq_hosts_read_repeats(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                           size_t size);
// Reads lines `name slots queue processors` (SGE's file).
bool aq_hosts_read_sge(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                       size_t size);

// Takes the first source that names hosts: list (-H; NULL: not given), GASNET_SSH_NODEFILE,
// GASNET_SSH_SERVERS, GASNET_NODEFILE, SSH_SERVERS, then SLURM, PBS, LSF and SGE. Logs faults, and
// a warning if a host is given twice.
aq_status_t aq_hosts_find(aq_hosts_t *hosts, const char *list);

// Describes for the user the source that aq_hosts_find would take; NULL: no source names hosts.
const char *aq_hosts_source(const char *list);

// Adds a row, with copies of the texts of host. Unless repeats are kept, an existing row gets the
// additional slots and processors instead.
bool aq_hosts_add(aq_hosts_t *hosts, const aq_host_t *host, char *fault, size_t size);
bool aq_hosts_legal_name(const char *name);
bool aq_hosts_legal_user(const char *user);
void aq_hosts_free(aq_hosts_t *hosts);

// ---- placement of ranks ----

typedef struct aq_placement {
    uint32_t size;          // ranks
    uint32_t host_count;    // -N: the first host_count hosts share the ranks evenly; 0: not given
    uint32_t cpus_per_rank; // -c: a host with cpu=8 has 8 / cpus_per_rank slots; 0: not given
    bool cyclic;
} aq_placement_t;

// Sets the row of each rank (size entries); for a repeated host, its first row. Without -N: fills
// slots in the order of the list if any host has slots, else spreads ranks evenly over all hosts.
// *overfull: there are more ranks than slots.
bool aq_hosts_place(const aq_hosts_t *hosts, const aq_placement_t *placement, uint32_t *row_of_rank,
                    bool *overfull, char *fault, size_t size);
