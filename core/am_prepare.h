// Negotiated payload: a descriptor between Prepare and Commit or Cancel. Each thread has one.
#ifndef AQ_AM_PREPARE_H
#define AQ_AM_PREPARE_H

#include "am.h"

// Most that Prepare gives for a Long without a buffer of the client.
#define AQ_PREPARE_LONG_ROOM ((size_t)64 << 10)

typedef enum aq_room {
    AQ_ROOM_CLIENT,  // the client's own buffer, sent at Commit
    AQ_ROOM_BUFFER,  // a buffer of this descriptor, sent at Commit
    AQ_ROOM_CONDUIT, // inside the message, in the conduit's memory
} aq_room_t;

struct aq_srcdesc {
    aq_am_t am;
    aq_room_t room;
    size_t size; // most that Commit may send
    const void *payload;
    uint32_t jobrank;
    gex_Token_t token; // of a reply
    gex_Event_t *lc_opt;
    void *dest; // given at Prepare, or NULL
    aq_reservation_t reservation;
    char *buffer; // buffer_size bytes, kept for the next time
    size_t buffer_size;
};

// Frees the descriptor of a thread that ends.
void aq_prepare_free(struct aq_srcdesc *descriptor);

#endif
