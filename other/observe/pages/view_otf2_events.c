// SPDX-License-Identifier: BSD-3-Clause
// The events of an archive of OTF2.
//
// Calls and handlers are regions. Messages are sends and receives with a tag each, since they may
// overtake each other, which messages of MPI with one tag do not. Only those with both ends in the
// trace are written: tools wait for the other one. Puts, gets and atomics are remote accesses.
// Collectives are non-blocking ones, since a thread does other things until it waits.
#include <string.h>

#include "view_otf2_write.h"
#include "../analysis/view_records.h"

// The window and the communicator of the whole job.
enum { JOB = 0 };

typedef struct writing {
    aq_otf2_t *otf2;
    OTF2_EvtWriter *writer;
    const aq_view_event_t *call; // that has begun last
    const aq_view_event_t *events;
} writing_t;

static const char *name_of(const writing_t *to, const aq_view_event_t *event)
{
    return to->otf2->numbers.trace->names[event->name];
}

// In the archive, ranks without events of their own have no number.
static uint32_t member_of(const writing_t *to, uint32_t rank)
{
    return rank == AQ_VIEW_NO_RANK ? rank : to->otf2->numbers.member_of[rank];
}

static uint64_t number_of(const writing_t *to, const aq_view_event_t *event)
{
    return (uint64_t)(event - to->events);
}

// ---- regions ----

static void region_enter(const writing_t *to, int64_t time, uint32_t region)
{
    aq_otf2_note(to->otf2, OTF2_EvtWriter_Enter(to->writer, NULL, (uint64_t)time, region));
}

static void region_leave(const writing_t *to, int64_t time, uint32_t region)
{
    aq_otf2_note(to->otf2, OTF2_EvtWriter_Leave(to->writer, NULL, (uint64_t)time, region));
}

static uint32_t region_of(const writing_t *to, const aq_view_event_t *event)
{
    return event->category == AQ_VIEW_USER ? (uint32_t)AQ_OTF2_NOTE
                                           : to->otf2->numbers.region_of[event->name];
}

// ---- messages ----

// The call that sends, the handler or the receive begins with its end of the message.
static void message_write(const writing_t *to, const aq_view_event_t *event)
{
    const aq_otf2_numbers_t *numbers = &to->otf2->numbers;
    const uint32_t tag = numbers->message_of[number_of(to, event)];
    const aq_view_event_t *call = to->call;
    const bool begins = call && call->start == event->start && call->category == AQ_VIEW_AM;
    const uint64_t bytes = begins ? call->bytes : 0;
    if (!tag)
        return;
    const aq_view_message_t *message = &to->otf2->findings->messages.messages[tag - 1];
    aq_otf2_note(to->otf2, event->phase == 's'
                               ? OTF2_EvtWriter_MpiSend(to->writer, NULL, (uint64_t)event->start,
                                                        numbers->member_of[message->handled->rank],
                                                        JOB, tag, bytes)
                               : OTF2_EvtWriter_MpiRecv(to->writer, NULL, (uint64_t)event->start,
                                                        numbers->member_of[message->sent->rank],
                                                        JOB, tag, bytes));
}

// ---- remote accesses ----

static bool is_access(const writing_t *to, const aq_view_event_t *event)
{
    return event->category == AQ_VIEW_RMA && member_of(to, event->peer) != AQ_VIEW_NO_RANK;
}

static void access_write(const writing_t *to, const aq_view_event_t *event, uint64_t match)
{
    const uint64_t time = (uint64_t)event->start;
    const uint32_t peer = member_of(to, event->peer);
    OTF2_ErrorCode code;
    if (strstr(name_of(to, event), "put"))
        code = OTF2_EvtWriter_RmaPut(to->writer, NULL, time, JOB, peer, event->bytes, match);
    else if (strstr(name_of(to, event), "get"))
        code = OTF2_EvtWriter_RmaGet(to->writer, NULL, time, JOB, peer, event->bytes, match);
    else
        code = OTF2_EvtWriter_RmaAtomic(to->writer, NULL, time, JOB, peer,
                                        OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE, event->bytes,
                                        event->bytes, match);
    aq_otf2_note(to->otf2, code);
}

// ---- collectives ----

// False: OTF2 has no such kind.
static bool coll_find(const char *name, OTF2_CollectiveOp *op)
{
    static const struct {
        const char *name;
        OTF2_CollectiveOp op;
    } colls[] = {
        {"barrier", OTF2_COLLECTIVE_OP_BARRIER},     {"broadcast", OTF2_COLLECTIVE_OP_BCAST},
        {"reduce", OTF2_COLLECTIVE_OP_REDUCE},       {"allreduce", OTF2_COLLECTIVE_OP_ALLREDUCE},
        {"scatter", OTF2_COLLECTIVE_OP_SCATTER},     {"gather", OTF2_COLLECTIVE_OP_GATHER},
        {"allgather", OTF2_COLLECTIVE_OP_ALLGATHER}, {"alltoall", OTF2_COLLECTIVE_OP_ALLTOALL},
        {"scan", OTF2_COLLECTIVE_OP_SCAN},           {"exscan", OTF2_COLLECTIVE_OP_EXSCAN}};
    for (size_t i = 0; i < sizeof colls / sizeof *colls; i++)
        if (strcmp(name, colls[i].name) == 0) {
            *op = colls[i].op;
            return true;
        }
    return false;
}

static void coll_begin(const writing_t *to, const aq_view_event_t *event)
{
    OTF2_CollectiveOp op;
    if (coll_find(name_of(to, event), &op))
        aq_otf2_note(to->otf2, OTF2_EvtWriter_NonBlockingCollectiveRequest(
                                   to->writer, NULL, (uint64_t)event->start, number_of(to, event)));
    else
        to->otf2->left_out++;
}

static uint32_t root_of(const writing_t *to, const aq_view_event_t *event, uint32_t communicator)
{
    const uint32_t root = aq_otf2_member(&to->otf2->numbers, communicator, event->peer);
    return root == AQ_VIEW_NO_RANK ? (uint32_t)OTF2_COLLECTIVE_ROOT_NONE : root;
}

static void coll_end(const writing_t *to, const aq_view_record_t *record)
{
    const aq_view_event_t *event = record->event;
    const uint32_t communicator = aq_otf2_communicator(&to->otf2->numbers, event->team);
    OTF2_CollectiveOp op;
    if (coll_find(name_of(to, event), &op))
        aq_otf2_note(to->otf2, OTF2_EvtWriter_NonBlockingCollectiveComplete(
                                   to->writer, NULL, (uint64_t)record->time, op, communicator,
                                   root_of(to, event, communicator), event->bytes, event->bytes,
                                   number_of(to, event)));
}

// ---- records ----

static void call_enter(writing_t *to, const aq_view_event_t *event)
{
    to->call = event;
    region_enter(to, event->start, region_of(to, event));
    if (is_access(to, event))
        access_write(to, event, number_of(to, event));
}

static void call_leave(const writing_t *to, const aq_view_record_t *record)
{
    const aq_view_event_t *event = record->event;
    if (is_access(to, event))
        aq_otf2_note(to->otf2,
                     OTF2_EvtWriter_RmaOpCompleteBlocking(to->writer, NULL, (uint64_t)record->time,
                                                          JOB, number_of(to, event)));
    region_leave(to, record->time, region_of(to, event));
}

// A region without length. The text of the program is its parameter.
static void single_write(const writing_t *to, const aq_view_event_t *event)
{
    region_enter(to, event->start, region_of(to, event));
    if (event->category == AQ_VIEW_USER)
        aq_otf2_note(to->otf2, OTF2_EvtWriter_ParameterString(
                                   to->writer, NULL, (uint64_t)event->start, 0, event->name));
    region_leave(to, event->start, region_of(to, event));
}

// The end of an operation has the number, and the other rank, of its begin.
static void instant_write(const writing_t *to, const aq_view_event_t *event)
{
    if (event->phase == 's' || event->phase == 'f')
        message_write(to, event);
    else if (event->phase == 'b' && is_access(to, event))
        access_write(to, event, event->id);
    else if (event->phase == 'e' && is_access(to, event))
        aq_otf2_note(to->otf2, OTF2_EvtWriter_RmaOpCompleteNonBlocking(
                                   to->writer, NULL, (uint64_t)event->start, JOB, event->id));
    else if (event->phase == 'i')
        single_write(to, event);
}

static bool record_write(const aq_view_record_t *record, void *context)
{
    writing_t *to = context;
    switch (record->step) {
    case AQ_VIEW_ENTER:
        call_enter(to, record->event);
        break;
    case AQ_VIEW_LEAVE:
        call_leave(to, record);
        break;
    case AQ_VIEW_COLL_BEGIN:
        coll_begin(to, record->event);
        break;
    case AQ_VIEW_COLL_END:
        coll_end(to, record);
        break;
    case AQ_VIEW_INSTANT:
        instant_write(to, record->event);
        break;
    }
    return true;
}

// ---- a thread ----

static int64_t end_find(const aq_view_trace_t *trace, const aq_otf2_location_t *location)
{
    int64_t last = 0;
    for (size_t i = location->first; i < location->end; i++) {
        const int64_t end =
            trace->events[i].start + (trace->events[i].phase == 'X' ? trace->events[i].length : 0);
        last = end > last ? end : last;
    }
    return last;
}

// All that a thread does is in the region of the program.
bool aq_otf2_write_events(aq_otf2_t *otf2, uint32_t number)
{
    const aq_view_trace_t *trace = otf2->numbers.trace;
    aq_otf2_location_t *location = &otf2->numbers.locations[number];
    writing_t to = {.otf2 = otf2, .events = trace->events};
    bool room = true;
    to.writer = OTF2_Archive_GetEvtWriter(otf2->archive, number);
    if (!to.writer) {
        aq_otf2_note(otf2, OTF2_ERROR_INVALID);
        return true;
    }
    if (location->first < location->end) {
        region_enter(&to, trace->events[location->first].start, AQ_OTF2_PROGRAM);
        room = aq_view_records_pass(trace, location->first, location->end, record_write, &to);
        region_leave(&to, end_find(trace, location), AQ_OTF2_PROGRAM);
    }
    aq_otf2_note(otf2, OTF2_EvtWriter_GetNumberOfEvents(to.writer, &location->records));
    aq_otf2_note(otf2, OTF2_Archive_CloseEvtWriter(otf2->archive, to.writer));
    return room;
}
