// SPDX-License-Identifier: BSD-3-Clause
// The numbers that an archive of OTF2 gives to what is in a trace.
//
// What is always true:
// - Locations are the threads that have events, by rank and thread, and one for each rank of the
//   trace without events. Members are the ranks of the trace, by rank; ranks whose file is missing
//   are none.
// - The first two regions are AQ_OTF2_PROGRAM and AQ_OTF2_NOTE.
// - The first communicator has all members: it is that of team 0.
#pragma once

#include "view_summary.h"

enum { AQ_OTF2_PROGRAM, AQ_OTF2_NOTE, AQ_OTF2_REGIONS }; // AQ_OTF2_REGIONS: the first of a name

typedef struct aq_otf2_location {
    uint32_t rank, thread;
    size_t first, end; // events of the trace
    uint64_t records;  // that are in the archive
} aq_otf2_location_t;

// A rank that took part in a collective of a team.
typedef struct aq_otf2_part {
    uint32_t team, rank;
} aq_otf2_part_t;

typedef struct aq_otf2_numbers {
    const aq_view_trace_t *trace;
    aq_otf2_location_t *locations;
    uint32_t location_count;
    uint32_t *member_of;   // of each rank, or AQ_VIEW_NO_RANK
    uint32_t *location_of; // of each member, its first one
    uint32_t member_count;
    uint32_t *region_of;   // of each name; 0: none
    uint32_t region_count; // with the two that have no name
    uint32_t *message_of;  // of each event, from 1; 0: it is no end of a message with two ends
    aq_otf2_part_t *parts; // by team and rank, each once, without team 0
    size_t part_count;
    size_t *team_first; // the first part of each team; team_first[team_count] is part_count
    uint32_t team_count;
} aq_otf2_numbers_t;

// The findings must stay while the numbers are used. False: memory is out. Free them in any case.
bool aq_otf2_numbers_make(aq_otf2_numbers_t *numbers, const aq_view_findings_t *findings);
void aq_otf2_numbers_free(aq_otf2_numbers_t *numbers);

// Whether an event makes its name a region. Texts of the program do not, and neither do
// collectives.
bool aq_otf2_is_region(const aq_view_event_t *event);

// The communicator of a team that had a collective in the trace.
uint32_t aq_otf2_communicator(const aq_otf2_numbers_t *numbers, uint32_t team);

// The number of a rank in that communicator, or AQ_VIEW_NO_RANK.
uint32_t aq_otf2_member(const aq_otf2_numbers_t *numbers, uint32_t communicator, uint32_t rank);
