// SPDX-License-Identifier: BSD-3-Clause
// Programs that watch a job (gasnet_top) connect to an abstract socket of a process of the tree,
// which answers them (other/observe/format/look_format.h). Nothing here blocks.
//
// A slow reader cannot delay the job: its answers wait in memory up to a limit, above which it is
// disconnected.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include "../../other/observe/format/look_format.h"
#include "node_state.h"

enum { AQ_LOOK_READERS = 8, AQ_LOOK_WAITING_MAX = 64 << 20 };

typedef struct aq_look_readers aq_look_readers_t;

// A place is free if its link has no descriptor.
typedef struct aq_look_reader {
    aq_look_readers_t *of;
    aq_link_t link;  // only its output is used
    uint32_t number; // of its last look, from the owner; 0: none
    uint8_t request[AQ_LOOK_REQUEST];
    size_t request_bytes; // of it that have come
} aq_look_reader_t;

// Called for each request: sets the number of the reader, and answers now or later.
typedef void aq_look_query_t(aq_node_t *node, aq_look_reader_t *reader, aq_look_request_t what,
                             uint32_t rank);

struct aq_look_readers {
    int listener; // -1: none
    aq_look_query_t *query;
    aq_look_reader_t reader[AQ_LOOK_READERS];
};

// Must be called first.
void aq_readers_init(aq_look_readers_t *readers, aq_look_query_t *query);
// Listens. If that fails, there are no readers, and the job goes on.
void aq_readers_listen(aq_look_readers_t *readers, const struct sockaddr_un *address,
                       socklen_t length);
// Adds the readers to the next wait of the node.
void aq_readers_watch(aq_look_readers_t *readers, aq_node_t *node);
// Tells a reader a frame of that type; length: bytes.
void aq_reader_tell(aq_look_reader_t *reader, unsigned type, const uint8_t *data, size_t length);
// The reader whose last look has that number; NULL: it has gone, or has asked again.
aq_look_reader_t *aq_readers_find(aq_look_readers_t *readers, uint32_t number);
// Whether a reader may ask this.
bool aq_look_is_request(unsigned what);
