// SPDX-License-Identifier: BSD-3-Clause
// Authentication of datagrams: proves that a datagram comes from a process of this job and was not
// altered.
//
// What is always true:
// - All keys are derived from the key of the job, which the spawner distributes in secret.
//   Datagrams of another job or of a stranger fail authentication.
// - Every transmission has a packet number, which counts up for each pair of endpoints (udp_wire.h)
//   and direction, and never repeats. Where the number is
//   authenticated (encrypt, full, header), udp_replay.h recognizes a replayed datagram.
// - Secret bytes are compared in constant time.
//
//      mode      proof (16 bytes at the front of the header)      authenticated    secret
//      encrypt   tag of AES-256-GCM or ChaCha20-Poly1305          everything       the frames
//      full      SipHash(fields, Poly1305(frames))                everything       nothing
//      header    SipHash(fields), chained with each front         all but payload  nothing
//      token     a secret of 64 bits for source and destination   nothing          -
//      off       zeros                                            nothing          -
//
// Mode auto is encrypt between hosts and token on the loopback interface. On loopback only a
// process that may capture packets (CAP_NET_RAW) sees a datagram, and such a process has power over
// all users anyway; any other process would have to guess the token.
//
// The front of a frame is all of it but the payload: type, handler, arguments, place, cookie. So
// mode header protects which handler runs and which memory is written, but not the data.
//
// Mode full uses one Poly1305 key for the whole job, although such a key is normally good for one
// message only, because an attacker learns from each tag that becomes visible. Here no tag is
// visible: it goes through SipHash, a pseudo-random function, together with fields that never
// repeat (the packet number). What remains is guessing, for each forged datagram: a payload that
// collides with a given one under the unknown key (probability below 2^-90 for 64 KiB), or the hash
// (2^-64).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "../../../other/base/log/status.h"
#include "../../../spawner/boot/boot.h"
#include "udp_wire.h"

enum { UDP_SEAL_KEY_BYTES = 32 };

typedef enum udp_auth_mode {
    UDP_AUTH_OFF,
    UDP_AUTH_TOKEN,
    UDP_AUTH_HEADER,
    UDP_AUTH_FULL,
    UDP_AUTH_ENCRYPT
} udp_auth_mode_t;

// Constant after the start: any thread may use it.
typedef struct udp_auth {
    udp_auth_mode_t mode;
    // Datagrams have a checksum; never in modes full and encrypt, which cover all bytes.
    bool checksum;
    uint32_t job_tag; // distinguishes jobs; not a secret
    uint8_t header_key[16], payload_key[32], seal_key[UDP_SEAL_KEY_BYTES];
} udp_auth_t;

// Derives the keys from the job's key, and reads GASNET_UDP_AUTH and GASNET_UDP_CHECKSUM. loopback:
// the socket is bound to the loopback interface. Logs faults.
aq_status_t udp_auth_start(udp_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], bool loopback);

// As udp_auth_start, with explicit choices, for tests and tools.
aq_status_t udp_auth_derive(udp_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], udp_auth_mode_t mode,
                            bool checksum);

// The mode that the settings select.
udp_auth_mode_t udp_auth_chosen(bool loopback);

// The name of a mode: "encrypt", "full" ...
const char *udp_auth_name(udp_auth_mode_t mode);

// One sentence about what a mode prevents and what it does not.
const char *udp_auth_promise(udp_auth_mode_t mode);

// The token in datagrams from endpoint source to endpoint dest, in mode token.
uint64_t udp_auth_token(const udp_auth_t *auth, uint32_t source, uint32_t dest);

// Derives the key that encrypts datagrams from endpoint source to endpoint dest; see udp_seal.h for
// generations.
void udp_auth_seal_key(const udp_auth_t *auth, uint32_t source, uint32_t dest, uint64_t generation,
                       uint8_t out[UDP_SEAL_KEY_BYTES]);

// ---- all modes but encrypt ----

// Writes checksum and proof into a datagram whose header was encoded with a checksum of 0. The
// frames are `count` pieces (0 for a datagram without frames); the fronts of all frames are in the
// first piece. token: udp_auth_token of the two endpoints, used in mode token only.
void udp_auth_sign(const udp_auth_t *auth, uint8_t *datagram, const udp_header_t *header,
                   const struct iovec *frames, unsigned count, uint64_t token);

// Whether the proof of a datagram is valid. The header was decoded, and the first at_hand bytes are
// readable: at least the whole header, in mode full everything, and in mode header the fronts of
// all frames (otherwise false). token: as for udp_auth_sign.
bool udp_auth_genuine(const udp_auth_t *auth, const udp_header_t *header, const uint8_t *datagram,
                      size_t at_hand, uint64_t token);

// Whether the checksum of a complete datagram is correct; true without checksums.
bool udp_auth_intact(const udp_auth_t *auth, const udp_header_t *header, const uint8_t *datagram);
