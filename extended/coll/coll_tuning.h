// SPDX-License-Identifier: BSD-3-Clause
// Tuning files: limits of collectives (coll_limits.h) by conduit and number of ranks.
//
//     aqueduct-tuning 1
//     # a comment, to the end of the line
//     [udp ranks 4]        for jobs over conduit udp with 4 ranks and more, up to the next section
//     part-bytes 32768     a limit that differs from its default
//
// A file is legal as a whole or not at all, so that a mistake in it shows in each job.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "coll_limits.h"

#define AQ_TUNING_TITLE "aqueduct-tuning"
enum { AQ_TUNING_VERSION = 1 };

typedef enum aq_tuning_result {
    AQ_TUNING_FOUND, // a section for the job
    AQ_TUNING_NONE,  // a legal file without such a section
    AQ_TUNING_BAD,
} aq_tuning_result_t;

// The job for which a file is read.
typedef struct aq_tuning_job {
    const char *conduit;
    uint32_t ranks;
} aq_tuning_job_t;

// Reads the text of a file, which may hold any bytes, and sets the limits for a job. Of the
// sections of its conduit, the last one with the highest number of ranks that the job has counts;
// limits that this section does not name get their defaults. If there is no such section, or the
// file is not legal, all limits get their defaults, and errbuf (at least 100 bytes) receives the
// reason, in words that follow the file's name and "is not used:".
aq_tuning_result_t aq_coll_tuning_parse(const char *text, size_t length, aq_tuning_job_t job,
                                        aq_coll_limits_t *limits, char *errbuf, size_t errbuf_size);
