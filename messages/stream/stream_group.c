// SPDX-License-Identifier: BSD-3-Clause
// Group communication on a stream: a round of all children and of this rank itself brings data up,
// and the root sends the result down. The handlers are like those of clients.
//
//      SendRecv -> this rank itself --.
//      children -------------------- round: group_up -> parent ... root: result
//      result from the parent -> group_down -> children; the oldest call is complete
//
// - The messages of an id are in the order of the calls at each rank, since the stream is ordered.
//   So a round has the messages of one operation, and a result belongs to the oldest call.
// - A call is in its list before its message is sent.
#include <stdlib.h>
#include <string.h>

#include "../../core/ground/errors.h"
#include "../../core/ground/fatal.h"
#include "../../extended/coll/coll_operators.h"
#include "stream_group.h"
#include "stream_list.h"
#include "stream_send.h"
#include "../two_sided/msg_check.h"

#define CALL "gasnetx_Stream_SendRecv"

typedef struct aq_stream_call {
    struct aq_stream_call *next;
    gasnetx_stream_group_t group; // fn: the operator, also of a built-in one
    gasnetx_Request_t request;    // or GASNETX_REQUEST_NULL
    size_t params_bytes;
    uint8_t params[GASNETX_STREAM_PARAMS_MAX];
} aq_stream_call_t;

// ---- kinds of operations ----

static bool is_gathered(uint32_t id)
{
    return id == GASNETX_STREAM_GATHER || id == GASNETX_STREAM_ALLGATHER ||
           id == GASNETX_STREAM_SCAN;
}
static bool has_operator(uint32_t id)
{
    return id >= GASNETX_STREAM_REDUCE;
}
static bool goes_down(uint32_t id)
{
    return id != GASNETX_STREAM_GATHER && id != GASNETX_STREAM_REDUCE;
}
static bool is_root(gasnetx_Stream_t stream)
{
    return !aq_stream_has_parent(stream);
}

// Bytes of the result that the root makes and sends down.
static size_t made_bytes(gasnetx_Stream_t stream, const gasnetx_stream_group_t *group)
{
    return is_gathered(group->id) ? group->nbytes * stream->info.members : group->nbytes;
}

// Bytes that dest of this rank has to hold.
static size_t dest_bytes(gasnetx_Stream_t stream, const gasnetx_stream_group_t *group)
{
    if (!goes_down(group->id) && !is_root(stream))
        return 0;
    if (group->id == GASNETX_STREAM_BROADCAST && is_root(stream) && !group->dest)
        return 0;
    return group->id == GASNETX_STREAM_SCAN ? group->nbytes : made_bytes(stream, group);
}

static void *memory_get(size_t bytes)
{
    return aq_allocate(bytes, "group communication on a stream");
}

// ---- calls, with the lock ----

static aq_stream_call_t **calls_of(gasnetx_Stream_t stream, uint32_t id)
{
    return &stream->groups.calls[id - GASNETX_STREAM_BARRIER];
}

static void call_append(gasnetx_Stream_t stream, aq_stream_call_t *call)
{
    aq_stream_call_t **at = calls_of(stream, call->group.id);
    aq_lock_take(&stream->lock);
    while (*at)
        at = &(*at)->next;
    *at = call;
    aq_lock_drop(&stream->lock);
}

static void call_remove(gasnetx_Stream_t stream, const aq_stream_call_t *call)
{
    aq_stream_call_t **at = calls_of(stream, call->group.id);
    aq_lock_take(&stream->lock);
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    aq_lock_drop(&stream->lock);
}

static aq_stream_call_t *call_oldest(gasnetx_Stream_t stream, uint32_t id)
{
    aq_lock_take(&stream->lock);
    aq_stream_call_t *call = *calls_of(stream, id);
    aq_lock_drop(&stream->lock);
    return call;
}

// ---- results ----

// Sets dest to the reduction of the blocks up to that of this rank.
static void scan_make(gasnetx_Stream_t stream, const gasnetx_stream_group_t *group,
                      const uint8_t *blocks)
{
    uint8_t *next = memory_get(group->nbytes);
    memcpy(group->dest, blocks, group->nbytes);
    for (gex_Rank_t i = 1; i <= stream->info.place; i++) {
        memcpy(next, blocks + i * group->nbytes, group->nbytes);
        group->fn(group->dest, next, group->count, group->cdata);
        memcpy(group->dest, next, group->nbytes);
    }
    free(next);
}

static void result_store(gasnetx_Stream_t stream, const gasnetx_stream_group_t *group,
                         const void *result)
{
    const size_t bytes = dest_bytes(stream, group);
    if (group->id == GASNETX_STREAM_SCAN && group->count)
        scan_make(stream, group, result);
    else if (bytes)
        memcpy(group->dest, result, bytes);
}

// Completes the oldest call of an id. result: of the root; NULL: this rank gets none.
static void call_complete(gasnetx_Stream_t stream, aq_stream_call_t *call, const void *result)
{
    const gasnetx_stream_group_t *group = &call->group;
    const gasnetx_stream_entry_t *entry = &stream->groups.entry[group->id - GASNETX_STREAM_BARRIER];
    if (result)
        result_store(stream, group, result);
    const size_t nbytes = result ? dest_bytes(stream, group) : 0;
    const gasnetx_stream_message_t message = {.source = stream->rank,
                                              .data = nbytes ? group->dest : NULL,
                                              .nbytes = nbytes,
                                              .params = call->params,
                                              .params_bytes = call->params_bytes};
    call_remove(stream, call);
    if (entry->fn)
        entry->fn(stream, &message, 1, entry->context);
    if (call->request)
        (void)gasnetx_Request_Complete(call->request);
    free(call);
}

// ---- handlers ----

static void part_check(const gasnetx_stream_message_t *part, size_t nbytes)
{
    if (part->nbytes != nbytes)
        aq_fatal("rank %u of a stream takes part in group communication with %zu bytes, and this "
                 "rank with %zu; all members have to make the same calls",
                 part->source, part->nbytes, nbytes);
}

// Reduces the parts of a round to output.
static void parts_reduce(const gasnetx_stream_group_t *group, const gasnetx_stream_message_t *parts,
                         size_t count, gasnetx_stream_output_t *output)
{
    for (size_t i = 0; i < count; i++) {
        part_check(&parts[i], group->nbytes);
        if (i == 0)
            memcpy(output->data, parts[0].data, group->nbytes);
        else if (group->count)
            group->fn(parts[i].data, output->data, group->count, group->cdata);
    }
    output->nbytes = group->nbytes;
}

// The parts of a broadcast or a barrier: only the root's has data, which become the output.
static void parts_choose(gasnetx_Stream_t stream, const gasnetx_stream_group_t *group,
                         const gasnetx_stream_message_t *parts, size_t count,
                         gasnetx_stream_output_t *output)
{
    for (size_t i = 0; i < count; i++) {
        const bool of_root = is_root(stream) && parts[i].source == stream->rank;
        part_check(&parts[i], of_root ? group->nbytes : 0);
        if (!parts[i].nbytes)
            continue;
        memcpy(output->data, parts[i].data, parts[i].nbytes);
        output->nbytes = parts[i].nbytes;
    }
}

static void parts_join(gasnetx_Stream_t stream, const gasnetx_stream_group_t *group,
                       const gasnetx_stream_message_t *parts, size_t count,
                       gasnetx_stream_output_t *output)
{
    if (is_gathered(group->id))
        (void)gasnetx_Stream_Combine(stream, parts, count, output, NULL);
    else if (has_operator(group->id))
        parts_reduce(group, parts, count, output);
    else
        parts_choose(stream, group, parts, count, output);
}

static int record_compare(const void *a, const void *b)
{
    const gex_Rank_t x = ((const gasnetx_stream_message_t *)a)->source;
    const gex_Rank_t y = ((const gasnetx_stream_message_t *)b)->source;
    return (x > y) - (x < y);
}

// At the root: the blocks of all members, ascending by rank. The caller frees them.
static uint8_t *blocks_make(gasnetx_Stream_t stream, const gasnetx_stream_group_t *group,
                            const gasnetx_stream_message_t *all)
{
    const gex_Rank_t members = stream->info.members;
    gasnetx_stream_message_t *records = memory_get((members + 1) * sizeof *records);
    uint8_t *blocks = memory_get(made_bytes(stream, group));
    gex_Rank_t count = 0;
    for (size_t at = 0;
         count <= members && gasnetx_Stream_NextRecord(all, &at, &records[count]) == GASNET_OK;)
        part_check(&records[count++], group->nbytes);
    if (count != members)
        aq_fatal("group communication on a stream has %u parts of %u members", count, members);
    qsort(records, members, sizeof *records, record_compare);
    for (gex_Rank_t i = 0; i < members && group->nbytes; i++)
        memcpy(blocks + i * group->nbytes, records[i].data, group->nbytes);
    free(records);
    return blocks;
}

static void group_send(gasnetx_Stream_t stream, unsigned direction,
                       const aq_stream_parcel_t *parcel)
{
    (void)aq_stream_send(stream, aq_stream_span(stream, direction), parcel, AQ_STREAM_ALWAYS);
}

// At the root, when all parts are in `parcel`: completes the call, and sends the result down.
static void root_finish(gasnetx_Stream_t stream, aq_stream_call_t *call, aq_stream_parcel_t *parcel)
{
    uint8_t *blocks = NULL;
    if (is_gathered(call->group.id)) {
        const gasnetx_stream_message_t all = {
            .flags = GASNETX_STREAM_COMBINED, .data = parcel->data, .nbytes = parcel->nbytes};
        parcel->data = blocks = blocks_make(stream, &call->group, &all);
        parcel->nbytes = made_bytes(stream, &call->group);
        parcel->flags = 0;
    }
    if (goes_down(call->group.id))
        group_send(stream, AQ_INBOX_DOWN, parcel);
    call_complete(stream, call, parcel->data);
    free(blocks);
}

static void group_up(gasnetx_Stream_t stream, const gasnetx_stream_message_t *parts, size_t count,
                     void *context)
{
    const uint32_t id = (uint32_t)(uintptr_t)context;
    aq_stream_call_t *call = call_oldest(stream, id);
    if (!call)
        aq_fatal("rank %u of a stream takes part in group communication that this rank has not "
                 "begun",
                 parts[0].source);
    gasnetx_stream_output_t output = {.data = memory_get(stream->info.max_bytes),
                                      .capacity = stream->info.max_bytes};
    parts_join(stream, &call->group, parts, count, &output);
    aq_stream_parcel_t parcel = {.id = id,
                                 .source = stream->rank,
                                 .flags = output.flags,
                                 .data = output.data,
                                 .nbytes = output.nbytes};
    if (output.nbytes > output.capacity)
        aq_fatal("the data of group communication on a stream have %zu bytes; at most %zu fit",
                 output.nbytes, output.capacity);
    if (is_root(stream)) {
        root_finish(stream, call, &parcel);
    } else {
        group_send(stream, AQ_INBOX_UP, &parcel);
        if (!goes_down(id))
            call_complete(stream, call, NULL);
    }
    free(output.data);
}

static void group_down(gasnetx_Stream_t stream, const gasnetx_stream_message_t *result,
                       size_t count, void *context)
{
    const uint32_t id = (uint32_t)(uintptr_t)context;
    aq_stream_call_t *call = call_oldest(stream, id);
    (void)count;
    if (!call)
        aq_fatal("rank %u of a stream has sent the result of group communication that this rank "
                 "has not begun",
                 result->source);
    part_check(result, made_bytes(stream, &call->group));
    const aq_stream_parcel_t parcel = {
        .id = id, .source = result->source, .data = result->data, .nbytes = result->nbytes};
    group_send(stream, AQ_INBOX_DOWN, &parcel);
    call_complete(stream, call, result->data);
}

void aq_stream_group_entries(uint32_t id, gasnetx_stream_entry_t *up, gasnetx_stream_entry_t *down)
{
    void *context = (void *)(uintptr_t)id;
    *up = (gasnetx_stream_entry_t){.id = id,
                                   .directions = GASNETX_UP,
                                   .flags = GASNETX_STREAM_SELF,
                                   .children = GASNETX_ALL_CHILDREN,
                                   .fn = group_up,
                                   .context = context};
    *down = (gasnetx_stream_entry_t){
        .id = id, .directions = GASNETX_DOWN, .fn = group_down, .context = context};
}

// ---- the call ----

// Returns NULL if the operator is wrong, or the count is not that of the bytes.
static gex_Coll_ReduceFn_t operator_of(const gasnetx_stream_group_t *group)
{
    const bool of_user = group->op == GEX_OP_USER || group->op == GEX_OP_USER_NC;
    const size_t unit = of_user ? 0 : aq_coll_type_size(group->dt);
    if (group->count > group->nbytes)
        return NULL;
    if (of_user)
        return group->count && group->nbytes % group->count ? NULL : group->fn;
    return unit * group->count == group->nbytes ? aq_coll_operator(group->dt, group->op) : NULL;
}

static bool parts_fit(gasnetx_Stream_t stream, const gasnetx_stream_group_t *group)
{
    const size_t most = stream->info.max_bytes;
    if (!is_gathered(group->id))
        return group->nbytes <= most;
    return group->nbytes <= most &&
           (8 + aq_stream_filled(group->nbytes)) * stream->info.members <= most;
}

static const char *group_check(gasnetx_Stream_t stream, const gasnetx_stream_group_t *group,
                               size_t params_bytes)
{
    if (group->id < GASNETX_STREAM_BARRIER || group->id > GASNETX_STREAM_SCAN)
        return "the id is not one of group communication";
    if (stream->flags != GASNETX_STREAM_ORDERED)
        return "group communication needs an ordered stream that does not drop";
    if (stream->closed[AQ_INBOX_UP])
        return "the stream is being freed";
    if (params_bytes > GASNETX_STREAM_PARAMS_MAX || !parts_fit(stream, group))
        return "the data of all members do not fit into a message";
    if (has_operator(group->id) && !operator_of(group))
        return "the operator, the type, the count and the bytes do not fit together";
    if (dest_bytes(stream, group) && (!group->dest || group->capacity < dest_bytes(stream, group)))
        return "dest is too small for the result";
    return NULL;
}

static aq_stream_call_t *call_make(const gasnetx_stream_group_t *group, const void *params,
                                   size_t params_bytes, bool with_request)
{
    aq_stream_call_t *call = memory_get(sizeof *call);
    *call = (aq_stream_call_t){.group = *group, .params_bytes = params_bytes};
    if (has_operator(group->id))
        call->group.fn = operator_of(group);
    if (params_bytes)
        memcpy(call->params, params, params_bytes);
    if (with_request)
        (void)gasnetx_Request_Make(1, &call->request);
    return call;
}

// The part of this rank. Of a broadcast only the root has one.
static aq_stream_parcel_t part_make(gasnetx_Stream_t stream, const gasnetx_stream_group_t *group)
{
    const bool brings = group->id != GASNETX_STREAM_BROADCAST || is_root(stream);
    return (aq_stream_parcel_t){.id = group->id,
                                .source = stream->rank,
                                .data = group->src,
                                .nbytes = brings ? group->nbytes : 0};
}

// Removes a call whose message was not sent.
static int call_cancel(gasnetx_Stream_t stream, aq_stream_call_t *call, int error)
{
    call_remove(stream, call);
    if (call->request) {
        (void)gasnetx_Request_Complete(call->request);
        (void)gasnetx_Request_Wait(&call->request, NULL);
    }
    free(call);
    return aq_refuse(error, CALL ": there is no room for the message now");
}

int gasnetx_Stream_SendRecv(gasnetx_Stream_t stream, const gasnetx_stream_group_t *group,
                            const void *params, size_t params_bytes, gasnetx_Request_t *request)
{
    if (aq_stream_check(CALL, stream, true))
        return GASNET_ERR_BAD_ARG;
    gasnetx_stream_group_t own = *group;
    if (own.id == GASNETX_STREAM_BARRIER)
        own.nbytes = 0;
    const char *why = group_check(stream, &own, params_bytes);
    if (why)
        return aq_msg_refuse(CALL, why);
    const aq_stream_parcel_t part = part_make(stream, &own);
    aq_stream_call_t *call = call_make(&own, params, params_bytes, request != NULL);
    if (request)
        *request = call->request;
    call_append(stream, call);
    // From this rank to itself: the handlers of groups have GASNETX_STREAM_SELF.
    const int error = aq_stream_send(stream, (aq_stream_span_t){stream->children, 1}, &part, 0);
    if (error && request)
        *request = GASNETX_REQUEST_NULL;
    return error ? call_cancel(stream, call, error) : GASNET_OK;
}
