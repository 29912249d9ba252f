// What a datagram proves: that a process of this job made it, and that it arrived as it was sent.
//
// What is always true:
// - All keys follow from the key of the job, which the spawner hands down in secret. Another job
//   has other keys, so its datagrams are forged ones here, as are those of a stranger.
// - The keyed hash (mode header) is SipHash-2-4, 64 bits, over the fields of the header. So
//   rank, class, epoch and number are true, and an old datagram that is sent again by a stranger is
//   a duplicate to the flow that it belongs to.
// - Mode full hashes the payload as well: with Poly1305 under a secret key into 16 bytes that go
//   into the SipHash behind the fields, and nowhere else.
// - Secret bytes are compared in constant time.
//
//      mode header    hash = SipHash(fields)
//      mode full      hash = SipHash(fields, Poly1305(payload))
//
// Why mode full is safe with one Poly1305 key for the whole job, which is normally good for one
// message: the key is unsafe to use again because each tag that an attacker sees tells something
// about it. Here nobody sees a tag. It goes through SipHash, a pseudo-random function, whose value
// tells at most whether two inputs were equal; and inputs of two datagrams with different fields
// are never equal, whatever their payloads. Data is sent again with the payload it had, so equal
// fields have equal payloads. What remains is to guess: a payload that collides with a given one
// under the unknown key (chance below 2^-90 for 64 KiB, since Poly1305 is almost universal), or the
// hash (2^-64), for each forged datagram that is tried.
#ifndef AQ_UDP_AUTH_H
#define AQ_UDP_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "../../other/status.h"
#include "../../spawner/spawner.h"

enum { UDP_AUTH_BYTES = 8 }; // of a keyed hash

typedef enum udp_auth_mode { UDP_AUTH_OFF, UDP_AUTH_HEADER, UDP_AUTH_FULL } udp_auth_mode_t;

// Read only after the start: any thread may use it.
typedef struct udp_auth {
    udp_auth_mode_t mode;
    bool checksum;    // payloads have one; never in mode full, which covers them anyway
    uint32_t job_tag; // tells jobs apart on sight; not a secret
    uint8_t header_key[16], payload_key[32];
} udp_auth_t;

// Derives the keys from the job's key, and reads GASNET_UDP_AUTH and GASNET_UDP_CHECKSUM. loopback:
// whether the socket is bound to it. Logs faults.
aq_status_t udp_auth_start(udp_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], bool loopback);

// The same with the choices of the caller, for tests and tools.
aq_status_t udp_auth_derive(udp_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], udp_auth_mode_t mode,
                            bool checksum);

// The checksum to write into the header (XXH3, 32 bits of it); 0 when payloads have none. The
// payload is `count` pieces, which may be none.
uint32_t udp_auth_checksum(const udp_auth_t *auth, const struct iovec *payload, unsigned count);

// Writes the keyed hash over the fields of a header, and in mode full over the payload; zeros in
// mode off.
void udp_auth_sign(const udp_auth_t *auth, const void *fields, size_t bytes,
                   const struct iovec *payload, unsigned count, uint8_t hash[UDP_AUTH_BYTES]);

// Whether two hashes are equal, in one step, whose time tells nothing.
static inline bool udp_auth_same(const uint8_t a[UDP_AUTH_BYTES], const uint8_t b[UDP_AUTH_BYTES])
{
    uint64_t word[2];
    memcpy(&word[0], a, sizeof word[0]);
    memcpy(&word[1], b, sizeof word[1]);
    return word[0] == word[1];
}

// Whether a datagram with that header has that hash. Always in mode off.
bool udp_auth_genuine(const udp_auth_t *auth, const void *fields, size_t bytes, const void *payload,
                      size_t length, const uint8_t hash[UDP_AUTH_BYTES]);

// Whether the payload of a datagram whose header is genuine is the one that was sent. Always when
// payloads have no checksum.
bool udp_auth_intact(const udp_auth_t *auth, uint32_t checksum, const void *payload, size_t length);

#endif
