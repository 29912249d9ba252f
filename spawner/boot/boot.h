// SPDX-License-Identifier: BSD-3-Clause
// The bootstrap of a rank: what a rank learns from the process that started it, and which
// operations it offers. Core and conduits see this header only.
//
// A way to start jobs has two sides, each one const table: aq_boot_ops_t for a rank, used at init,
// attach and exit only; and aq_spawn_module_t (spawn_module.h) for the launcher. Neither runs
// handlers or knows conduits.
//
//   launcher or first process                         rank (in gex_Client_Init)
//   gasnetrun: options -> module -> aq_supervise() ---fork/exec--> aq_boot_start() -> aq_boot_t
//   bare executable: aq_boot_start() -----fork---------> aq_boot_start() returns in each child;
//                    the first process stays in aq_supervise() and never returns
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../other/base/log/status.h"

#define AQ_KEY_BYTES 16
#define AQ_RANKS_MAX 4096          // ranks of one host
#define AQ_JOB_RANKS_MAX (1 << 20) // ranks of a job
#define AQ_KEPT_BYTES 32           // per rank, of the tables that a host stores once
#define AQ_BOOT_RUNNING 0          // value of *exit_word until the end of the job is announced

typedef struct aq_boot aq_boot_t;

// One thread at a time calls these operations, unless stated otherwise. Ranks call the collective
// ones in the same order. They may block until the other ranks have called, and run no handlers
// (but see aq_boot_meanwhile). The back end logs faults.
typedef struct aq_boot_ops {
    // Collective. Gathers len bytes (any length, the same at all ranks) of every rank into all, in
    // rank order (size * len bytes, owned by the caller; zeros for ranks that are absent).
    aq_status_t (*exchange)(aq_boot_t *boot, const void *mine, size_t len, void *all);
    // Collective. Like the other two collective operations, returns AQ_ERR_PEER, unlogged, if the
    // end of the job is announced before all ranks have called. The caller then leaves; no further
    // collective call is legal.
    aq_status_t (*barrier)(aq_boot_t *boot);
    // Collective. Copies root's len bytes into buf of all other ranks.
    aq_status_t (*broadcast)(aq_boot_t *boot, void *buf, size_t len, uint32_t root);
    // Collective. Starts the next count ranks of the reserve (count <= boot->absent), which are
    // there from then on: all further collective calls wait for them, too. Returns before they have
    // joined; the job ends if one of them cannot. NULL: this back end never has a reserve.
    aq_status_t (*grow)(aq_boot_t *boot, uint32_t count);

    // Announces that the job ends with code. Not collective; legal in any thread and in a signal
    // handler (async-signal-safe); does not block. The first announcement on a host wins; returns
    // the code that won. Afterwards *exit_word of every rank is 1 + aq_boot_exit_code(code), and
    // ranks that sleep on it are woken. Between hosts, the first announcement to reach the launcher
    // decides the code of the job; ranks of a host that announced at the same time keep their own
    // code. (See exit_stays_here.)
    int (*announce_exit)(aq_boot_t *boot, int code);
    // Ends the whole job now, with code. Not collective; async-signal-safe; does not return.
    void (*abort)(aq_boot_t *boot, int code) __attribute__((noreturn));
    // Reports that this rank leaves in good order and is about to exit with the announced code. The
    // caller gives up ownership of boot. A late signal handler or thread may still read *exit_word
    // and call announce_exit and abort until the process ends.
    void (*finalize)(aq_boot_t *boot);
} aq_boot_ops_t;

struct aq_boot {
    const aq_boot_ops_t *ops;
    uint32_t rank;
    uint32_t size; // ranks of the job, with the reserve
    // The last ranks of the job, which were not started yet: the reserve. Changed by grow only.
    uint32_t absent;
    // The ranks that were started together with this one begin with this rank; 0: this rank was
    // there at the start of the job.
    uint32_t first;
    // index of the host of each rank, numbered from 0 by first appearance
    const uint32_t *host_of_rank;
    // numeric address of some other host of the job, to find the interface that leads to it; "":
    // unknown, or there is no other host
    const char *peer;
    // Names of the other hosts of the job, with blanks between, if no process of ours knows the
    // ranks of all hosts; "" or NULL: one does, or there are none. For those who watch the job.
    const char *other_hosts;
    // the random key of the job; secret: never printed, never in an environment
    uint8_t key[AQ_KEY_BYTES];
    uint32_t processors; // shared by the ranks of this host; 0: unknown
    // For each rank of this host, 1 + the number of the processor on which it waits; 0: it does not
    // wait. Each rank writes its own entry. A hint, possibly out of date. NULL: unknown.
    _Atomic uint16_t *waiting_cpus;
    // The launcher has bound this rank to processors of its own, without being asked: see
    // core/progress/unbind.h.
    bool bound;
    // announce_exit does not reach the ranks of other hosts; the core tells them over the network.
    bool exit_stays_here;
    // Set by the core: called when the client returns from main or calls exit() and no supervisor
    // watches this rank. Ends this process, and the job too if exit_stays_here is set, or returns
    // because another thread is about to do so. NULL: not set yet.
    void (*leave)(int code);
    // No supervisor sees a rank die of a signal, so the rank must abort with 128 + the number of
    // the signal.
    bool tells_signals;
    // The process that started this rank ends it when leaving takes too long, and knows whether the
    // rank is waiting for a reader of its output.
    bool watched;
    bool line_buffer;           // standard output of the launcher is a terminal
    _Atomic int32_t *exit_word; // see announce_exit; readable at any time
    uint64_t memory;            // of this host, for its ranks, in bytes; 0: unknown
    // Memory for aq_boot_exchange_kept, shared with other ranks of this host, one of which writes
    // it; NULL: there is none.
    uint8_t *kept;
    size_t kept_left;
    bool keeps; // this rank writes
    // Descriptor of the memory file that the starter has made for this rank
    // (other/observe/format/rank_file.h), for the core to check and to use; 0: there is none.
    int rank_file;
};

// The number of ranks that are there: those below it.
static inline uint32_t aq_boot_present(const aq_boot_t *boot)
{
    return boot->size - boot->absent;
}

// Whether all ranks of the job are on one host.
static inline bool aq_boot_is_on_one_host(const aq_boot_t *boot)
{
    uint32_t r = 0;
    while (r < boot->size && boot->host_of_rank[r] == 0)
        r++;
    return r == boot->size;
}

// Whether the end of the job was announced or the job failed. Callable at any time by any thread.
static inline bool aq_boot_ended(const aq_boot_t *boot)
{
    return atomic_load_explicit(boot->exit_word, memory_order_relaxed) != AQ_BOOT_RUNNING;
}

// The number of the job, for programs that watch it: a hash of its key, which does not reveal the
// key. 0: the system gives no random numbers.
uint64_t aq_boot_number(const uint8_t key[AQ_KEY_BYTES]);

// The exit code that a launcher can pass on for the code of a client: its low 8 bits, as the system
// gives them to a parent; a code other than 0 never becomes 0.
static inline int aq_boot_exit_code(int code)
{
    return code != 0 && (code & 0xff) == 0 ? 1 : code & 0xff;
}

// Finds out how this process was started, and joins the job:
// - a launcher started it;
// - no launcher, but GASNET_MASTER: joins the processes that meet there (rendezvous.h);
// - no launcher, but GASNET_PSHM_NODES=N or ranks > 0 (from aq_boot_take_ranks): forks the ranks,
//   returns in each of them, and supervises them in the caller, which then exits;
// - neither: a job of one rank.
// conduit: the one that the client asks for. The settings must be loaded. Blocks. Logs faults. On
// AQ_OK the caller owns *out until finalize.
aq_status_t aq_boot_start(const char *conduit, uint32_t ranks, aq_boot_t **out);

// Collective. AQ_OK if every rank passes AQ_OK; else all ranks return the status of the first rank
// that does not, and that rank logs why (unless "") before any rank returns, because some launchers
// end the job as soon as one rank leaves.
aq_status_t aq_boot_agree(aq_boot_t *boot, aq_status_t status, const char *why);

// Collective. As exchange, for a result that is needed until the end of the job. The ranks of a
// host keep it once, where the back end has shared memory for it: AQ_KEPT_BYTES for each rank of
// the job, for all calls together. *all: of every rank len bytes, in rank order; read-only, and not
// freed by the caller. May log faults.
aq_status_t aq_boot_exchange_kept(aq_boot_t *boot, const void *mine, size_t len, const void **all);

// The counterpart of aq_boot_exchange_kept in the ranks that were there, while the ranks from
// `first` on join the job with that call. Adds the new ranks to the table `kept`.
aq_status_t aq_boot_extend_kept(aq_boot_t *boot, const void *mine, size_t len, uint32_t first,
                                const void *kept);

// Collective. Whether all ranks of the job are on one host and in one network namespace, so that
// its loopback interface joins them. While ranks join, those that were there call it too.
aq_status_t aq_boot_shares_loopback(aq_boot_t *boot, bool *shares);

// As aq_boot_agree, but logs nothing. *first: this rank is the first that did not pass AQ_OK.
aq_status_t aq_boot_agree_quietly(aq_boot_t *boot, aq_status_t status, bool *first);

// Brackets the start of a rank. Faults that are logged in between go to the process that started
// the rank, which prints them once for all ranks that cannot start. Outside of the brackets, or if
// no such process exists, a rank prints its faults itself.
void aq_boot_begin_start(void);
void aq_boot_end_start(void);

// Installs turn, which a rank that waits in a collective operation calls every few milliseconds, in
// the thread that waits: earlier messages may need retransmission, and other ranks may need an
// answer before they arrive. turn returns how much it found to do; it may end the process.
void aq_boot_meanwhile(unsigned (*turn)(void));

// Before aq_boot_take_ranks, in a process without a launcher: if GASNET_SPAWNER names a boot module
// that knows which job this process belongs to, takes the variables of the job from it, and loads
// the settings again. Blocks. Faults are logged.
aq_status_t aq_boot_ask_module(const char *conduit);

// Handles udp's convention `program N arguments`: a program of conduit udp that is started without
// a launcher takes the number of ranks as its first argument, unless GASNET_PSHM_NODES is set.
// Removes that argument and sets *ranks; *ranks is 0 if the convention does not apply. argc and
// argv are those of main, or NULL. The settings must be loaded. AQ_ERR_CONFIG: the number is
// missing or wrong; logged.
aq_status_t aq_boot_take_ranks(const char *conduit, int *argc, char ***argv, uint32_t *ranks);
