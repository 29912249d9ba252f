// SPDX-License-Identifier: BSD-3-Clause
// The streams of this process, those of them that have work, and checks of their calls.
#include "../../core/progress/progress.h"
#include "../two_sided/msg_check.h"
#include "stream_list.h"

aq_lock_t aq_streams_lock;
gasnetx_Stream_t aq_streams;
atomic_bool aq_streams_turning;
aq_task_t aq_stream_task;
_Thread_local bool aq_stream_in_handler __attribute__((tls_model("initial-exec")));

gasnetx_Stream_t aq_stream_find(uint64_t id)
{
    aq_lock_take(&aq_streams_lock);
    gasnetx_Stream_t stream = aq_streams;
    while (stream && stream->id != id)
        stream = stream->next;
    aq_lock_drop(&aq_streams_lock);
    return stream;
}

void aq_stream_activate(gasnetx_Stream_t stream)
{
    if (!atomic_load_explicit(&stream->active, memory_order_relaxed)) {
        atomic_store_explicit(&stream->active, true, memory_order_relaxed);
        aq_progress_busy(&aq_stream_task, 1);
    }
    if (aq_threads)
        aq_progress_wake();
}

aq_stream_handler_t *aq_stream_handler(gasnetx_Stream_t stream, unsigned direction, uint32_t id)
{
    const aq_stream_table_t *table = &stream->table[direction];
    size_t low = 0, high = table->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (table->handlers[middle].entry.id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < table->count && table->handlers[low].entry.id == id ? &table->handlers[low] : NULL;
}

int aq_stream_check(const char *call, gasnetx_Stream_t stream, bool sends)
{
    aq_job_need(call);
    if (sends)
        aq_thread_check_call(call);
    return stream ? GASNET_OK : aq_msg_refuse(call, "this rank has no part in the stream");
}
