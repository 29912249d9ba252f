// The hosts that a job may use: a list read from a file, from words of the user, or from what a
// batch system left in the environment; and which rank goes where.
//
//   -H, variables, files, SLURM ... --> aq_hosts_t --> aq_hosts_place --> host of each rank
//
// Always true: no two rows have the same user and name, unless repeats are kept (then each names
// the first of its kind); a name and a user are words that a remote shell's command line cannot
// take for an option or for several words.
#ifndef AQ_HOSTS_H
#define AQ_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../other/base/status.h"

#define AQ_HOSTS_MAX 16384u
#define AQ_HOST_NAME_MAX 255u

typedef struct aq_host {
    char *name;
    char *user;     // NULL: the remote shell's own choice
    char *prefix;   // where Aqueduct is installed there; NULL: where it is here
    char *keys;     // the other key=value words of the line, a blank between; NULL: none
    uint32_t slots; // ranks it is meant to carry; 0: not told
    uint32_t cpus;  // 0: not told
    bool idle;      // schedule=no: no rank goes there
    uint32_t first; // row in which this host is named first: this one, unless repeats are kept
} aq_host_t;

typedef struct aq_hosts {
    aq_host_t *rows;
    size_t count, room;
    bool keep_repeats; // set before reading: a host that is named again gets a row of its own
    void *known;       // of aq_hosts_add: a search tree (tsearch) over user and name
    char *repeated;    // name of the first host that was given twice, and merged; NULL: none
} aq_hosts_t;

// All readers add to a list that is {0} or was read before. On a fault they return false with one
// sentence in fault (room bytes); the list is then still to be freed. They do not block but for
// files.

// A host file: one host a line, `name key=value ...`, # begins a comment. what is named in faults.
bool aq_hosts_read_text(aq_hosts_t *hosts, const char *what, const char *text, size_t length,
                        char *fault, size_t room);
bool aq_hosts_read_file(aq_hosts_t *hosts, const char *path, char *fault, size_t room);

// Words with commas or blanks between: `[user@]name[:slots]`, IPv6 addresses in brackets.
bool aq_hosts_read_list(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                        size_t room);

// What SLURM says: a list such as n[1-3,07-09],gpu, and slots such as 4(x2),8 or NULL.
bool aq_hosts_read_slurm(aq_hosts_t *hosts, const char *nodes, const char *slots, char *fault,
                         size_t room);
// `name slots name slots ...` (LSB_MCPU_HOSTS).
bool aq_hosts_read_pairs(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                         size_t room);
// Names; each time that one is named is a slot (LSB_HOSTS, and PBS's file).
bool aq_hosts_read_repeats(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                           size_t room);
// Lines `name slots queue processors` (SGE's file).
bool aq_hosts_read_sge(aq_hosts_t *hosts, const char *what, const char *text, char *fault,
                       size_t room);

// Takes the first that names hosts: list (-H; NULL: not given), GASNET_SSH_NODEFILE,
// GASNET_SSH_SERVERS, GASNET_NODEFILE, SSH_SERVERS, then SLURM, PBS, LSF and SGE. Logs faults, and
// a warning when a host is given twice.
aq_status_t aq_hosts_find(aq_hosts_t *hosts, const char *list);

// What aq_hosts_find would take, in words for the user; NULL: nothing names hosts.
const char *aq_hosts_source(const char *list);

// Adds a row; owns no text of host. One that is there already gets the slots and processors too,
// unless repeats are kept.
bool aq_hosts_add(aq_hosts_t *hosts, const aq_host_t *host, char *fault, size_t room);
bool aq_hosts_legal_name(const char *name);
bool aq_hosts_legal_user(const char *user);
void aq_hosts_free(aq_hosts_t *hosts);

// ---- which rank goes where ----

typedef struct aq_placement {
    uint32_t size;          // ranks
    uint32_t host_count;    // -N: the first so many hosts share the ranks evenly; 0: not given
    uint32_t cpus_per_rank; // -c: a host with cpu=8 then has 8 / that many slots; 0: not given
    bool cyclic;
} aq_placement_t;

// Fills in the row of each rank (size entries): of repeated ones the first. Without -N: by slots,
// in the order of the list, when any host has some; else evenly over all hosts. *overfull: there
// are more ranks than slots.
bool aq_hosts_place(const aq_hosts_t *hosts, const aq_placement_t *placement, uint32_t *row_of_rank,
                    bool *overfull, char *fault, size_t room);

#endif
