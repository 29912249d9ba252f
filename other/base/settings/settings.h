// SPDX-License-Identifier: BSD-3-Clause
// The settings table: every environment variable is one row {name, type, default, range, help}.
//
// Parsing, gasnet_info -e, the manual page and the test that each variable is documented come from
// this table. A value that does not parse stops the job with the name, the value and what would be
// legal. To add a variable: an id here and a row in settings_table.c; if only one conduit reads it,
// an id and a row in the profile of that conduit (profile.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "settings_ignored.h"
#include "../size.h"
#include "../log/status.h"

typedef enum aq_setting_id {
    AQ_SET_CONDUIT,        // GASNET_CONDUIT: which network conduit; default from the link name
    AQ_SET_SPAWNER,        // GASNET_SPAWNER: auto, one of AQ_SPAWNERS, or a boot module
    AQ_SET_SPAWN_PRIORITY, // GASNET_SPAWN_PRIORITY: spawners that are preferred
    AQ_SET_POD_SERVICE,    // GASNET_POD_SERVICE: where rank 0 listens, for boot module k8s
    AQ_SET_MPIRUN_CMD,     // MPIRUN_CMD: how spawner mpi starts a job
    AQ_SET_PMIRUN_CMD,     // PMIRUN_CMD: the same for spawner pmi
    AQ_SET_MPI_THREAD,     // GASNET_MPI_THREAD: auto SINGLE FUNNELED SERIALIZED MULTIPLE
    AQ_SET_MPI_FINALIZE,   // GASNET_MPI_FINALIZE: gasnet_exit finalizes MPI
    AQ_SET_SSH_NODEFILE,   // GASNET_SSH_NODEFILE, _SSH_SERVERS, _NODEFILE: the hosts of a job
    AQ_SET_SSH_SERVERS,
    AQ_SET_NODEFILE,
    AQ_SET_SSH_KEEPDUP,        // GASNET_SSH_KEEPDUP: a host that is named twice takes ranks twice
    AQ_SET_SSH_CMD,            // GASNET_SSH_CMD: the remote shell
    AQ_SET_SSH_OPTIONS,        // GASNET_SSH_OPTIONS: its options
    AQ_SET_SSH_OUT_DEGREE,     // GASNET_SSH_OUT_DEGREE: radix of the tree
    AQ_SET_SSH_REMOTE_PATH,    // GASNET_SSH_REMOTE_PATH: working directory of the ranks
    AQ_SET_SPAWN_ALGORITHM,    // GASNET_SPAWN_ALGORITHM: tree window linear threads
    AQ_SET_SPAWN_WINDOW,       // GASNET_SPAWN_WINDOW: hosts that are started at the same time
    AQ_SET_SPAWN_TIMEOUT,      // GASNET_SPAWN_TIMEOUT: seconds for a host to start
    AQ_SET_SPAWN_PORTS,        // GASNET_SPAWN_PORTS: range of ports
    AQ_SET_UNIVERSE,           // GASNET_UNIVERSE: which universe of this user
    AQ_SET_SPAWN_PROMISCUOUS,  // GASNET_SPAWN_PROMISCUOUS: any address may call
    AQ_SET_PSHM_NODES,         // GASNET_PSHM_NODES: processes that a bare executable starts
    AQ_SET_PSHM_NETWORK_DEPTH, // GASNET_PSHM_NETWORK_DEPTH: messages of maximum size that a ring
                               // holds
    AQ_SET_PSHM_COPY,          // GASNET_PSHM_COPY: puts and gets by one copy of the kernel
    AQ_SET_SUPERNODE_MAXSIZE,  // GASNET_SUPERNODE_MAXSIZE: processes that share memory; 0: no limit
    AQ_SET_SPAWNFN,            // GASNET_SPAWNFN: how conduit udp starts ranks, in GASNet's letters
    AQ_SET_CSPAWN_CMD,         // GASNET_CSPAWN_CMD, _SERVERS, _ROUTE_OUTPUT, _KEY: spawner custom
    AQ_SET_CSPAWN_SERVERS,
    AQ_SET_CSPAWN_ROUTE_OUTPUT,
    AQ_SET_CSPAWN_KEY,
    AQ_SET_BIND,        // GASNET_BIND: auto core none
    AQ_SET_WORKER_RANK, // GASNET_WORKER_RANK: which rank a process of spawner custom becomes
    AQ_SET_SPAWN_KEY,   // GASNET_SPAWN_KEY: set by the launcher
    AQ_SET_MASTER,      // GASNET_MASTER, _RANK, _SIZE, _KEY_FILE, _KEY_FD: spawner rendezvous
    AQ_SET_RANK,
    AQ_SET_SIZE,
    AQ_SET_KEY_FILE,
    AQ_SET_KEY_FD,
    AQ_SET_MASTERIP,        // GASNET_MASTERIP: address of the launcher, as the ranks see it
    AQ_SET_CONNECT_TIMEOUT, // GASNET_CONNECT_TIMEOUT: seconds; 0: none
    AQ_SET_HOST_TIMEOUT, // GASNET_UDP_HOST_TIMEOUT: seconds that a host may be silent; 0: for ever
    AQ_SET_RCV_THREAD,   // GASNET_RCV_THREAD: a thread that handles arrivals
    AQ_SET_SND_THREAD,   // GASNET_SND_THREAD: a thread that reaps what was sent
    AQ_SET_USE_FIREHOSE, // GASNET_USE_FIREHOSE and its kin: what conduits pin; see
    AQ_SET_FIREHOSE_M,   // firehose/firehose_params.h
    AQ_SET_FIREHOSE_R,
    AQ_SET_FIREHOSE_MAXVICTIM_M,
    AQ_SET_FIREHOSE_MAXVICTIM_R,
    AQ_SET_FIREHOSE_MAXREGION_SIZE,
    AQ_SET_FIREHOSE_TABLE_SCALE,
    AQ_SET_FIREHOSE_VERBOSE,
    AQ_SET_PUTINMOVE_LIMIT,
    AQ_SET_PHYSMEM_MAX,
    AQ_SET_PINNED_REGIONS_MAX,
    AQ_SET_MAXIMIZE_MEMLOCK,
    AQ_SET_DISABLE_MUNMAP,
    AQ_SET_MODULE_PATH,    // GASNET_MODULE_PATH: where conduit modules are looked for first
    AQ_SET_ALIGN_SEGMENTS, // GASNET_ALIGN_SEGMENTS
    AQ_SET_USE_HUGEPAGES,  // GASNET_USE_HUGEPAGES
    AQ_SET_SEGMENT_TOUCH,  // GASNET_SEGMENT_TOUCH
    AQ_SET_MAX_SEGSIZE,    // GASNET_MAX_SEGSIZE
    AQ_SET_MAX_THREADS,    // GASNET_MAX_THREADS
    AQ_SET_WAITMODE,       // GASNET_WAITMODE: auto spin block spinblock
    AQ_SET_SPIN_US,        // GASNET_SPIN_US: microseconds a wait spins before it yields
    AQ_SET_MSG_EAGER,      // GASNET_MSG_EAGER: bytes of a two-sided message that is sent at once
    AQ_SET_MSG_DEVICE,     // GASNET_MSG_DEVICE: bytes of the shortest one that the device reads
    AQ_SET_MSG_MEMORY,     // GASNET_MSG_MEMORY: bytes of messages that a rank keeps for all others
    AQ_SET_MSG_SHARED,     // GASNET_MSG_SHARED: bytes that gasnetx_Msg_Alloc has at most
    AQ_SET_COLL_TUNING_FILE, // GASNET_COLL_TUNING_FILE: limits of collectives
    AQ_SET_TRAFFIC,          // GASNET_TRAFFIC: file of the traffic matrix
    AQ_SET_TRAFFIC_SIGNAL,   // GASNET_TRAFFIC_SIGNAL
    AQ_SET_TRACE,            // GASNET_TRACE: file of the trace, and what is in it
    AQ_SET_TRACE_SIZE,       // GASNET_TRACE_SIZE: bytes of events that a thread keeps
    AQ_SET_TRACE_SKEW,       // GASNET_TRACE_SKEW: wrong clocks, for tests
    AQ_SET_TRACEFILE,        // GASNET_TRACEFILE and its kin: the same in GASNet's words
    AQ_SET_TRACEMASK,
    AQ_SET_TRACENODES,
    AQ_SET_TRACELOCAL,
    AQ_SET_STATSFILE, // GASNET_STATSFILE and its kin: counters of a rank as text
    AQ_SET_STATSMASK,
    AQ_SET_STATSNODES,
    AQ_SET_WAKE_LIMIT,  // GASNET_WAKE_LIMIT: milliseconds of a sleep on the descriptor; 0: auto
    AQ_SET_EXITTIMEOUT, // GASNET_EXITTIMEOUT and its family: seconds
    AQ_SET_EXITTIMEOUT_MIN,
    AQ_SET_EXITTIMEOUT_MAX,
    AQ_SET_EXITTIMEOUT_FACTOR,
    AQ_SET_TERM_TIMEOUT,     // GASNET_TERM_TIMEOUT: seconds
    AQ_SET_LINE_BUFFER,      // GASNET_LINE_BUFFER
    AQ_SET_LINE_WAIT,        // GASNET_LINE_WAIT: milliseconds
    AQ_SET_CATCH_EXIT,       // GASNET_CATCH_EXIT
    AQ_SET_NO_CATCH_SIGNAL,  // GASNET_NO_CATCH_SIGNAL
    AQ_SET_FREEZE,           // GASNET_FREEZE
    AQ_SET_FREEZE_ON_ERROR,  // GASNET_FREEZE_ON_ERROR
    AQ_SET_FREEZE_SIGNAL,    // GASNET_FREEZE_SIGNAL
    AQ_SET_ERRORS,           // GASNET_ERRORS: end return
    AQ_SET_BACKTRACE,        // GASNET_BACKTRACE
    AQ_SET_BACKTRACE_NODES,  // GASNET_BACKTRACE_NODES
    AQ_SET_BACKTRACE_SIGNAL, // GASNET_BACKTRACE_SIGNAL
    AQ_SET_REPORT_SIGNAL,    // GASNET_REPORT_SIGNAL
    AQ_SET_BACKTRACE_TYPE,   // GASNET_BACKTRACE_TYPE
    AQ_SET_BACKTRACE_MT,     // GASNET_BACKTRACE_MT
    AQ_SET_STATS,            // GASNET_STATS: counters at the end
    AQ_SET_VERBOSE,          // GASNET_VERBOSE
    AQ_SET_VERBOSEENV,       // GASNET_VERBOSEENV
    AQ_SET_SPAWN_VERBOSE,    // GASNET_SPAWN_VERBOSE
    AQ_SET_QUIET,            // GASNET_QUIET
    AQ_SET_SPAWN_CONDUIT, // GASNET_SPAWN_CONDUIT: set by the launcher for its ranks, not by users
    AQ_SET_SPAWN_CONTROL, // GASNET_SPAWN_CONTROL: the same
    AQ_SET_SPAWN_REPORTS, // GASNET_SPAWN_REPORTS: the same
    AQ_SET_SPAWN_BEFORE,  // GASNET_SPAWN_BEFORE: the same
    AQ_SET_COUNT
} aq_setting_id_t;

// The spawners that are built in; the boot modules of the source tree; and what a setting that
// chooses one of them takes. configure.ac reads the words.
#define AQ_SPAWNERS "fork ssh universe custom rendezvous mpi pmi"
#define AQ_BOOT_MODULES "k8s slurm tm"
#define AQ_SPAWNER_CHOICES "auto " AQ_SPAWNERS " " AQ_BOOT_MODULES

typedef enum aq_setting_type {
    AQ_TYPE_BOOL,
    AQ_TYPE_INT,
    AQ_TYPE_REAL,
    AQ_TYPE_BYTES,
    AQ_TYPE_KILOBYTES, // bytes; a number without a unit is in KB
    AQ_TYPE_MEGABYTES, // bytes; a number without a unit is in MB
    AQ_TYPE_POWER,     // a power of 2, spelled like bytes; also 0 if low is 0
    AQ_TYPE_LIMIT,     // aq_size_limit_t
    AQ_TYPE_CHOICE,    // one of the words in choices
    AQ_TYPE_SIGNALS,   // text: signals separated by commas
    AQ_TYPE_RANKS,     // text: ranks and ranges of ranks separated by commas, or *
    AQ_TYPE_PORTS,     // text: a port, or a range of ports
    AQ_TYPE_TEXT,
} aq_setting_type_t;

typedef struct aq_setting {
    const char *name;
    aq_setting_type_t type;
    const char *fallback; // the default, as text of the same type; "" for text: not set
    double low, high;     // legal range of numbers, inclusive; both 0: any
    // AQ_TYPE_CHOICE: legal words, separated by blanks; AQ_TYPE_SIGNALS and AQ_TYPE_LIMIT: an
    // additional legal word (the limit is then all zero).
    const char *choices;
    const char *help; // a few sentences, without line breaks
} aq_setting_t;

// The rows of one owner: the library, or a conduit with rows in its folder.
typedef struct aq_setting_group {
    const char *owner; // as in messages: "the library", "conduit udp"
    const aq_setting_t *rows;
    size_t count;
} aq_setting_group_t;

// The library's own rows, in the order of the ids.
extern const aq_setting_t aq_settings[AQ_SET_COUNT];

// Adds the rows of a module, and reads their values if the other rows were read. Replaces an
// earlier group of the same owner. AQ_ERR_CONFIG, with one sentence in err: a name belongs to
// another owner, which the sentence names, or a value is not legal. One thread at a time.
aq_status_t aq_settings_add(const aq_setting_group_t *group, char *err, size_t err_size);

// All rows of all owners, for tools: index is below aq_settings_count().
size_t aq_settings_count(void);
const aq_setting_t *aq_settings_at(size_t index);

// Reads the environment. If a value is not legal, writes one sentence into err (name, value, legal
// values) and returns AQ_ERR_CONFIG; no value changes. It does not log, so that one process can
// report the fault for the job. May be called again (tests); one thread at a time.
aq_status_t aq_settings_load(char *err, size_t err_size);
// The same, and logs the sentence.
aq_status_t aq_settings_load_logged(void);

// Checks one variable without changing its value: for tools that report all faults at once.
aq_status_t aq_settings_check(const aq_setting_t *row, char *err, size_t err_size);

// The value of a row; the type must match (asserted). Before a load: the default. Text is owned by
// the table until the next load and never NULL. A CHOICE is spelled as in the table, whatever case
// the user chose.
bool aq_setting_bool(const aq_setting_t *row);
int64_t aq_setting_int(const aq_setting_t *row);
double aq_setting_real(const aq_setting_t *row);
uint64_t aq_setting_bytes(const aq_setting_t *row); // AQ_TYPE_BYTES, _KILOBYTES, _MEGABYTES, _POWER
const aq_size_limit_t *aq_setting_limit(const aq_setting_t *row);
// AQ_TYPE_TEXT, _CHOICE, _SIGNALS, _RANKS and _PORTS
const char *aq_setting_text(const aq_setting_t *row);

// Whether the user set the variable; an empty value counts as not set.
bool aq_setting_given(const aq_setting_t *row);

// The same functions for the library's own rows.
const aq_setting_t *aq_settings_row(aq_setting_id_t id);

static inline bool aq_settings_bool(aq_setting_id_t id)
{
    return aq_setting_bool(aq_settings_row(id));
}

static inline int64_t aq_settings_int(aq_setting_id_t id)
{
    return aq_setting_int(aq_settings_row(id));
}

static inline double aq_settings_real(aq_setting_id_t id)
{
    return aq_setting_real(aq_settings_row(id));
}

static inline uint64_t aq_settings_bytes(aq_setting_id_t id)
{
    return aq_setting_bytes(aq_settings_row(id));
}

static inline const aq_size_limit_t *aq_settings_limit(aq_setting_id_t id)
{
    return aq_setting_limit(aq_settings_row(id));
}

static inline const char *aq_settings_text(aq_setting_id_t id)
{
    return aq_setting_text(aq_settings_row(id));
}

static inline bool aq_settings_given(aq_setting_id_t id)
{
    return aq_setting_given(aq_settings_row(id));
}

// The current value of a BOOL variable in the environment, whether settings were loaded or not; the
// default if the value is not legal.
bool aq_settings_bool_now(aq_setting_id_t id);

// Describes the legal values of a row, to follow "is" or "is not": "a whole number from 1 to 1024",
// "one of auto, fork".
void aq_settings_describe(const aq_setting_t *row, char *buf, size_t size);

// Formats a user's value for a message: characters that are not plain text become '?', and a value
// that does not fit is truncated, with "..." at its end. size: more than 4.
void aq_settings_quote(const char *value, char *buf, size_t size);

// Prints each variable: name, legal values, default and help, at most 100 columns wide; for
// gasnet_info -e.
void aq_settings_print_table(FILE *out);

// Prints one line for each variable that is set, with its value (GASNET_VERBOSEENV); those without
// effect come last, with the reason.
void aq_settings_print_given(FILE *out);

// Prints the variables without effect (settings_ignored.h) with the reasons, at most 100 columns
// wide; for gasnet_info -e.
void aq_settings_print_ignored(FILE *out);

// Warns of each variable without effect that is set and of which no owner has a row, with the
// reason; an empty value counts as not set.
void aq_settings_warn_ignored(void);

// Calls back for each name in the environment that begins with GASNET_ and is neither in the table
// nor among the variables without effect, with the nearest known name or NULL, so that a spelling
// mistake is noticed.
void aq_settings_unknown(void (*tell)(const char *name, const char *nearest, void *arg), void *arg);
