// The names of what a thread counts of itself (rank_file.h), for those who print it.
#ifndef AQ_OWN_NAMES_H
#define AQ_OWN_NAMES_H

#include "rank_file.h"

// Names that end in _ns are times in nanoseconds. NULL: nothing counts there.
typedef struct aq_own_name {
    const char *name, *help;
} aq_own_name_t;

static inline aq_own_name_t aq_own_name(unsigned count)
{
    static const aq_own_name_t names[AQ_OWN_COUNTS] = {
        [AQ_OWN_POLLS_FOUND] = {"polls_found", "Polls that found something to do."},
        [AQ_OWN_POLLS_EMPTY] = {"polls_empty", "Polls in long waits that found nothing."},
        [AQ_OWN_NO_ROOM] = {"no_room", "Operations that found no room at first."},
        [AQ_OWN_REFUSED] = {"refused", "Operations that were refused for want of room."},
        [AQ_OWN_RESENT] = {"resent", "Packets that were sent again."},
        [AQ_OWN_SLEEPS] = {"sleeps", "Sleeps of waits."},
        [AQ_OWN_SLEEP_NS] = {"sleep_ns", "Time asleep in waits."},
        [AQ_OWN_WAIT_NS + AQ_WAIT_EVENT] = {"wait_event_ns", "Long waits for operations."},
        [AQ_OWN_WAIT_NS + AQ_WAIT_ROOM] = {"wait_room_ns", "Long waits for room to send."},
        [AQ_OWN_WAIT_NS +
            AQ_WAIT_CONDITION] = {"wait_condition_ns", "Long waits for conditions of the client."},
        [AQ_OWN_WAIT_NS + AQ_WAIT_COLLECTIVE] = {"wait_collective_ns",
                                                 "Long waits for barriers and collectives."},
        [AQ_OWN_WAIT_NS +
            AQ_WAIT_RECEIVE] = {"wait_receive_ns", "Long waits for messages with two sides."},
        [AQ_OWN_WAIT_NS +
            AQ_WAIT_SEND] = {"wait_send_ns", "Long waits for a rank that takes such a message."},
        [AQ_OWN_WAIT_NS + AQ_WAIT_RANK] = {"wait_rank_ns", "Long waits for answers of ranks."},
        [AQ_OWN_DROPPED] = {"dropped_endpoint", "Messages to an endpoint that was never there."},
        {"dropped_destroyed", "Messages to an endpoint that was destroyed."},
        {"dropped_identity", "Messages of another identity."},
        {"dropped_foreign", "Packets of another job."},
        {"dropped_forged", "Packets that are not authentic."},
        {"dropped_corrupted", "Packets that are damaged or cut short."},
        {"dropped_malformed", "Packets of another version, or invalid ones."},
        {"dropped_misdirected", "Packets for another rank, or of one that is not connected."},
        {"dropped_replayed", "Packets that have arrived before."},
        {"dropped_duplicate", "Data that a packet brought a second time."},
        {"dropped_stale", "Packets of another epoch."},
        {"dropped_full", "Packets that found the window or the queue full."},
        {"dropped_injected", "Packets that were not sent, by GASNET_UDP_FAULT_DROP."},
    };
    return names[count < AQ_OWN_COUNTS ? count : 0];
}

#endif
