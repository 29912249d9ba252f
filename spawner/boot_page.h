// The boot page: shared memory through which the ranks of one host and their supervisor know of
// each other.
//
// One memfd for each job, made by the supervisor and mapped by every rank. Ranks exchange data and
// meet in barriers here without a process in between; the supervisor reads the exit word and the
// states. The key is nowhere else.
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
// - members + absent count the ranks that joined, and those that left without having joined.
#ifndef AQ_BOOT_PAGE_H
#define AQ_BOOT_PAGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "spawner.h"

#define AQ_PAGE_MAGIC 0x3174637564657141ULL
#define AQ_SLOT_BYTES 1024u // what a rank hands over between two barriers of an exchange
#define AQ_NO_RANK (-1)

// Wakes the supervisor: an exit was announced. Ignored by default, so a late one harms no other
// process.
#define AQ_WAKE_SIGNAL SIGURG

enum { AQ_RANK_STARTING, AQ_RANK_RUNNING, AQ_RANK_FINALIZED };

typedef struct aq_boot_page {
    uint64_t magic;
    uint32_t size;
    int32_t supervisor;   // process id; 0: none (job of one rank without a launcher)
    uint32_t processors;  // that the ranks share
    uint32_t line_buffer; // see aq_boot_t
    uint8_t key[AQ_KEY_BYTES];

    _Alignas(64) _Atomic int32_t exit_word;
    _Atomic int32_t exit_rank;    // who announced; AQ_NO_RANK: nobody, or the supervisor
    _Atomic uint32_t abort_asked; // take the job down now

    _Alignas(64) _Atomic uint32_t arrived;
    _Atomic uint32_t sleepers;
    _Alignas(64) _Atomic uint32_t turn;

    _Alignas(64) _Atomic uint32_t members;
    _Atomic uint32_t absent;
    _Atomic uint32_t state[]; // AQ_RANK_*
} aq_boot_page_t;

// Bytes of the page of a job of size ranks; a multiple of the system's page size.
size_t aq_page_bytes(uint32_t size);

// Fills a page that is all zero. Logs a fault (no random key to be had).
aq_status_t aq_page_init(aq_boot_page_t *page, uint32_t size);

// Host of each rank.
const uint32_t *aq_page_hosts(const aq_boot_page_t *page);

// See aq_boot_t.
_Atomic uint16_t *aq_page_seats(aq_boot_page_t *page);

// The exchange buffer for rounds of this parity: size * AQ_SLOT_BYTES.
uint8_t *aq_page_slots(aq_boot_page_t *page, uint32_t round);

// See barrier in aq_boot_ops_t.
aq_status_t aq_page_barrier(aq_boot_page_t *page);

// See announce_exit in aq_boot_ops_t. rank: who speaks, or AQ_NO_RANK.
int aq_page_announce(aq_boot_page_t *page, int32_t rank, int code);

#endif
