// SPDX-License-Identifier: BSD-3-Clause
// Headers of large messages: their bytes, and the order in which they are handled.
#include <stdlib.h>
#include <string.h>

#include "../../core/am/am_send.h"
#include "../../core/record/counters.h"
#include "../../core/ground/fatal.h"
#include "../../core/record/trace.h"
#include "../../extended/rma/layer_table.h"
#include "large_header.h"
#include "../two_sided/params.h"
#include "../two_sided/msg_peers.h"

// A header as it travels; types, parameters and data follow, without gaps.
typedef struct wire {
    aq_msg_head_t head;
    uint64_t types_bytes;
} wire_t;

// What a process keeps for another one.
typedef struct peer {
    aq_order_t order;        // of its messages
    gasnetx_Large_t waiting; // the first of those that wait for their team
    uint32_t sent;           // the number of the next message to it
} peer_t;
static peer_t *peers; // by job rank; NULL before the first message; under aq_large.lock

// With the lock.
static peer_t *peer_of(uint32_t jobrank)
{
    if (!peers)
        peers = aq_allocate_zeroed(aq_job.size, sizeof *peers, "the large messages of all ranks");
    return &peers[jobrank];
}

aq_order_t *aq_large_order(uint32_t jobrank, bool make)
{
    return make || peers ? &peer_of(jobrank)->order : NULL;
}

// ---- headers that leave ----

static size_t types_bytes(const gasnetx_params_t *params)
{
    return params->types ? strlen(params->types) : 0;
}

// Bytes of a header without its data, with these parameters; HEADER_MAX: with any.
static size_t header_bytes(const gasnetx_params_t *params)
{
    return sizeof(wire_t) + types_bytes(params) + params->bytes;
}

enum { HEADER_MAX = sizeof(wire_t) + GASNETX_TYPES_MAX + GASNETX_PARAMS_MAX };
_Static_assert(HEADER_MAX <= 512, "each conduit has Mediums of 512 bytes");

// The most data that travels with a header, whatever the parameters are, so that the data can be
// forwarded with other parameters.
static size_t data_most(void)
{
    return aq_job.limits.medium - HEADER_MAX;
}

bool aq_large_is_eager(uint32_t jobrank, size_t nbytes)
{
    return nbytes <= data_most() && aq_msg_is_eager(jobrank, nbytes);
}

static uint32_t number_take(uint32_t jobrank)
{
    aq_lock_take(&aq_large.lock);
    const uint32_t number = peer_of(jobrank)->sent++;
    aq_lock_drop(&aq_large.lock);
    return number;
}

uint8_t *aq_large_bytes_append(uint8_t *to, const void *bytes, size_t count)
{
    if (count)
        memcpy(to, bytes, count);
    return to + count;
}

static void wire_fill(uint8_t *to, const aq_msg_head_t *head, const gasnetx_params_t *params,
                      const void *data, size_t data_bytes)
{
    const wire_t wire = {*head, types_bytes(params)};
    to = aq_large_bytes_append(to, &wire, sizeof wire);
    to = aq_large_bytes_append(to, params->types, wire.types_bytes);
    to = aq_large_bytes_append(to, params->block, params->bytes);
    aq_large_bytes_append(to, data, data_bytes);
}

void aq_large_header_send(uint32_t jobrank, aq_msg_head_t *head, const gasnetx_params_t *params,
                          const void *bytes)
{
    const size_t data_bytes = head->cookie ? 0 : head->nbytes;
    const size_t total = header_bytes(params) + data_bytes;
    uint8_t *payload = aq_allocate(total, "the header of a large message");
    head->number = number_take(jobrank);
    aq_count_bytes_to(jobrank, AQ_COUNT_SEND, AQ_COUNT_SEND_BYTES, head->nbytes);
    wire_fill(payload, head, params, bytes, data_bytes);
    aq_am_t am = {.payload = payload,
                  .nbytes = total,
                  .category = AQ_AM_MEDIUM,
                  .handler = AQ_HANDLER_LARGE_HEADER};
    const uint64_t begin = aq_trace_begin(AQ_TRACE_AM);
    aq_am_request(jobrank, &am, 0);
    aq_trace_two_sided(AQ_TRACED_LARGE_SEND, begin, jobrank, head->nbytes, head->tag, head->number);
    free(payload);
}

// ---- headers that arrive ----

// Reads types of so many bytes, behind which the header has the rest.
static const char *types_read(const uint8_t *from, uint64_t bytes, size_t rest,
                              aq_large_header_t *header)
{
    if (bytes > GASNETX_TYPES_MAX || bytes > rest)
        return "it is shorter than it says";
    memcpy(header->types, from, bytes);
    header->types[bytes] = 0;
    if (strlen(header->types) != bytes || !aq_params_size(header->types, &header->params_bytes))
        return "the types of its parameters are no description";
    return header->params_bytes > rest - bytes ? "it is shorter than its parameters" : NULL;
}

const char *aq_large_header_read(const uint8_t *payload, size_t nbytes, aq_large_header_t *header)
{
    wire_t wire;
    if (nbytes < sizeof wire)
        return "it is shorter than a header";
    memcpy(&wire, payload, sizeof wire);
    payload += sizeof wire;
    nbytes -= sizeof wire;
    const char *why = types_read(payload, wire.types_bytes, nbytes, header);
    if (why)
        return why;
    header->head = wire.head;
    header->params = payload + wire.types_bytes;
    header->data_bytes = nbytes - wire.types_bytes - header->params_bytes;
    if (header->data_bytes != (wire.head.cookie ? 0 : wire.head.nbytes) ||
        header->data_bytes > data_most())
        return "it has not the data that it says";
    return NULL;
}

bool aq_large_is_behind(gasnetx_Large_t message, bool waits)
{
    aq_lock_take(&aq_large.lock);
    peer_t *peer = peer_of(message->head.source);
    const bool behind = peer->waiting && peer->waiting != message;
    if (!behind)
        peer->waiting = waits ? message : NULL;
    aq_lock_drop(&aq_large.lock);
    return behind;
}
