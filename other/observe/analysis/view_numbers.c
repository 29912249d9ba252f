// SPDX-License-Identifier: BSD-3-Clause
// Counts through the trace once, before pages/view_otf2.c opens the archive, since its events refer
// to all definitions by number.
#include "view_numbers.h"

#include <stdlib.h>

#include "view_records.h"

// ---- ranks and threads ----

static bool members_number(aq_otf2_numbers_t *numbers)
{
    const uint32_t ranks = numbers->trace->ranks;
    numbers->member_of = calloc((size_t)ranks + 1, sizeof *numbers->member_of);
    numbers->location_of = calloc((size_t)ranks + 1, sizeof *numbers->location_of);
    for (uint32_t rank = 0; numbers->member_of && rank < ranks; rank++)
        numbers->member_of[rank] =
            numbers->trace->origins[rank].known ? numbers->member_count++ : AQ_VIEW_NO_RANK;
    return numbers->member_of && numbers->location_of;
}

static void location_add(aq_otf2_numbers_t *numbers, uint32_t rank, uint32_t thread, size_t first,
                         size_t end)
{
    numbers->locations[numbers->location_count++] =
        (aq_otf2_location_t){.rank = rank, .thread = thread, .first = first, .end = end};
}

// Adds the threads of a rank, or one without events.
static void rank_number(aq_otf2_numbers_t *numbers, uint32_t rank)
{
    const aq_view_trace_t *trace = numbers->trace;
    const size_t first = trace->first[rank], end = trace->first[rank + 1];
    numbers->location_of[numbers->member_of[rank]] = numbers->location_count;
    if (first == end)
        location_add(numbers, rank, 1, first, end);
    for (size_t i = first, next; i < end; i = next) {
        next = aq_view_thread_end(trace, i);
        location_add(numbers, rank, trace->events[i].thread, i, next);
    }
}

static bool locations_number(aq_otf2_numbers_t *numbers)
{
    const aq_view_trace_t *trace = numbers->trace;
    size_t most = trace->ranks;
    for (size_t i = 0; i < trace->count; i = aq_view_thread_end(trace, i))
        most++;
    numbers->locations = calloc(most + 1, sizeof *numbers->locations);
    for (uint32_t rank = 0; numbers->locations && rank < trace->ranks; rank++)
        if (trace->origins[rank].known)
            rank_number(numbers, rank);
    return numbers->locations != NULL;
}

// ---- regions and messages ----

bool aq_otf2_is_region(const aq_view_event_t *event)
{
    return event->category != AQ_VIEW_USER &&
           ((event->phase == 'X' && event->category != AQ_VIEW_COLL) || event->phase == 'i');
}

static bool regions_number(aq_otf2_numbers_t *numbers)
{
    const aq_view_trace_t *trace = numbers->trace;
    numbers->region_count = AQ_OTF2_REGIONS;
    numbers->region_of = calloc(trace->name_count + 1, sizeof *numbers->region_of);
    for (size_t i = 0; numbers->region_of && i < trace->count; i++) {
        const aq_view_event_t *event = &trace->events[i];
        uint32_t *region = &numbers->region_of[event->name];
        if (!*region && aq_otf2_is_region(event))
            *region = numbers->region_count++;
    }
    return numbers->region_of != NULL;
}

static bool messages_number(aq_otf2_numbers_t *numbers, const aq_view_messages_t *messages)
{
    const aq_view_event_t *events = numbers->trace->events;
    numbers->message_of = calloc(numbers->trace->count + 1, sizeof *numbers->message_of);
    for (size_t i = 0; numbers->message_of && i < messages->count; i++) {
        numbers->message_of[messages->messages[i].sent - events] = (uint32_t)i + 1;
        numbers->message_of[messages->messages[i].handled - events] = (uint32_t)i + 1;
    }
    return numbers->message_of != NULL;
}

// ---- teams ----

static int part_compare(const void *a, const void *b)
{
    const aq_otf2_part_t *left = a, *right = b;
    if (left->team != right->team)
        return left->team < right->team ? -1 : 1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static void parts_sort(aq_otf2_numbers_t *numbers)
{
    aq_otf2_part_t *parts = numbers->parts;
    size_t kept = 0;
    qsort(parts, numbers->part_count, sizeof *parts, part_compare);
    for (size_t i = 0; i < numbers->part_count; i++) {
        if (kept > 0 && part_compare(&parts[kept - 1], &parts[i]) == 0)
            continue;
        if (kept == 0 || parts[kept - 1].team != parts[i].team)
            numbers->team_first[numbers->team_count++] = kept;
        parts[kept++] = parts[i];
    }
    numbers->part_count = kept;
    numbers->team_first[numbers->team_count] = kept;
}

static bool teams_number(aq_otf2_numbers_t *numbers, const aq_view_colls_t *colls)
{
    numbers->parts = calloc(colls->arrival_count + 1, sizeof *numbers->parts);
    numbers->team_first = calloc(colls->arrival_count + 1, sizeof *numbers->team_first);
    if (!numbers->parts || !numbers->team_first)
        return false;
    for (size_t i = 0; i < colls->arrival_count; i++)
        if (colls->arrivals[i]->team != 0)
            numbers->parts[numbers->part_count++] =
                (aq_otf2_part_t){colls->arrivals[i]->team, colls->arrivals[i]->rank};
    parts_sort(numbers);
    return true;
}

uint32_t aq_otf2_communicator(const aq_otf2_numbers_t *numbers, uint32_t team)
{
    uint32_t low = 0, high = numbers->team_count; // the first one that is not smaller
    while (team != 0 && low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (numbers->parts[numbers->team_first[middle]].team < team)
            low = middle + 1;
        else
            high = middle;
    }
    return team == 0 ? 0 : low + 1;
}

uint32_t aq_otf2_member(const aq_otf2_numbers_t *numbers, uint32_t communicator, uint32_t rank)
{
    if (rank >= numbers->trace->ranks)
        return AQ_VIEW_NO_RANK;
    if (communicator == 0)
        return numbers->member_of[rank];
    const size_t first = numbers->team_first[communicator - 1];
    for (size_t i = first; i < numbers->team_first[communicator]; i++)
        if (numbers->parts[i].rank == rank)
            return (uint32_t)(i - first);
    return AQ_VIEW_NO_RANK;
}

// ---- all ----

bool aq_otf2_numbers_make(aq_otf2_numbers_t *numbers, const aq_view_findings_t *findings)
{
    *numbers = (aq_otf2_numbers_t){.trace = findings->trace};
    return members_number(numbers) && locations_number(numbers) && regions_number(numbers) &&
           messages_number(numbers, &findings->messages) && teams_number(numbers, &findings->colls);
}

void aq_otf2_numbers_free(aq_otf2_numbers_t *numbers)
{
    free(numbers->locations);
    free(numbers->member_of);
    free(numbers->location_of);
    free(numbers->region_of);
    free(numbers->message_of);
    free(numbers->parts);
    free(numbers->team_first);
    *numbers = (aq_otf2_numbers_t){0};
}
