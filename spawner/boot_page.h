// The boot page: shared memory through which the ranks of one host and their supervisor know of
// each other.
//
// One memfd for each job and host, made by the supervisor (or, with several hosts, by the helper)
// and mapped by every rank. Ranks exchange data and meet in barriers here without a process in
// between; the supervisor reads the exit word and the states. The key is nowhere else.
//
// When other hosts have ranks too, a helper is the relay: the last rank of this host to arrive at a
// barrier writes the step and wakes it; it completes the barrier when the other hosts are there and
// what they gave stands in the exchange buffer.
//
//   +--------+------------+------------+------------+-~ page ~-+---------------+---------------+
//   | header | state[size]| hosts[size]| seats[size]|          | exchange, even| exchange, odd |
//   +--------+------------+------------+------------+----------+---------------+---------------+
//                                                                size * AQ_SLOT_BYTES each
// Always true:
// - exit_word changes once, from AQ_BOOT_RUNNING to 1 + code.
// - turn is 2 * (barriers completed) + (1 once the exit is announced); whoever sleeps in a barrier
// sleeps on it.
// - A rank joins by state STARTING -> RUNNING, so a rank number is used once in a job.
// - members + absent count the ranks of this host that joined, and those that left without it.
// - Tables have a place for each rank of the job, by its number; this host uses those of its own.
#ifndef AQ_BOOT_PAGE_H
#define AQ_BOOT_PAGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "boot.h"

#define AQ_PAGE_MAGIC 0x3174637564657141ULL
#define AQ_SLOT_BYTES 1024u // what a rank hands over between two barriers of an exchange
#define AQ_FAULT_TEXT 2048u
#define AQ_NO_RANK (-1)

// Wakes the supervisor: an exit was announced. Ignored by default, so a late one harms no other
// process.
#define AQ_WAKE_SIGNAL SIGURG

enum { AQ_RANK_STARTING, AQ_RANK_RUNNING, AQ_RANK_FINALIZED };

// What a barrier is for; see gather.h for the kinds.
typedef struct aq_page_step {
    uint32_t kind, part, root;
    uint32_t round; // of the exchange buffer
} aq_page_step_t;

typedef struct aq_boot_page {
    uint64_t magic;
    uint32_t size;        // ranks of the job
    uint32_t local;       // ranks of this host
    int32_t supervisor;   // process id; 0: none (job of one rank without a launcher)
    int32_t relay;        // process id of the helper; 0: all ranks are on this host
    char peer[64];        // see aq_boot_t
    uint32_t processors;  // that the ranks of this host share
    uint32_t line_buffer; // see aq_boot_t
    uint8_t key[AQ_KEY_BYTES];

    _Alignas(64) _Atomic int32_t exit_word;
    _Atomic int32_t exit_rank;    // who announced; AQ_NO_RANK: nobody, or the supervisor
    _Atomic uint32_t abort_asked; // take the job down now

    _Alignas(64) _Atomic uint32_t arrived;
    _Atomic uint32_t sleepers;
    _Alignas(64) _Atomic uint32_t turn;
    aq_page_step_t step;       // legal while gathered is set
    _Atomic uint32_t gathered; // all ranks of this host have arrived: the relay's turn

    _Atomic uint32_t
        faults; // ranks of this host that could not join, each for a reason that it told
    char fault[AQ_FAULT_TEXT]; // of the first of them; whole a moment later

    _Alignas(64) _Atomic uint32_t members;
    _Atomic uint32_t absent;
    _Atomic uint32_t state[]; // AQ_RANK_*
} aq_boot_page_t;

// Bytes of the page of a job of size ranks; a multiple of the system's page size.
size_t aq_page_bytes(uint32_t size);

// Fills a page that is all zero. Logs a fault (no random key to be had).
aq_status_t aq_page_init(aq_boot_page_t *page, uint32_t size);

// Host of each rank; whoever makes the page fills it in (it begins as 0).
const uint32_t *aq_page_hosts(const aq_boot_page_t *page);
uint32_t *aq_page_own_hosts(aq_boot_page_t *page);

// See aq_boot_t.
_Atomic uint16_t *aq_page_seats(aq_boot_page_t *page);

// The exchange buffer for rounds of this parity: size * AQ_SLOT_BYTES.
uint8_t *aq_page_slots(aq_boot_page_t *page, uint32_t round);

// See barrier in aq_boot_ops_t. All ranks give the same step.
aq_status_t aq_page_barrier(aq_boot_page_t *page, const aq_page_step_t *step);

// A turn of what aq_boot_meanwhile was given; whether that had anything to do.
bool aq_page_meanwhile(void);

// The relay's side: whether all ranks of this host have arrived, then what for; and that those of
// all hosts have.
bool aq_page_gathered(aq_boot_page_t *page, aq_page_step_t *out);
void aq_page_complete(aq_boot_page_t *page);

// Has the relay look at the page, if there is one. Async-signal-safe.
void aq_page_wake_relay(const aq_boot_page_t *page);

// While a job starts, many ranks may find the same fault, and the user is to read of it once. From
// here on faults of this process are noted in the page, the first as one of so many ranks, and
// not printed; whoever watches over the job tells them, a moment later, when others have been
// counted. NULL: no more.
void aq_page_take_faults(aq_boot_page_t *page, uint32_t ranks);
// Prints the text of a first fault, and that so many ranks in all did not start.
void aq_page_tell_fault(const char *fault, uint32_t ranks);

// See announce_exit in aq_boot_ops_t. rank: who speaks, or AQ_NO_RANK.
int aq_page_announce(aq_boot_page_t *page, int32_t rank, int code);
// The same for a supervisor: the job failed, and ends everywhere without waiting for ranks to
// leave.
void aq_page_fail(aq_boot_page_t *page, int code);

#endif
