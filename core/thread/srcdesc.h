// SPDX-License-Identifier: BSD-3-Clause
// A source descriptor of negotiated payload: a message between Prepare and Commit or Cancel. Each
// thread reuses one descriptor (thread.h).
#pragma once

#include <stddef.h>

#include "../conduit.h"
#include "../gasnetex_am.h"
#include "../ground/path.h"

// The largest buffer in bytes that Prepare provides for a Long.
#define AQ_PREPARE_LONG_ROOM ((size_t)64 << 10)

// Where the client assembles the payload.
typedef enum aq_room {
    AQ_ROOM_CLIENT,  // in the client's own buffer, sent at Commit
    AQ_ROOM_BUFFER,  // in the buffer of this descriptor, sent at Commit
    AQ_ROOM_CONDUIT, // in the message, in the conduit's memory
} aq_room_t;

typedef struct aq_srcdesc {
    aq_am_t am;
    aq_room_t room;
    size_t size; // limit in bytes for Commit
    const void *payload;
    aq_am_to_t to;  // the arguments of its header are not in am.nargs (message_of_conduit)
    aq_path_t path; // AQ_ROOM_CONDUIT: Commit and Cancel use the path of Prepare
    gex_Event_t *lc_opt;
    void *dest; // given at Prepare, or NULL
    aq_reservation_t reservation;
    char *buffer; // buffer_size bytes, reused by the next Prepare
    size_t buffer_size;
} aq_srcdesc_t;

// Frees a descriptor and its buffer; NULL is allowed.
void aq_srcdesc_free(aq_srcdesc_t *descriptor);
