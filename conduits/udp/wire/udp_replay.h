// SPDX-License-Identifier: BSD-3-Clause
// The packet numbers of a peer that were received, so that a replayed datagram is dropped before it
// has any effect.
//
// What is always true: a number is accepted once. A number more than UDP_REPLAY_WINDOW below the
// highest one is refused: its datagram is late, and the sender retransmits its content under a new
// number. (The flow's sequence numbers, which retransmissions repeat, are independent of these:
// udp_flow.h.)
//
//      refused: too old   | bits of `seen`: 1 accepted, 0 still to come | any number
//      ------------------ next - UDP_REPLAY_WINDOW -------------------- next
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    UDP_REPLAY_WINDOW = 1024, // numbers that are tracked
    UDP_REPLAY_WORDS = UDP_REPLAY_WINDOW / 64 + 1,
};

// Zero-initialized: no number was seen. One thread at a time.
typedef struct udp_replay {
    uint64_t next;                   // one above the highest accepted number
    uint64_t seen[UDP_REPLAY_WORDS]; // number n has bit n % 64 of word n / 64 % UDP_REPLAY_WORDS
} udp_replay_t;

// Whether the number was not seen before and is not too old. Changes nothing.
static inline bool udp_replay_is_new(const udp_replay_t *replay, uint64_t number)
{
    if (number >= replay->next)
        return true;
    if (replay->next - number > UDP_REPLAY_WINDOW)
        return false;
    return !(replay->seen[number / 64 % UDP_REPLAY_WORDS] >> number % 64 & 1);
}

// Records a new number, whose datagram was authenticated.
static inline void udp_replay_accept(udp_replay_t *replay, uint64_t number)
{
    if (number >= replay->next) {
        // Clears each word that the window enters, once.
        const uint64_t last = replay->next ? (replay->next - 1) / 64 : 0, word = number / 64;
        const uint64_t steps = word - last < UDP_REPLAY_WORDS ? word - last : UDP_REPLAY_WORDS;
        for (uint64_t i = 1; i <= steps; i++)
            replay->seen[(last + i) % UDP_REPLAY_WORDS] = 0;
        replay->next = number + 1;
    }
    replay->seen[number / 64 % UDP_REPLAY_WORDS] |= UINT64_C(1) << number % 64;
}
