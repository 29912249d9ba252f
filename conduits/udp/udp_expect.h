// Headers that are hashed before they come or leave.
//
// A keyed hash takes a fifth of the time that is spent on a short datagram. Who waits for an answer
// has that time, and mostly knows what comes next in each direction: a header like the last one,
// with the next numbers. So it is hashed while nobody waits. If just that header comes or leaves
// then, its hash is known; of any other one it is computed, as always.
//
//      spinning: udp_expect_hash ---> udp_expect_genuine (comes), udp_expect_sign (leaves)
//                      ^                 | the expected one      | another one: hashed here
//                      `-----------------+-----------------------'
//
// Only in mode header: in mode full the payload would have to be known.
#ifndef AQ_UDP_EXPECT_H
#define AQ_UDP_EXPECT_H

#include <string.h>

#include "udp_auth.h"
#include "udp_wire.h"

typedef struct udp_expect {
    uint8_t header[UDP_HEADER_MOST]; // the last one; once hashed, the next one
    uint8_t bytes;                   // 0: there was none yet
    bool hashed;
    uint64_t met; // how many were as expected
} udp_expect_t;

// Hashes the header that will follow the last one, if that is not done yet.
void udp_expect_hash(udp_expect_t *expect, const udp_auth_t *auth);

// What comes next follows this one.
void udp_expect_after(udp_expect_t *expect, const uint8_t *header, size_t bytes);

static inline bool udp_expect_is(const udp_expect_t *expect, const uint8_t *header, size_t bytes)
{
    bool same = expect->hashed && expect->bytes == bytes;
    for (size_t i = UDP_HASH_BYTES; same && i < bytes; i += sizeof(uint64_t)) {
        uint64_t a, b;
        memcpy(&a, expect->header + i, sizeof a);
        memcpy(&b, header + i, sizeof b);
        same = a == b;
    }
    return same;
}

static inline void udp_expect_met(udp_expect_t *expect)
{
    expect->met++;
    expect->hashed = false; // it is the last one now
}

// udp_auth_genuine, for a datagram that begins with a header of so many bytes. A forged one changes
// nothing.
static inline bool udp_expect_genuine(udp_expect_t *expect, const udp_auth_t *auth,
                                      const uint8_t *datagram, size_t bytes, size_t length)
{
    if (udp_expect_is(expect, datagram, bytes)) {
        const bool right = udp_auth_same(datagram, expect->header);
        if (right)
            udp_expect_met(expect);
        return right;
    }
    if (!udp_auth_genuine(auth, datagram + UDP_HASHED_AT, bytes - UDP_HASHED_AT, datagram + bytes,
                          length - bytes, datagram))
        return false;
    udp_expect_after(expect, datagram, bytes);
    return true;
}

// udp_auth_sign, for a header of so many bytes.
static inline void udp_expect_sign(udp_expect_t *expect, const udp_auth_t *auth, uint8_t *header,
                                   size_t bytes, const struct iovec *payload, unsigned count)
{
    if (udp_expect_is(expect, header, bytes)) {
        memcpy(header, expect->header, UDP_HASH_BYTES);
        udp_expect_met(expect);
        return;
    }
    udp_auth_sign(auth, header + UDP_HASHED_AT, bytes - UDP_HASHED_AT, payload, count, header);
    udp_expect_after(expect, header, bytes);
}

#endif
