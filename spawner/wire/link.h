// SPDX-License-Identifier: BSD-3-Clause
// One connection of the tree: frames in, frames out, without blocking.
//
// Always true: bytes that are put into `out` are sent in order. A link whose fd is -1 is closed and
// owns no memory. The kernel watches the peer: a peer that disappears silently (power, network) is
// detected, even by a process that is stopped, but not before it was silent for the time that
// aq_link_bear sets.
//
// A link begins in clear, until the peer is authenticated. Until then it is read in small pieces
// and never holds more than AQ_LINK_CLEAR_MAX bytes from the peer. After aq_link_seal all bytes
// are sealed in both directions (seal.h), and `in` holds only what the peer has sealed.
#pragma once

#include "seal.h"

#define AQ_LINK_SILENCE_MS 60000u // unless aq_link_bear sets another time
#define AQ_LINK_FOREVER UINT32_MAX
#define AQ_LINK_CLEAR_MAX ((size_t)1024)

typedef struct aq_link {
    int fd;
    aq_bytes_t in, out;
    size_t taken;    // bytes of in: the frame that next returned last
    size_t sent;     // bytes of out; on a sealed link: bytes already sealed
    aq_seal_t *seal; // NULL: in clear
    bool trusted;    // in clear without a limit: the peer is a process of this user on this host
    aq_bytes_t wire_out, wire_in; // sealed bytes that are not sent yet; not opened yet
    size_t wire_sent;             // bytes of wire_out
} aq_link_t;

// Takes over a connected socket.
void aq_link_open(aq_link_t *link, int fd);
// Sets how many milliseconds of silence the link survives (AQ_LINK_FOREVER: any number). It breaks
// with ETIMEDOUT after twice that time: the kernel doubles the time between two retransmissions, so
// the first one after an outage may come as late after it as the outage took.
void aq_link_bear(const aq_link_t *link, uint32_t silence_ms);
// The time that the user chose (GASNET_UDP_HOST_TIMEOUT), in milliseconds.
uint32_t aq_link_chosen_silence(void);
void aq_link_close(aq_link_t *link);
// Seals everything that follows in both directions. The caller's side seals after it has put its
// AUTH into out, the listener's side after reading that frame. Returns 0; ENOMEM; or EBADMSG: the
// peer has already sent bytes that are not sealed.
int aq_link_seal(aq_link_t *link, const aq_auth_t *auth, const uint8_t key[AQ_KEY_BYTES],
                 bool is_caller);
// Bytes that wait to be sent.
size_t aq_link_waiting(const aq_link_t *link);
// Sends as much as possible now. Returns 0, or the errno with which the connection broke.
int aq_link_flush(aq_link_t *link);
// Receives once. Returns 0, or the errno with which the connection broke. ENOTCONN: the peer
// closed. EBADMSG: bytes were changed on the way, and nothing that follows is delivered.
int aq_link_receive(aq_link_t *link);
// Describes why a link broke with that errno. Call before closing the link.
void aq_link_reason(const aq_link_t *link, int error, char *text, size_t size);
// Returns the next complete frame, valid until the next call. most: see aq_frame_read.
aq_framing_t aq_link_next(aq_link_t *link, size_t most, aq_frame_t *out);
// The same, after sending what waits; blocks until the deadline, in time of aq_clock_ns();
// UINT64_MAX: without a limit. False: no frame came, it is not legal, or the connection broke.
bool aq_link_await(aq_link_t *link, size_t most, uint64_t deadline, aq_frame_t *out);

// Reads one frame from a pipe, byte by byte, so that nothing after it is consumed. *out points into
// *bytes, which the caller erases and frees. Blocks for at most timeout_ms per byte. False: no
// frame came, or it is not legal.
bool aq_link_read_first(int fd, size_t most, int timeout_ms, aq_bytes_t *bytes, aq_frame_t *out);
