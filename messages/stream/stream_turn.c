// SPDX-License-Identifier: BSD-3-Clause
// The task of streams: calls handlers and filters for what has arrived, and sends what waited.
#include <stdlib.h>

#include "../../core/ground/fatal.h"
#include "../../core/progress/progress.h"
#include "../../other/base/clock.h"
#include "stream_turn.h"
#include "stream_list.h"
#include "stream_send.h"
#include "stream_receive.h"

enum { BATCHES = 64 }; // of a stream in a turn, at most

// ---- work of a stream, all with the lock ----

// Whether handlers of a direction may run: no message waits in the direction in which they send. At
// the root handlers of messages up send down. So ranks never wait for each other in a circle:
// leaves can always handle messages down, the ranks above them can when these have room, and at
// last the root can handle messages up.
static bool direction_is_open(gasnetx_Stream_t stream, unsigned direction)
{
    const unsigned onward = aq_stream_has_parent(stream) ? direction : AQ_INBOX_DOWN;
    return !stream->stop.here && !aq_stream_waits(stream, aq_stream_span(stream, onward));
}

static bool stream_has_work(gasnetx_Stream_t stream)
{
    if (stream->stop.news || aq_stream_can_flush(stream) ||
        aq_inbox_deadline(&stream->inbox) != AQ_NO_DEADLINE)
        return true;
    for (unsigned i = 0; i < AQ_INBOX_DIRECTIONS; i++)
        if (stream->inbox.ready[i].first && direction_is_open(stream, i))
            return true;
    return false;
}

bool aq_stream_quiet(gasnetx_Stream_t stream, unsigned direction)
{
    return !stream->turn.handling && !stream->inbox.ready[direction].first;
}

// ---- batches: a message, or those of a round ----

static aq_stream_message_t *message_of(aq_item_t *item)
{
    return (aq_stream_message_t *)(void *)item;
}

// Takes the next batch, from above first, so that messages down keep their room.
static aq_stream_message_t *batch_take(gasnetx_Stream_t stream)
{
    aq_item_t *item = NULL;
    aq_lock_take(&stream->lock);
    if (aq_inbox_deadline(&stream->inbox) != AQ_NO_DEADLINE)
        aq_inbox_expire(&stream->inbox, aq_clock_ns());
    if (direction_is_open(stream, AQ_INBOX_DOWN))
        item = aq_inbox_take(&stream->inbox, AQ_INBOX_DOWN);
    if (!item && direction_is_open(stream, AQ_INBOX_UP))
        item = aq_inbox_take(&stream->inbox, AQ_INBOX_UP);
    stream->turn.handling = item != NULL;
    aq_lock_drop(&stream->lock);
    return message_of(item);
}

static void batch_count(gasnetx_Stream_t stream, const aq_stream_message_t *message, bool received)
{
    aq_stream_load_t *kept = &stream->edges[message->item.edge].kept;
    gasnetx_stream_counts_t *counts = &stream->counts;
    kept->messages--;
    kept->bytes -= message->nbytes;
    counts->kept_messages--;
    counts->kept_bytes -= message->nbytes;
    if (!received) {
        aq_stream_count_dropped(stream, message->nbytes);
        return;
    }
    counts->received_messages++;
    counts->received_bytes += message->nbytes;
}

// Counts the messages of a batch, frees them, and gives their room back.
static void batch_end(gasnetx_Stream_t stream, aq_stream_message_t *batch, bool received)
{
    for (aq_stream_message_t *message = batch, *next; message; message = next) {
        const uint32_t edge = message->item.edge;
        const aq_stream_load_t load = {1, message->nbytes};
        next = message_of(message->item.with);
        aq_lock_take(&stream->lock);
        batch_count(stream, message, received);
        aq_lock_drop(&stream->lock);
        free(message);
        aq_stream_return_credits(stream, edge, load);
    }
    aq_lock_take(&stream->lock);
    stream->turn.handling = false;
    aq_lock_drop(&stream->lock);
}

void aq_stream_abandon(gasnetx_Stream_t stream)
{
    aq_item_t *item;
    do {
        aq_lock_take(&stream->lock);
        item = aq_inbox_abandon(&stream->inbox);
        aq_lock_drop(&stream->lock);
        if (item) {
            item->with = NULL;
            batch_end(stream, message_of(item), false);
        }
    } while (item);
}

// ---- handlers and filters ----

static gasnetx_stream_message_t message_view(const aq_stream_message_t *message)
{
    const size_t filled = aq_stream_filled(message->params_bytes);
    return (gasnetx_stream_message_t){.source = message->source,
                                      .flags = message->flags,
                                      .data = message->payload + filled,
                                      .nbytes = message->nbytes - filled,
                                      .params = message->payload,
                                      .params_bytes = message->params_bytes};
}

static size_t batch_view(gasnetx_Stream_t stream, aq_stream_message_t *batch)
{
    size_t count = 0;
    for (aq_stream_message_t *message = batch; message; message = message_of(message->item.with))
        stream->turn.views[count++] = message_view(message);
    return count;
}

// Sends a message on in its direction.
static void view_pass(gasnetx_Stream_t stream, unsigned direction, uint32_t id,
                      const gasnetx_stream_message_t *view)
{
    const aq_stream_parcel_t parcel = {.id = id,
                                       .source = view->source,
                                       .flags = view->flags,
                                       .data = view->data,
                                       .params = view->params,
                                       .nbytes = view->nbytes,
                                       .params_bytes = view->params_bytes};
    (void)aq_stream_send(stream, aq_stream_span(stream, direction), &parcel, AQ_STREAM_ALWAYS);
}

// The memory of an output. The filters of a handler use two in turn.
static uint8_t *output_memory(gasnetx_Stream_t stream, size_t i)
{
    const size_t bytes = stream->info.max_bytes;
    if (!stream->turn.outputs)
        stream->turn.outputs = aq_allocate(2 * bytes, "the outputs of filters");
    return stream->turn.outputs + (i & 1) * bytes;
}

static gasnetx_stream_message_t output_view(gasnetx_Stream_t stream, uint32_t id,
                                            const gasnetx_stream_output_t *output)
{
    if (output->nbytes > output->capacity || output->params_bytes > GASNETX_STREAM_PARAMS_MAX)
        aq_fatal("a filter of handler %u of a stream gives %zu bytes and %zu of parameters; at "
                 "most %zu and %u fit",
                 id, output->nbytes, output->params_bytes, output->capacity,
                 GASNETX_STREAM_PARAMS_MAX);
    return (gasnetx_stream_message_t){.source = stream->rank,
                                      .flags = output->flags,
                                      .data = output->data,
                                      .nbytes = output->nbytes,
                                      .params = output->params,
                                      .params_bytes = output->params_bytes};
}

// Applies the filters of a handler to `count` views. The result is views[0]. Returns whether there
// is one.
static bool filters_apply(gasnetx_Stream_t stream, const gasnetx_stream_entry_t *entry,
                          gasnetx_stream_message_t *views, size_t count)
{
    for (size_t i = 0; i < GASNETX_STREAM_FILTERS && entry->filters[i].fn; i++, count = 1) {
        gasnetx_stream_output_t output = {.data = output_memory(stream, i),
                                          .capacity =
                                              stream->info.max_bytes - GASNETX_STREAM_PARAMS_MAX,
                                          .params = views[0].params,
                                          .params_bytes = views[0].params_bytes,
                                          .flags = views[0].flags};
        if (entry->filters[i].fn(stream, views, count, &output, entry->filters[i].context))
            return false;
        views[0] = output_view(stream, entry->id, &output);
    }
    return true;
}

// Passes views to the function of a handler. Returns whether there is one.
static bool function_call(gasnetx_Stream_t stream, const gasnetx_stream_entry_t *entry,
                          const gasnetx_stream_message_t *views, size_t count)
{
    if (entry->fn)
        entry->fn(stream, views, count, entry->context);
    return entry->fn != NULL;
}

// Runs the filters and the function of a handler. Returns false if a message reaches a handler
// without a function.
static bool entry_run(gasnetx_Stream_t stream, unsigned direction,
                      const gasnetx_stream_entry_t *entry, size_t count)
{
    gasnetx_stream_message_t *views = stream->turn.views;
    const bool inner = aq_stream_span(stream, direction).count > 0;
    if (entry->filters[0].fn) {
        if (!filters_apply(stream, entry, views, count))
            return true;
        if (!inner)
            return function_call(stream, entry, views, 1);
        view_pass(stream, direction, entry->id, views);
        return true;
    }
    const bool called = function_call(stream, entry, views, count);
    const bool passes = inner && (entry->flags & GASNETX_STREAM_PASS);
    for (size_t i = 0; passes && i < count; i++)
        view_pass(stream, direction, entry->id, &views[i]);
    return called || passes;
}

static void drop_warn(gasnetx_Stream_t stream, const aq_stream_message_t *message)
{
    if (!stream->turn.warned)
        aq_log_warn("a stream drops messages of rank %u for handler %u, which this rank does not "
                    "have",
                    message->source, message->id);
    stream->turn.warned = true;
}

static size_t batch_bytes(aq_stream_message_t *batch)
{
    size_t bytes = 0;
    for (aq_stream_message_t *message = batch; message; message = message_of(message->item.with))
        bytes += message->nbytes;
    return bytes;
}

// Traces the handler of a batch of `count` messages, which began at `begin`, unless that is 0.
static void batch_trace(gasnetx_Stream_t stream, uint64_t begin, aq_stream_message_t *batch,
                        size_t count)
{
    if (__builtin_expect(begin == 0, 1))
        return;
    const aq_trace_stream_t what = {.stream = stream->id,
                                    .peer = AQ_OBSERVED_NO_PEER,
                                    .handler = batch->id,
                                    .number = (uint32_t)count,
                                    .bytes = batch_bytes(batch)};
    aq_trace_on_stream(AQ_TRACED_STREAM_HANDLER, begin, &what);
}

static bool batch_handle(gasnetx_Stream_t stream, unsigned direction, aq_stream_message_t *batch,
                         size_t count)
{
    const uint64_t begin = aq_trace_begin(AQ_TRACE_AM);
    const bool received = entry_run(stream, direction, &batch->handler->entry, count);
    batch_trace(stream, begin, batch, count);
    return received;
}

// Runs the handler of a batch. Returns whether its messages were received.
static bool batch_run(gasnetx_Stream_t stream, aq_stream_message_t *batch)
{
    const unsigned direction = batch->item.edge > stream->children ? AQ_INBOX_DOWN : AQ_INBOX_UP;
    const size_t count = batch_view(stream, batch);
    if (batch->handler)
        return batch_handle(stream, direction, batch, count);
    if (!aq_stream_span(stream, direction).count)
        return false;
    view_pass(stream, direction, batch->id, stream->turn.views);
    return true;
}

static bool batches_handle(gasnetx_Stream_t stream)
{
    unsigned count = 0;
    for (aq_stream_message_t *batch; count < BATCHES && (batch = batch_take(stream)); count++) {
        aq_stream_in_handler = true;
        const bool received = batch_run(stream, batch);
        aq_stream_in_handler = false;
        if (!received)
            drop_warn(stream, batch);
        batch_end(stream, batch, received);
    }
    return count;
}

// ---- notices to the client that neighbours have stopped or started ----

static bool notice_take(gasnetx_Stream_t stream, aq_stream_edge_t *edge, bool *stopped)
{
    aq_lock_take(&stream->lock);
    const bool news = edge->told != edge->stopped;
    *stopped = edge->told = edge->stopped;
    aq_lock_drop(&stream->lock);
    return news;
}

static void notices_tell(gasnetx_Stream_t stream)
{
    bool stopped;
    aq_lock_take(&stream->lock);
    const bool news = stream->stop.news;
    stream->stop.news = false;
    aq_lock_drop(&stream->lock);
    aq_stream_in_handler = true;
    for (uint32_t i = 0; news && i < stream->edge_count; i++)
        if (notice_take(stream, &stream->edges[i], &stopped))
            stream->spec.on_stop(stream, stream->edges[i].rank, stopped, stream->spec.context);
    aq_stream_in_handler = false;
}

// ---- the task ----

static bool outgoing_flush(gasnetx_Stream_t stream)
{
    bool sent = false;
    aq_lock_take(&stream->lock);
    const bool any = aq_stream_can_flush(stream);
    aq_lock_drop(&stream->lock);
    for (uint32_t i = 0; any && i < stream->edge_count; i++)
        sent |= aq_stream_flush(stream, i, GEX_FLAG_IMMEDIATE);
    return sent;
}

static bool stream_turn(gasnetx_Stream_t stream)
{
    notices_tell(stream);
    bool done = outgoing_flush(stream);
    done |= batches_handle(stream);
    aq_lock_take(&stream->lock);
    if (!stream_has_work(stream)) {
        atomic_store_explicit(&stream->active, false, memory_order_relaxed);
        aq_progress_busy(&aq_stream_task, -1);
    }
    aq_lock_drop(&stream->lock);
    return done;
}

static bool task_turn(aq_task_t *task)
{
    bool done = false;
    (void)task;
    if (atomic_exchange_explicit(&aq_streams_turning, true, memory_order_acquire))
        return false;
    aq_lock_take(&aq_streams_lock);
    gasnetx_Stream_t stream = aq_streams;
    aq_lock_drop(&aq_streams_lock);
    for (; stream; stream = stream->next)
        if (atomic_load_explicit(&stream->active, memory_order_relaxed))
            done |= stream_turn(stream);
    atomic_store_explicit(&aq_streams_turning, false, memory_order_release);
    return done;
}

void aq_stream_turn_register(void)
{
    aq_stream_task.turn = task_turn;
    aq_progress_add(&aq_stream_task);
}
