// One connection of the tree: frames in, frames out, nothing blocks.
//
// Always true: bytes that are put into `out` are sent in order, as far as flush gets; a link whose
// fd is -1 is closed and owns no memory. The kernel watches the peer: one that is gone without a
// word (power, network) is found in AQ_LINK_SILENCE seconds, also by a process that is stopped.
#ifndef AQ_LINK_H
#define AQ_LINK_H

#include "frame.h"

#define AQ_LINK_SILENCE 6

typedef struct aq_link {
    int fd;
    aq_bytes_t in, out;
    size_t taken;   // of in: the frame that next returned last
    size_t sent;    // of out
    uint64_t total; // bytes sent since it was opened
} aq_link_t;

// Takes over a connected socket.
void aq_link_open(aq_link_t *link, int fd);
void aq_link_close(aq_link_t *link);
// Bytes that wait to be sent.
size_t aq_link_waiting(const aq_link_t *link);
// Sends what can be sent now. 0, or the errno with which the connection broke.
int aq_link_flush(aq_link_t *link);
// Receives what is there, once. 0, or the errno with which it broke; ENOTCONN: the peer closed.
int aq_link_receive(aq_link_t *link);
// The next frame that has come in whole, valid until the next call. most: see aq_frame_read.
aq_framing_t aq_link_next(aq_link_t *link, size_t most, aq_frame_t *out);

#endif
