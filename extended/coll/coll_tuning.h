// SPDX-License-Identifier: BSD-3-Clause
// Tuning files: limits of collectives (coll_limits.h) by conduit and number of ranks.
//
//     aqueduct-tuning 1
//     # a comment, to the end of the line
//     [udp ranks 4]        for jobs over conduit udp with 4 ranks and more, up to the next section
//     part-bytes 32768     a limit that differs from its default
//
// A file is legal as a whole or not at all, so that a mistake in it shows in each job.
#ifndef AQ_COLL_TUNING_H
#define AQ_COLL_TUNING_H

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

// Reads the text of a file, which may hold any bytes, and takes the limits for a job of `ranks`
// ranks over a conduit: those of the section of that conduit for the most ranks, but not more than
// the job has, the last one of such; limits that it does not name get their defaults. Unless found,
// all get their defaults, and why receives what is wrong or missing, to follow the file's name and
// "is not used:"; room is its size in bytes, at least 100.
aq_tuning_result_t aq_coll_tuning_parse(const char *text, size_t length, const char *conduit,
                                        uint32_t ranks, aq_coll_limits_t *limits, char *why,
                                        size_t room);

#endif
