// SPDX-License-Identifier: BSD-3-Clause
// Keys: which key the device needs for memory of this process or of a peer, or what to do if there
// is none. This part stands between the message paths and firehose/.
//
//                       memory here                     memory of a peer
//      FAST             the segment's key; elsewhere    the key of its segment
//                       firehose, or a copy
//        if a limit keeps a segment from being registered as a whole: LARGE
//      LARGE            firehose, or a copy             firehose, or a message; in its segment
//      EVERYTHING       firehose, or a copy             firehose, or a message; anywhere
//
// Where a device pages all memory (ibv_implicit_odp.h), its one key takes the place of firehose.
//
// What is always true:
// - A key is valid for the first `bytes` (at least one) of what was asked for, until the hold is
//   released. The bytes behind them need another key.
// - Nothing here waits. A caller that needs a firehose that is not there yet is called back.
// - With several ports (ibv_rail_ports.h) memory is registered at each of them. The keys above are
//   those of the first port. A firehose tells peers the keys of two ports at most.
// - All ranks of a job have the same mode. It may change in attach, and never afterwards.
//
// Threads: any thread may ask and release at any time. Neither takes a lock when the key is known.
#pragma once

#include "../../../core/conduit.h"
#include "../verbs/ibv_memory.h"
#include "../ports/ibv_rail_ports.h"
#include "ibv_segments.h"
#include "ibv_implicit_odp.h"

// The right to use memory with a key.
typedef struct aq_ibv_hold {
    size_t bytes;
    uint32_t key;
    aq_firehose_region_t *region; // NULL: registered until the end
} aq_ibv_hold_t;

typedef struct aq_ibv_keys_setup {
    aq_segment_mode_t mode;
    aq_ibv_memory_t *memory;
    const aq_ibv_rail_ports_t *rails; // NULL: there is one port only
    uint32_t device_regions;          // max_mr of the device
    uint64_t buffer_bytes;            // of the bounce buffers
    uint32_t processes;               // of the job on this host, this one included
    uint32_t ranks;                   // of the job
    uint32_t peers;                   // ranks that are reached through the device
    // Where the segments of all ranks are; see aq_conduit_env_t.
    const uintptr_t *starts, *lengths;
    // Sends a request of firehose to a peer, which calls aq_ibv_keys_serve; see aq_firehose_ops_t.
    void (*request)(void *context, uint32_t peer, const aq_firehose_message_t *message,
                    const void *data, uint32_t data_bytes);
    void *context;
} aq_ibv_keys_setup_t;

typedef struct aq_ibv_keys {
    aq_ibv_keys_setup_t setup;
    aq_firehose_t *firehose;
    uint64_t region_bytes; // of firehose
    bool reaches;          // peers may be asked for firehoses
    bool stays;            // memory outside of the segment may stay pinned
    uintptr_t start;       // the segment of this process; bytes 0: none
    size_t bytes;
    aq_ibv_segment_t segment;                              // FAST: its registration
    aq_ibv_segment_t more_segments[AQ_IBV_RAIL_PORTS_MAX]; // the same at further ports, from 1
    aq_ibv_segments_t segments;                            // FAST, LARGE: of all ranks
    aq_ibv_implicit_odp_t odp;                             // all memory, if devices page it
} aq_ibv_keys_t;

// Bytes of the tables of all ranks, contacted or not.
size_t aq_ibv_keys_table_bytes(const aq_ibv_keys_t *keys);

// Starts firehose with what is left after the buffers of the conduit were registered.
// AQ_ERR_RESOURCE: no memory (logged).
aq_status_t aq_ibv_keys_start(aq_ibv_keys_t *keys, const aq_ibv_keys_setup_t *setup);

// Collective over the job, in mode EVERYTHING after the start: all ranks learn the keys of all
// memory, where devices page it. AQ_ERR_RESOURCE: no memory (logged).
aq_status_t aq_ibv_keys_publish(aq_ibv_keys_t *keys, aq_boot_t *boot);

// Unregisters everything. This process uses nothing any more; peers lose what they use.
void aq_ibv_keys_stop(aq_ibv_keys_t *keys);

// The same at the end of the process. False: something is still in use; see aq_firehose_quit.
bool aq_ibv_keys_quit(aq_ibv_keys_t *keys);

// Collective over the job, not with EVERYTHING: the segment of this process is in place. FAST
// registers it, and all ranks learn the key; if a limit refuses that at any rank, all continue with
// mode LARGE, and one rank logs why. AQ_ERR_ARG: the segment of some rank cannot be registered at
// all (one rank logs it). AQ_ERR_RESOURCE: no memory (logged).
aq_status_t aq_ibv_keys_attach(aq_ibv_keys_t *keys, aq_boot_t *boot, void *segment, size_t bytes);

// ---- memory of this process ----

// The key of memory in the segment of this process, if that is registered as a whole; it needs no
// release. False: it is not, or not all bytes are in it. Leaves hold->region as it is.
static inline bool aq_ibv_keys_own(const aq_ibv_keys_t *keys, const void *memory, size_t bytes,
                                   aq_ibv_hold_t *hold)
{
    const aq_ibv_segment_t *segment = &keys->segment;
    const uintptr_t offset = (uintptr_t)memory - keys->start;
    if (!segment->count || offset >= keys->bytes || bytes > keys->bytes - offset)
        return false;
    const uint32_t piece =
        aq_ibv_segment_piece(keys->bytes, segment->cut, offset, bytes, &hold->bytes);
    hold->key = segment->pieces[piece]->lkey;
    return true;
}

// A key with which the device reads or (write) writes memory here. AQ_AGAIN: everything that may be
// pinned is in use: use a buffer, or poll and ask again. AQ_ERR_ABSENT: the memory may not be
// pinned, or a limit refuses it: use a buffer. AQ_ERR_ARG: there is no such memory.
aq_status_t aq_ibv_keys_local(aq_ibv_keys_t *keys, const void *memory, size_t bytes, bool write,
                              aq_ibv_hold_t *hold);

// The key that the first bytes of memory under a hold of aq_ibv_keys_local have at another port of
// this process (ibv_rail_ports.h); 0: none.
uint32_t aq_ibv_keys_local_at(const aq_ibv_keys_t *keys, unsigned port, const void *memory,
                              const aq_ibv_hold_t *hold);

// The same for memory of a peer under a hold, at another port of the peer.
uint32_t aq_ibv_keys_remote_at(const aq_ibv_keys_t *keys, unsigned port, uint32_t peer,
                               uintptr_t address, const aq_ibv_hold_t *hold);

// A key with which peers read memory of this process, whatever the mode; release the hold when they
// have finished. Statuses are those of aq_ibv_keys_local.
aq_status_t aq_ibv_keys_expose(aq_ibv_keys_t *keys, const void *memory, size_t bytes,
                               aq_ibv_hold_t *hold);

// The device has finished with the memory.
static inline void aq_ibv_keys_release(const aq_ibv_hold_t *hold)
{
    if (hold->region != NULL)
        aq_firehose_release(hold->region);
}

// ---- memory of peers ----

// The key of memory of a rank, if its segment is registered as a whole. False: it is not, or the
// memory is not in it.
static inline bool aq_ibv_keys_attached(const aq_ibv_keys_t *keys, uint32_t rank,
                                        const void *memory, size_t nbytes, aq_ibv_hold_t *hold)
{
    hold->region = NULL;
    return keys->setup.mode == AQ_SEGMENT_FAST &&
           aq_ibv_segments_key(&keys->segments, rank, (uintptr_t)memory, nbytes, &hold->key,
                               &hold->bytes);
}

typedef enum aq_ibv_reached {
    AQ_IBV_REACHED,  // the hold is there
    AQ_IBV_MISSED,   // the peer was not asked yet
    AQ_IBV_PENDING,  // wait->done will be called
    AQ_IBV_FULL,     // every firehose into the peer is in use: poll and ask again, or use messages
    AQ_IBV_MESSAGES, // no key is possible: the peer has to copy, by active messages
} aq_ibv_reached_t;

// The caller keeps a wait alive until done is called, by a thread that polls and holds no locks.
// AQ_OK: the hold is there; hold NULL: the data went with the request and is in place.
// AQ_AGAIN: ask again. Any other status: use active messages.
typedef struct aq_ibv_wait {
    void (*done)(struct aq_ibv_wait *wait, aq_status_t status, const aq_ibv_hold_t *hold);
    size_t bytes; // how many were asked for
    aq_firehose_wait_t inner;
} aq_ibv_wait_t;

// The key with which the device reads or (write) writes memory of a peer, if it is known here:
// REACHED, MISSED or MESSAGES. Takes no lock.
aq_ibv_reached_t aq_ibv_keys_look_further(const aq_ibv_keys_t *keys, uint32_t peer,
                                          uintptr_t address, size_t bytes, bool write,
                                          aq_ibv_hold_t *hold);
static inline aq_ibv_reached_t aq_ibv_keys_look(const aq_ibv_keys_t *keys, uint32_t peer,
                                                uintptr_t address, size_t bytes, bool write,
                                                aq_ibv_hold_t *hold)
{
    return aq_ibv_keys_attached(keys, peer, (const void *)address, bytes, hold)
               ? AQ_IBV_REACHED
               : aq_ibv_keys_look_further(keys, peer, address, bytes, write, hold);
}

// The same, and asks the peer for a key that is not known: never returns MISSED. Small data of a
// put travels with the request. The caller sets wait->done. May send a request.
aq_ibv_reached_t aq_ibv_keys_remote(aq_ibv_keys_t *keys, const aq_firehose_target_t *target,
                                    aq_ibv_wait_t *wait, aq_ibv_hold_t *hold);

// Whether a peer may ask to read and write this memory of this process. False: it may not (logged).
bool aq_ibv_keys_legal(const aq_ibv_keys_t *keys, uint32_t peer, uint64_t address, uint64_t bytes);

// Serves a request of a peer; the caller sends the answer, which the peer gives to
// aq_ibv_keys_answered. AQ_ERR_PEER: the request is invalid, or for memory that the peer may not
// touch (logged); there is no answer.
aq_status_t aq_ibv_keys_serve(aq_ibv_keys_t *keys, uint32_t peer,
                              const aq_firehose_message_t *request, const void *data,
                              uint32_t data_bytes, aq_firehose_message_t *answer);
aq_status_t aq_ibv_keys_answered(aq_ibv_keys_t *keys, uint32_t peer,
                                 const aq_firehose_message_t *answer);
