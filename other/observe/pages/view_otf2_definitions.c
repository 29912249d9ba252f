// SPDX-License-Identifier: BSD-3-Clause
// The definitions of an archive of OTF2.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view_otf2_write.h"

enum { NS_PER_S = 1000000000 };

// Groups: the locations that are ranks, all ranks, and those of each further team.
enum { GROUP_RANKS, GROUP_ALL, GROUP_TEAMS };

typedef struct definitions {
    aq_otf2_t *otf2;
    const aq_otf2_numbers_t *numbers;
    OTF2_GlobalDefWriter *writer;
    OTF2_StringRef dropped, clock_error; // names of properties
    uint32_t strings; // that are written: first the names of the trace, in their order
} definitions_t;

static void define(const definitions_t *to, OTF2_ErrorCode code)
{
    aq_otf2_note(to->otf2, code);
}

static OTF2_StringRef text_define(definitions_t *to, const char *text)
{
    define(to, OTF2_GlobalDefWriter_WriteString(to->writer, to->strings, text));
    return to->strings++;
}

static OTF2_StringRef label_define(definitions_t *to, const char *what, uint64_t number)
{
    char text[64];
    snprintf(text, sizeof text, "%s %" PRIu64, what, number);
    return text_define(to, text);
}

// ---- the job ----

static void job_define(definitions_t *to)
{
    const aq_view_trace_t *trace = to->numbers->trace;
    define(to, OTF2_GlobalDefWriter_WriteClockProperties(to->writer, NS_PER_S, 0,
                                                         (uint64_t)aq_view_trace_span(trace) + 1,
                                                         OTF2_UNDEFINED_TIMESTAMP));
    for (size_t i = 0; i < trace->name_count; i++)
        (void)text_define(to, trace->names[i]);
    define(to, OTF2_GlobalDefWriter_WriteParadigm(to->writer, OTF2_PARADIGM_MPI,
                                                  text_define(to, "GASNet"),
                                                  OTF2_PARADIGM_CLASS_PROCESS));
    define(to, OTF2_GlobalDefWriter_WriteParameter(to->writer, 0, text_define(to, "text"),
                                                   OTF2_PARAMETER_TYPE_STRING));
}

// ---- hosts, ranks, threads ----

typedef struct place {
    uint32_t host, rank;
} place_t;

static int place_compare(const void *a, const void *b)
{
    const place_t *left = a, *right = b;
    if (left->host != right->host)
        return left->host < right->host ? -1 : 1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static void rank_define(definitions_t *to, uint32_t rank, uint32_t node)
{
    const aq_view_origin_t *origin = &to->numbers->trace->origins[rank];
    const uint32_t member = to->numbers->member_of[rank];
    const OTF2_AttributeValue dropped = {.uint64 = origin->dropped};
    const OTF2_AttributeValue error = {.uint64 = (uint64_t)origin->clock_error};
    define(to, OTF2_GlobalDefWriter_WriteLocationGroup(
                   to->writer, member, label_define(to, "rank", rank),
                   OTF2_LOCATION_GROUP_TYPE_PROCESS, node, OTF2_UNDEFINED_LOCATION_GROUP));
    define(to, OTF2_GlobalDefWriter_WriteLocationGroupProperty(to->writer, member, to->dropped,
                                                               OTF2_TYPE_UINT64, dropped));
    define(to, OTF2_GlobalDefWriter_WriteLocationGroupProperty(to->writer, member, to->clock_error,
                                                               OTF2_TYPE_UINT64, error));
}

static void host_define(definitions_t *to, uint32_t node, const aq_view_origin_t *origin,
                        OTF2_StringRef class_name)
{
    define(to, OTF2_GlobalDefWriter_WriteSystemTreeNode(
                   to->writer, node, text_define(to, origin->host_name), class_name, 0));
    define(to, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(
                   to->writer, node, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
}

// places: of the ranks of the trace, to be sorted.
static void hosts_define(definitions_t *to, place_t *places, uint32_t count)
{
    const aq_view_trace_t *trace = to->numbers->trace;
    const OTF2_StringRef class_name = text_define(to, "host");
    uint32_t node = 0;
    to->dropped = text_define(to, "events dropped");
    to->clock_error = text_define(to, "clock error (ns)");
    define(to, OTF2_GlobalDefWriter_WriteSystemTreeNode(to->writer, 0, text_define(to, "job"),
                                                        text_define(to, "machine"),
                                                        OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    define(to, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(to->writer, 0,
                                                              OTF2_SYSTEM_TREE_DOMAIN_MACHINE));
    qsort(places, count, sizeof *places, place_compare);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || places[i].host != places[i - 1].host)
            host_define(to, ++node, &trace->origins[places[i].rank], class_name);
        rank_define(to, places[i].rank, node);
    }
}

static bool ranks_define(definitions_t *to)
{
    const aq_view_trace_t *trace = to->numbers->trace;
    place_t *places = calloc((size_t)to->numbers->member_count + 1, sizeof *places);
    uint32_t count = 0;
    if (!places)
        return false;
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        if (trace->origins[rank].known)
            places[count++] = (place_t){trace->origins[rank].host, rank};
    hosts_define(to, places, count);
    free(places);
    return true;
}

static void threads_define(definitions_t *to)
{
    for (uint32_t i = 0; i < to->numbers->location_count; i++) {
        const aq_otf2_location_t *location = &to->numbers->locations[i];
        define(to, OTF2_GlobalDefWriter_WriteLocation(
                       to->writer, i, label_define(to, "thread", location->thread),
                       OTF2_LOCATION_TYPE_CPU_THREAD, location->records,
                       to->numbers->member_of[location->rank]));
    }
}

// ---- regions ----

static void region_define(const definitions_t *to, uint32_t region, OTF2_StringRef name,
                          OTF2_RegionRole role, OTF2_Paradigm paradigm)
{
    define(to, OTF2_GlobalDefWriter_WriteRegion(
                   to->writer, region, name, name, OTF2_UNDEFINED_STRING, role, paradigm,
                   OTF2_REGION_FLAG_NONE, OTF2_UNDEFINED_STRING, 0, 0));
}

static void named_define(const definitions_t *to, const aq_view_event_t *event, uint32_t region)
{
    static const OTF2_RegionRole roles[AQ_VIEW_CATEGORIES] = {
        [AQ_VIEW_AM] = OTF2_REGION_ROLE_POINT2POINT,
        [AQ_VIEW_RMA] = OTF2_REGION_ROLE_RMA,
        [AQ_VIEW_WAIT] = OTF2_REGION_ROLE_FUNCTION,
        [AQ_VIEW_NET] = OTF2_REGION_ROLE_ARTIFICIAL,
        [AQ_VIEW_FIREHOSE] = OTF2_REGION_ROLE_ARTIFICIAL};
    const char *name = to->numbers->trace->names[event->name];
    if (event->handler && strstr(name, "handler")) // handlers are code of the program
        region_define(to, region, event->name, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
    else
        region_define(to, region, event->name, roles[event->category], OTF2_PARADIGM_MPI);
}

// In the order in which aq_otf2_numbers_make met them.
static void regions_define(definitions_t *to)
{
    const aq_view_trace_t *trace = to->numbers->trace;
    uint32_t next = AQ_OTF2_REGIONS;
    region_define(to, AQ_OTF2_PROGRAM, text_define(to, "program"), OTF2_REGION_ROLE_FUNCTION,
                  OTF2_PARADIGM_USER);
    region_define(to, AQ_OTF2_NOTE, text_define(to, "note of the program"),
                  OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
    for (size_t i = 0; i < trace->count; i++) {
        const aq_view_event_t *event = &trace->events[i];
        if (aq_otf2_is_region(event) && to->numbers->region_of[event->name] == next)
            named_define(to, event, next++);
    }
}

// ---- teams ----

static void group_define(const definitions_t *to, uint32_t group, OTF2_StringRef name,
                         OTF2_GroupType type, uint32_t count, const uint64_t *members)
{
    define(to, OTF2_GlobalDefWriter_WriteGroup(to->writer, group, name, type, OTF2_PARADIGM_MPI,
                                               type == OTF2_GROUP_TYPE_COMM_GROUP
                                                   ? OTF2_GROUP_FLAG_GLOBAL_MEMBERS
                                                   : OTF2_GROUP_FLAG_NONE,
                                               count, members));
}

// The communicator of all ranks, which is the window of their segments, too.
static void all_define(definitions_t *to, uint64_t *members)
{
    const aq_otf2_numbers_t *numbers = to->numbers;
    const OTF2_StringRef name = text_define(to, "all ranks");
    for (uint32_t i = 0; i < numbers->member_count; i++)
        members[i] = numbers->location_of[i];
    group_define(to, GROUP_RANKS, name, OTF2_GROUP_TYPE_COMM_LOCATIONS, numbers->member_count,
                 members);
    for (uint32_t i = 0; i < numbers->member_count; i++)
        members[i] = i;
    group_define(to, GROUP_ALL, name, OTF2_GROUP_TYPE_COMM_GROUP, numbers->member_count, members);
    define(to, OTF2_GlobalDefWriter_WriteComm(to->writer, 0, name, GROUP_ALL, OTF2_UNDEFINED_COMM,
                                              OTF2_COMM_FLAG_NONE));
    define(to, OTF2_GlobalDefWriter_WriteRmaWin(to->writer, 0, text_define(to, "segments"), 0,
                                                OTF2_RMA_WIN_FLAG_NONE));
}

// members: with room for all ranks.
static void team_define(definitions_t *to, uint32_t team, uint64_t *members)
{
    const aq_otf2_numbers_t *numbers = to->numbers;
    const aq_otf2_part_t *parts = &numbers->parts[numbers->team_first[team]];
    const size_t count = numbers->team_first[team + 1] - numbers->team_first[team];
    const OTF2_StringRef name = label_define(to, "team", parts->team);
    for (size_t i = 0; i < count; i++)
        members[i] = numbers->member_of[parts[i].rank];
    group_define(to, GROUP_TEAMS + team, name, OTF2_GROUP_TYPE_COMM_GROUP, (uint32_t)count,
                 members);
    define(to, OTF2_GlobalDefWriter_WriteComm(to->writer, team + 1, name, GROUP_TEAMS + team, 0,
                                              OTF2_COMM_FLAG_NONE));
}

static bool teams_define(definitions_t *to)
{
    uint64_t *members = calloc((size_t)to->numbers->member_count + 1, sizeof *members);
    if (!members)
        return false;
    all_define(to, members);
    for (uint32_t team = 0; team < to->numbers->team_count; team++)
        team_define(to, team, members);
    free(members);
    return true;
}

// ---- all ----

bool aq_otf2_write_definitions(aq_otf2_t *otf2)
{
    definitions_t to = {.otf2 = otf2, .numbers = &otf2->numbers};
    to.writer = OTF2_Archive_GetGlobalDefWriter(otf2->archive);
    if (!to.writer) {
        aq_otf2_note(otf2, OTF2_ERROR_INVALID);
        return true;
    }
    job_define(&to);
    const bool room = ranks_define(&to);
    threads_define(&to);
    regions_define(&to);
    return teams_define(&to) && room;
}
