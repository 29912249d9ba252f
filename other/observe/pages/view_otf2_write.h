// SPDX-License-Identifier: BSD-3-Clause
// Parts of view_otf2.c: what an archive of OTF2 is written with.
#pragma once

#include <otf2/otf2.h>

#include "../analysis/view_numbers.h"

typedef struct aq_otf2 {
    OTF2_Archive *archive;
    const aq_view_findings_t *findings;
    aq_otf2_numbers_t numbers;
    OTF2_ErrorCode failed; // the first one
    uint64_t left_out;     // collectives that OTF2 has no kind for
} aq_otf2_t;

// Keeps the first error.
static inline void aq_otf2_note(aq_otf2_t *otf2, OTF2_ErrorCode code)
{
    if (otf2->failed == OTF2_SUCCESS)
        otf2->failed = code;
}

// Writes what a thread did, and sets its number of records. False: memory is out; other faults are
// noted.
bool aq_otf2_write_events(aq_otf2_t *otf2, uint32_t location);

// Writes what the archive is about: clock, hosts, ranks, threads, regions, teams. The events must
// be written before. False: memory is out; other faults are noted.
bool aq_otf2_write_definitions(aq_otf2_t *otf2);
