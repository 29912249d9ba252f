// The bootstrap contract: what a rank learns from whoever started it, and what it may ask of it.
//
// A way to start jobs has two sides, each one const table: that of a rank, aq_boot_ops_t, used at
// init, attach and exit only, never in between; and that of the launcher, aq_spawn_module_t, at the
// end of this file. Nothing here runs handlers or knows conduits.
//
//   launcher or first process                         rank (in gex_Client_Init)
//   gasnetrun: options -> module -> aq_supervise() ---fork/exec--> aq_boot_start() -> aq_boot_t
//   bare executable: aq_boot_start() -----fork---------> aq_boot_start() returns in each child;
//                    the first process stays in aq_supervise() and never returns
#ifndef AQ_SPAWNER_H
#define AQ_SPAWNER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../other/base/status.h"

#define AQ_KEY_BYTES 16
#define AQ_RANKS_MAX 1024      // ranks that one host may carry
#define AQ_JOB_RANKS_MAX 65536 // ranks of a job
#define AQ_EXIT_USAGE 2   // the launcher's exit code when options, hosts or variables are not legal
#define AQ_BOOT_RUNNING 0 // value of *exit_word while no rank asked to end the job

typedef struct aq_boot aq_boot_t;

typedef struct aq_boot_ops {
    // All of these: called by one thread at a time, in the same order by all ranks where they are
    // collective; may block until the other ranks have called; run no handlers themselves
    // (see aq_boot_meanwhile); faults are logged by the back end.

    // Collective. Gathers len bytes (any length, the same at all ranks) of every rank into all, in
    // rank order (size * len bytes, owned by the caller).
    aq_status_t (*exchange)(aq_boot_t *boot, const void *mine, size_t len, void *all);
    // Collective. This and the other two collective calls return AQ_ERR_PEER, unlogged, when the
    // end of the job is announced before all ranks have called: the caller then leaves. No
    // collective call is legal afterwards.
    aq_status_t (*barrier)(aq_boot_t *boot);
    // Collective. Copies root's len bytes into buf of all others.
    aq_status_t (*broadcast)(aq_boot_t *boot, void *buf, size_t len, uint32_t root);

    // Not collective; any thread, also a signal handler (async-signal-safe); does not block.
    // Announces that the job ends with code. The first announcement of the host wins; returns the
    // code that won. Afterwards *exit_word of every rank becomes 1 + (code & 0xff), and ranks that
    // sleep on it are woken. Of the hosts, the first whose announcement reaches the launcher
    // decides the code of the job; ranks of another host that announced at the same time keep
    // theirs. (See exit_stays_here.)
    int (*announce_exit)(aq_boot_t *boot, int code);
    // Not collective; async-signal-safe; does not return. Takes the whole job down now, with code.
    void (*abort)(aq_boot_t *boot, int code) __attribute__((noreturn));
    // Says that this rank leaves in good order and will exit with the announced code soon. The
    // caller owns boot no longer, but *exit_word may still be read and announce_exit and abort
    // called until the process ends: a signal handler or another thread may be late.
    void (*finalize)(aq_boot_t *boot);
} aq_boot_ops_t;

struct aq_boot {
    const aq_boot_ops_t *ops;
    uint32_t rank;
    uint32_t size;
    // index of the host of each rank, numbered from 0 by first appearance
    const uint32_t *host_of_rank;
    // numeric address of some other host of the job, to find the interface that leads to it; "":
    // not known, or there is no other host
    const char *peer;
    // the job's random key; secret: never printed, never in an environment
    uint8_t key[AQ_KEY_BYTES];
    uint32_t processors; // that the ranks of this host share; 0: not known
    // Where each rank of this host waits: 1 + the number of the processor, or 0: nowhere. Each
    // writes its own. A hint that may be late at any time. NULL: not known.
    _Atomic uint16_t *seats;
    bool exit_stays_here; // announce_exit reaches no ranks of other hosts, which have to be told
                          // over the network
    // The core's: the client returns from main, or calls exit(), where no supervisor sees that.
    // Ends this process and the job if exit_stays_here is set, or another thread is about to do so;
    // else returns. NULL: not yet.
    void (*leave)(int code);
    // Whether a rank may not die of a signal without a word, since nobody may see it: it has to
    // abort with 128 + the number of the signal.
    bool tells_signals;
    bool watched;               // whoever started this rank ends it when it takes too long to
                                // leave, and sees whether it waits for the reader of its output
    bool line_buffer;           // standard output of the launcher is a terminal
    _Atomic int32_t *exit_word; // see announce_exit; may be read at any time
};

// Whether a rank asked to end the job, or it failed. May be asked at any time, by any thread.
static inline bool aq_boot_ended(const aq_boot_t *boot)
{
    return atomic_load_explicit(boot->exit_word, memory_order_relaxed) != AQ_BOOT_RUNNING;
}

// Finds out how this process was started, and joins the job: started by a launcher, or bare with
// GASNET_PSHM_NODES=N or ranks from its arguments (then this forks: as many children return as
// ranks, the caller supervises them and exits), or alone (a job of one rank). conduit: the
// one that is asked for; ranks: of aq_boot_take_ranks. Settings must be loaded. Blocks. Logs
// faults. On AQ_OK *out is owned by the caller until finalize.
aq_status_t aq_boot_start(const char *conduit, uint32_t ranks, aq_boot_t **out);

// Collective over the job: whether all ranks are well. Of those that are not, the first logs why,
// if there is a sentence; all return its status, and not before it has said so: some launchers end
// the job when a rank leaves.
aq_status_t aq_boot_agree(aq_boot_t *boot, aq_status_t status, const char *why);

// The same, and nobody logs that. *first: this rank is the first of those that are not well.
aq_status_t aq_boot_agree_quietly(aq_boot_t *boot, aq_status_t status, bool *first);

// Around all that a rank does to start: what it logs as a fault in between is told by whoever
// started it, at the end of the job, once for all ranks that cannot start. Behind that, and where
// nobody started it, it prints its faults itself.
void aq_boot_begin_start(void);
void aq_boot_end_start(void);

// From now on a rank that waits in a collective call runs turn again and again, at least every few
// milliseconds, in the thread that called: what the rank sent before may have to be sent again, and
// others may wait for an answer before they come. turn returns how much it found to do; it may end
// the process.
void aq_boot_meanwhile(unsigned (*turn)(void));

// Nanoseconds that the ranks of a job of that size get to leave by themselves once its end is
// announced (GASNET_EXITTIMEOUT and its kin). Settings must be loaded.
uint64_t aq_boot_exit_timeout(uint32_t size);

// The habit of conduit udp: a program that is linked for it and started without a launcher begins
// with the number of ranks, `program N arguments`, unless GASNET_PSHM_NODES tells it. Takes that
// argument away; *ranks is 0 where there is no such habit. argc and argv as main got them, or NULL.
// Settings must be loaded. AQ_ERR_CONFIG: the number is missing or wrong; logged.
aq_status_t aq_boot_take_ranks(const char *conduit, int *argc, char ***argv, uint32_t *ranks);

// What this build can start ranks with, for gasnet_info.
typedef struct aq_spawner_report {
    const char *name;
    bool usable;
    char why[256]; // one sentence: how to use it, or why it cannot be used
} aq_spawner_report_t;

// Fills up to max reports, in order of preference; returns how many there are.
size_t aq_boot_report(aq_spawner_report_t *out, size_t max);

// ---- the side of whoever starts ranks on this host ----

// The ranks of this host, of a job that has ranks on others too.
typedef struct aq_supervise_part {
    struct aq_boot_page *page; // made and filled in by the caller
    int page_fd;
    const uint32_t *ranks; // their numbers in the job, ascending; as many as options->size
    uint32_t job_size;
} aq_supervise_part_t;

typedef struct aq_supervise_options {
    uint32_t size;                   // ranks to start here
    const aq_supervise_part_t *part; // NULL: they are the whole job
    char *const *argv; // program and arguments to exec in each rank; NULL: fork only, see below
    const char *environment; // names of variables to pass, commas between (-E); NULL: all
    bool label_lines;        // prefix each line of output with the rank
    bool one_layout;         // with argv: the same addresses of code and data in all ranks
    uint32_t cpus_per_rank;  // -c: bind each rank to that many processors; 0: no binding
} aq_supervise_options_t;

// Starts the ranks, passes output on line by line, standard input to rank 0, forwards signals, and
// watches until all are gone. *code is the exit code of the job (also when nothing could be
// started). Logs faults. With argv NULL: returns true in each child, with *out set; in the caller
// it does not return but ends the process with the job's code. With argv: returns false, in the
// caller only. Needs the settings loaded. Takes all signals and all children of the process for
// its own.
bool aq_supervise(const aq_supervise_options_t *options, aq_boot_t **out, int *code);

// ---- modules: the side of the launcher ----

// A job as the user asked for it, from before a module is chosen to its end.
typedef struct aq_start {
    aq_supervise_options_t run; // of the whole job
    const char *conduit;
    const char *host_list; // -H; NULL: not given
    int64_t host_count;    // -N; 0: not given
    bool cyclic;           // ranks go round the hosts, in place of block-wise
    bool verbose;
    bool more_verbose; // also about what is not done
} aq_start_t;

// The operations are called in this order, once each, by the launcher, which has one thread; those
// behind `init` only of the module that was chosen. Faults are logged by the module, but for `why`.
typedef struct aq_spawn_module {
    const char *name;

    // Whether this module can start the job here; if so its priority (the highest one is taken),
    // else one sentence why not, without a full stop. Does not block.
    bool (*init)(const aq_start_t *start, int *priority, char *why, size_t room);
    // Are the options legal for this module?
    aq_status_t (*parse_options)(const aq_start_t *start);
    // Finds the hosts and places the ranks on them. May read files.
    aq_status_t (*allocate_hosts)(const aq_start_t *start);
    // Whether that job can be started on these hosts, as far as can be told without asking them.
    aq_status_t (*verify_hosts)(const aq_start_t *start);
    // Tells on standard output what start would do (-v, -t).
    void (*describe)(const aq_start_t *start);
    // What start needs, made once: key, descriptors.
    aq_status_t (*prepare)(const aq_start_t *start);
    // Starts the ranks and watches until all are gone. Blocks. *code is the exit code of the job,
    // also when nothing could be started.
    void (*start)(const aq_start_t *start, int *code);
    // Undo allocate_hosts, and prepare.
    void (*deallocate_hosts)(void);
    void (*finalize)(void);
} aq_spawn_module_t;

// The module that the option -spawner (name; NULL: not given), GASNET_<CONDUIT>_SPAWNER or
// GASNET_SPAWNER asks for, in this order; else the usable one with the highest priority. NULL when
// there is none (logged). With start->more_verbose tells of each other one why it was not taken.
const aq_spawn_module_t *aq_spawn_choose(const aq_start_t *start, const char *name);

// The spawners of a conduit (NULL: of any), a blank before each; for help texts.
const char *aq_spawn_names(const char *conduit);
// The spawner for a letter of GASNet's, L, S or C; NULL: there is none.
const char *aq_spawn_of_letter(const char *letter);

// All operations behind init, in order. dry: no further than describe.
int aq_spawn_run(const aq_spawn_module_t *module, const aq_start_t *start, bool dry);

#endif
