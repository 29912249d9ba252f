// SPDX-License-Identifier: BSD-3-Clause
// Headers of large messages: their bytes, and the order in which they are handled.
#include <stdlib.h>
#include <string.h>

#include "../../core/am/am_send.h"
#include "../../core/record/counters.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/ground/fatal.h"
#include "../../core/record/trace.h"
#include "../../core/record/traffic.h"
#include "../../extended/rma/layer_table.h"
#include "../../other/base/minmax.h"
#include "large.h"
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
    if (!peers && !(peers = calloc(aq_job.size, sizeof *peers)))
        aq_fatal("out of memory for the large messages of %u ranks", aq_job.size);
    return &peers[jobrank];
}

// ---- headers that leave ----

static size_t types_bytes(const gasnetx_params_t *params)
{
    return params->types ? strlen(params->types) : 0;
}

// Of a header without its data: of these parameters, and of any.
static size_t header_bytes(const gasnetx_params_t *params)
{
    return sizeof(wire_t) + types_bytes(params) + params->bytes;
}

enum { HEADER_MAX = sizeof(wire_t) + GASNETX_TYPES_MAX + GASNETX_PARAMS_MAX };
_Static_assert(HEADER_MAX <= 512, "each conduit has Mediums of 512 bytes");

// Whatever the parameters are, so that the data can go on with other ones.
static size_t data_most(void)
{
    return aq_job.max_medium - HEADER_MAX;
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

static uint8_t *bytes_append(uint8_t *to, const void *bytes, size_t count)
{
    if (count)
        memcpy(to, bytes, count);
    return to + count;
}

static void wire_fill(uint8_t *to, const aq_msg_head_t *head, const gasnetx_params_t *params,
                      const void *data, size_t data_bytes)
{
    const wire_t wire = {*head, types_bytes(params)};
    to = bytes_append(to, &wire, sizeof wire);
    to = bytes_append(to, params->types, wire.types_bytes);
    to = bytes_append(to, params->block, params->bytes);
    bytes_append(to, data, data_bytes);
}

void aq_large_header_send(uint32_t jobrank, aq_msg_head_t *head, const gasnetx_params_t *params,
                          const void *bytes)
{
    const size_t data_bytes = head->cookie ? 0 : head->nbytes;
    const size_t total = header_bytes(params) + data_bytes;
    uint8_t *payload = malloc(total);
    if (!payload)
        aq_fatal("out of memory for a large message (%zu bytes of it)", total);
    head->number = number_take(jobrank);
    aq_count_bytes_to(jobrank, AQ_COUNT_SEND, AQ_COUNT_SEND_BYTES, head->nbytes);
    wire_fill(payload, head, params, bytes, data_bytes);
    const aq_am_t am = {.payload = payload,
                        .nbytes = total,
                        .category = AQ_AM_MEDIUM,
                        .handler = AQ_HANDLER_LARGE_HEADER};
    const uint64_t begin = aq_trace_begin(AQ_TRACE_AM);
    aq_am_request(jobrank, &am, 0);
    aq_trace_two_sided(AQ_TRACED_LARGE_SEND, begin, jobrank, head->nbytes, head->tag, head->number);
    free(payload);
}

// ---- headers that arrive ----

static __attribute__((noreturn)) void header_refuse(uint32_t source, const char *why)
{
    aq_fatal("a large message of rank %u is wrong: %s", source, why);
}

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

// Parameters first, for their alignment.
static gasnetx_Large_t message_make(const aq_large_header_t *header)
{
    const size_t params_bytes = header->params_bytes, types_size = strlen(header->types) + 1;
    gasnetx_Large_t message =
        malloc(sizeof *message + params_bytes + types_size + header->data_bytes);
    if (!message)
        aq_fatal("out of memory for a large message of rank %u", header->head.source);
    *message = (struct gasnetx_large){.work = {.run = aq_large_handle},
                                      .order = {.number = header->head.number},
                                      .head = header->head};
    uint8_t *at = bytes_append(message->memory, header->params, params_bytes);
    message->params = (gasnetx_params_t){message->memory, params_bytes, (const char *)at};
    at = bytes_append(at, header->types, types_size);
    message->bytes = at;
    bytes_append(at, header->params + params_bytes, header->data_bytes);
    return message;
}

static gasnetx_Large_t message_read(uint32_t source, const uint8_t *payload, size_t nbytes)
{
    aq_large_header_t header;
    const char *why = aq_large_header_read(payload, nbytes, &header);
    if (why)
        header_refuse(source, why);
    header.head.source = source;
    return message_make(&header);
}

static aq_large_work_t *work_of(aq_order_entry_t *entry)
{
    return (aq_large_work_t *)(void *)((char *)entry - offsetof(struct gasnetx_large, order));
}

static void header_append(aq_order_t *order, aq_order_entry_t *entry, unsigned mode)
{
    aq_large_work_t *work = work_of(entry);
    if (mode & GASNETX_MSG_STOPPED)
        work->run = aq_large_drop;
    aq_order_pass(order);
    aq_large_append(work);
}

// With the lock: headers that are the next ones become work, unless this rank has stopped. The
// client sets the mode before it calls aq_large_headers_go_on, so that none is left behind.
static void headers_append(aq_order_t *order)
{
    const unsigned mode = atomic_load_explicit(&aq_msg.mode, memory_order_relaxed);
    if (mode == GASNETX_MSG_STOPPED)
        return;
    for (aq_order_entry_t *entry; (entry = aq_order_take(order));)
        header_append(order, entry, mode);
}

static void on_header(gex_Token_t token, void *payload, size_t nbytes)
{
    const uint32_t source = token->arrival->source;
    const uint64_t begin = aq_trace_begin(AQ_TRACE_AM);
    gasnetx_Large_t message = message_read(source, payload, nbytes);
    const aq_msg_head_t head = message->head; // another thread may handle, and free, the message
    aq_msg_room_arrive(source, aq_large_cost(&head));
    aq_traffic_received(source, AQ_ARRIVED_SENDS, head.nbytes);
    aq_lock_take(&aq_large.lock);
    aq_order_t *order = &peer_of(source)->order;
    const bool right = aq_order_keep(order, &message->order);
    headers_append(order);
    aq_lock_drop(&aq_large.lock);
    if (!right)
        header_refuse(source, "its number was here before");
    aq_trace_two_sided(AQ_TRACED_LARGE_RECEIVE, begin, source, head.nbytes, head.tag, head.number);
}

void aq_large_headers_go_on(void)
{
    aq_lock_take(&aq_large.lock);
    for (uint32_t i = 0; peers && i < aq_job.size; i++)
        headers_append(&peers[i].order);
    aq_lock_drop(&aq_large.lock);
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

void aq_large_header_register(void)
{
    aq_endpoint_internal(AQ_HANDLER_LARGE_HEADER, (gex_AM_Fn_t)on_header,
                         GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, "large message");
}
