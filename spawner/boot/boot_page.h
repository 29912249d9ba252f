// SPDX-License-Identifier: BSD-3-Clause
// The boot page: memory that the ranks of one host and their supervisor share.
//
// One memfd per job and host. The supervisor makes it (with several hosts, the helper does), and
// every rank maps it. Ranks exchange data and run barriers here without another process in between.
// The supervisor reads the exit word and the states. The key of the job is stored nowhere else.
//
// If other hosts have ranks too, a helper acts as relay: the last rank of this host to arrive at a
// barrier writes the step and wakes the relay. The relay completes the barrier once the other hosts
// have arrived and their data is in the exchange buffer.
//
//   +--------+-----------+-----------+-----------+-----------+----------+-~ page ~-+--
//   | header |state[size]|hosts[size]|files[size]|procs[size]|cpus[size]|          |
//   +--------+-----------+-----------+-----------+-----------+----------+----------+--
//     --+--------+--------+------+
//       |ex. even|ex. odd | kept |  exchange buffers: size * AQ_SLOT_BYTES each;
//     --+--------+--------+------+  size * AQ_KEPT_BYTES
// Always true:
// - exit_word changes once, from AQ_BOOT_RUNNING to 1 + code.
// - turn is 2 * (completed barriers) + (1 once the exit is announced); sleepers in a barrier wait
//   on it.
// - A rank joins by state STARTING -> RUNNING, so each rank number is used once in a job.
// - members counts the ranks of this host that joined, absent those that ended without joining.
// - Numbers of present ranks change in aq_page_admit only, while all present ranks are in a
//   barrier; the supervisor starts the new ones once present says so. At least one rank of each
//   host is there at the start.
// - Tables have one entry per rank of the job, indexed by its number; this host uses its own
//   ranks'.
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "boot.h"

#define AQ_PAGE_MAGIC 0x3574637564657141ULL
#define AQ_SLOT_BYTES 1024u // bytes per rank between two barriers of an exchange
#define AQ_FAULT_TEXT 2048u
#define AQ_NO_RANK (-1)

// Wakes the supervisor after an exit was announced. Other processes ignore this signal by default,
// so a late one does no harm.
#define AQ_WAKE_SIGNAL SIGURG

enum { AQ_RANK_STARTING, AQ_RANK_RUNNING, AQ_RANK_FINALIZED };

// The collective operations of aq_boot_ops_t; between hosts they are steps of the tree (gather.h).
typedef enum aq_step_kind {
    AQ_STEP_BARRIER,
    AQ_STEP_EXCHANGE,
    AQ_STEP_BROADCAST,
    AQ_STEP_GROW
} aq_step_kind_t;

// Purpose of a barrier. kind: aq_step_kind_t; part, root: as in aq_step_t.
typedef struct aq_page_step {
    uint32_t kind, part, root;
    uint32_t round; // of the exchange buffer
} aq_page_step_t;

// How many ranks there are; the process that makes the page begins, aq_page_admit goes on.
typedef struct aq_page_ranks {
    uint32_t size;            // ranks of the job
    uint32_t local;           // ranks of this host that a barrier waits for
    uint32_t keeper;          // the lowest of them
    uint32_t first;           // number of the first of the ranks that were started last
    uint32_t round;           // of the exchange buffer, for the ranks that were started last
    _Atomic uint32_t present; // ranks that are there, or that the supervisor is about to start
} aq_page_ranks_t;

// Why ranks of this host could not join (aq_page_divert_faults).
typedef struct aq_page_fault {
    _Atomic uint32_t ranks;   // that could not join, each after reporting a reason
    char text[AQ_FAULT_TEXT]; // reason of the first such rank; complete a moment later
} aq_page_fault_t;

typedef struct aq_boot_page {
    uint64_t magic;
    aq_page_ranks_t ranks;
    // process id of the supervisor; 0: none (job of one rank without a launcher). In a rendezvous
    // each rank has its own supervisor, and this is one of them.
    int32_t supervisor;
    int32_t relay;        // process id of the helper; 0: all ranks are on this host
    char peer[64];        // see aq_boot_t
    uint32_t processors;  // shared by the ranks of this host
    uint64_t memory;      // of this host, for these ranks; in bytes
    uint32_t line_buffer; // see aq_boot_t
    uint8_t key[AQ_KEY_BYTES];

    _Alignas(64) _Atomic int32_t exit_word;
    _Atomic int32_t exit_rank;        // rank that announced; AQ_NO_RANK: none, or the supervisor
    _Atomic uint32_t abort_requested; // end the job now

    _Alignas(64) _Atomic uint32_t arrived;
    _Atomic uint32_t sleepers;
    _Alignas(64) _Atomic uint32_t turn;
    aq_page_step_t step;       // valid while gathered is set
    _Atomic uint32_t gathered; // all ranks of this host have arrived; the relay continues

    aq_page_fault_t fault;

    _Alignas(64) _Atomic uint32_t members;
    _Atomic uint32_t absent;
    _Atomic uint32_t state[]; // AQ_RANK_*
} aq_boot_page_t;

// Bytes of the page of a job of size ranks; a multiple of the system's page size.
size_t aq_page_bytes(uint32_t size);

// Initializes a page that is all zero. Logs a fault (the system gives no random key).
aq_status_t aq_page_init(aq_boot_page_t *page, uint32_t size);

// Host of each rank, initially 0; the process that makes the page fills in the table.
const uint32_t *aq_page_hosts(const aq_boot_page_t *page);
uint32_t *aq_page_own_hosts(aq_boot_page_t *page);

// See aq_boot_t.
_Atomic uint16_t *aq_page_waiting_cpus(aq_boot_page_t *page);

// Descriptor of the memory file (other/observe/format/rank_file.h) of each rank, in that rank; 0:
// none.
int32_t *aq_page_rank_files(aq_boot_page_t *page);

// The process that has joined the job as a rank, which may be behind a wrapper that the supervisor
// started: its process id, and the inode of the PID namespace to which that belongs. The rank
// itself writes both, so readers check them. number 0: none has joined. exited: 1 + the code that
// it has given to exit() or returned from main; 0: it runs, or has ended without either.
typedef struct aq_page_process {
    _Atomic int32_t number;
    _Atomic uint32_t space;
    _Atomic int32_t exited;
} aq_page_process_t;
aq_page_process_t *aq_page_processes(aq_boot_page_t *page);
// The inode of the PID namespace of this process; 0: unknown.
uint32_t aq_page_process_space(void);
// Writes a text that is the same in processes that share memory through /proc, because they are
// under one kernel and in one PID namespace, and another one in all others.
void aq_page_machine(char *text, size_t size);

// Whether each rank was bound to processors without being asked: 0 or 1.
uint8_t *aq_page_bound(aq_boot_page_t *page);

// The exchange buffer for rounds of this parity: size * AQ_SLOT_BYTES.
uint8_t *aq_page_slots(aq_boot_page_t *page, uint32_t round);

// The tables of aq_boot_exchange_kept: size * AQ_KEPT_BYTES.
uint8_t *aq_page_kept(aq_boot_page_t *page);

// See barrier in aq_boot_ops_t. All ranks give the same step.
aq_status_t aq_page_barrier(aq_boot_page_t *page, const aq_page_step_t *step);

// Runs the turn of aq_boot_meanwhile once; returns whether it had anything to do.
bool aq_page_meanwhile(void);

// For the relay: gathered returns whether all ranks of this host have arrived, and their step;
// complete releases them once the ranks of all hosts have arrived.
bool aq_page_gathered(aq_boot_page_t *page, aq_page_step_t *out);
void aq_page_complete(aq_boot_page_t *page);

// As aq_page_complete, for a step in which ranks join: step->part ranks are there from now on,
// `local` of them on this host, and the supervisor starts these.
void aq_page_admit(aq_boot_page_t *page, const aq_page_step_t *step, uint32_t local);

// Wakes the relay, if there is one. Async-signal-safe.
void aq_page_wake_relay(const aq_boot_page_t *page);

// During the start of a job many ranks may find the same fault, which the user should read only
// once. From here on this process records its faults in the page instead of printing them, the
// first one on behalf of that many ranks. The supervisor prints it a moment later, with the number
// of ranks that could not start. NULL: print faults again.
void aq_page_divert_faults(aq_boot_page_t *page, uint32_t ranks);
// Prints the text of the first fault, and how many ranks did not start in all.
void aq_page_print_fault(const char *fault, uint32_t ranks);

// See announce_exit in aq_boot_ops_t. rank: the announcing rank, or AQ_NO_RANK.
int aq_page_announce(aq_boot_page_t *page, int32_t rank, int code);
// As aq_page_announce, but for a supervisor: the job has failed, and ends everywhere without
// waiting for ranks to leave.
void aq_page_fail(aq_boot_page_t *page, int code);
