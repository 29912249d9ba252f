// One connection of the tree: frames in, frames out, nothing blocks.
//
// Always true: bytes that are put into `out` are sent in order, as far as flush gets; a link whose
// fd is -1 is closed and owns no memory. The kernel watches the peer: one that is gone without a
// word (power, network) is found in AQ_LINK_SILENCE seconds, also by a process that is stopped.
//
// A link begins in clear, for the proof of the key, and the peer is unknown: it is read in small
// pieces and never holds more than AQ_LINK_CLEAR_MOST bytes of the peer's. From aq_link_seal on all
// bytes are sealed, both ways (seal.h), and `in` has only what the peer has sealed.
#ifndef AQ_LINK_H
#define AQ_LINK_H

#include "seal.h"

#define AQ_LINK_SILENCE 6
#define AQ_LINK_CLEAR_MOST ((size_t)1024)

typedef struct aq_link {
    int fd;
    aq_bytes_t in, out;
    size_t taken;                 // of in: the frame that next returned last
    size_t sent;                  // of out; on a sealed link: that are sealed
    aq_seal_t *seal;              // NULL: in clear
    aq_bytes_t wire_out, wire_in; // sealed: not sent yet; not opened yet
    size_t wire_sent;             // of wire_out
} aq_link_t;

// Takes over a connected socket.
void aq_link_open(aq_link_t *link, int fd);
void aq_link_close(aq_link_t *link);
// All that follows on both sides is sealed: after the caller's proof was put into out, or was read.
// 0; ENOMEM; EBADMSG: the peer has sent already what it has not sealed.
int aq_link_seal(aq_link_t *link, const aq_auth_t *auth, const uint8_t key[AQ_KEY_BYTES],
                 bool is_caller);
// Bytes that wait to be sent.
size_t aq_link_waiting(const aq_link_t *link);
// Sends what can be sent now. 0, or the errno with which the connection broke.
int aq_link_flush(aq_link_t *link);
// Receives what is there, once. 0, or the errno with which it broke; ENOTCONN: the peer closed;
// EBADMSG: somebody has changed what the peer sent, and nothing that follows is delivered.
int aq_link_receive(aq_link_t *link);
// Why a link broke with that errno, in words, before it is closed.
void aq_link_reason(const aq_link_t *link, int error, char *text, size_t room);
// The next frame that has come in whole, valid until the next call. most: see aq_frame_read.
aq_framing_t aq_link_next(aq_link_t *link, size_t most, aq_frame_t *out);

#endif
