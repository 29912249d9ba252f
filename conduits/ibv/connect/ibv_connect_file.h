// SPDX-License-Identifier: BSD-3-Clause
// Connect files: which connections are made at the start (GASNET_CONNECTFILE_IN), and which ones a
// run has used (GASNET_CONNECTFILE_OUT). Lines are:
//
//      size: 16          optional; has to be the number of ranks; decimal
//      base: 36          of the numbers in the lines below; decimal, 10 unless given
//      7: 0 4 9-c        rank 7 connects to ranks 0, 4 and 9 to 12; the other direction is the same
//                        connection, so one of both lines is enough
//
// A % in the name of a file stands for the number of the rank, decimal.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../other/base/log/status.h"

// Reads a file: sets peers[r] for each rank r to which the file connects this one, and leaves the
// others. AQ_ERR_CONFIG: there is no such file, or a line is wrong; errbuf says which, and what to
// do. Does not log.
aq_status_t aq_ibv_connect_file_read(const char *name, uint32_t rank, uint32_t size, bool *peers,
                                     char *errbuf, size_t errbuf_size);

// At the start of a job: empties the file, which may be one for all ranks, so that
// aq_ibv_connect_file_add can be called by any rank at any time. False: it cannot be written
// (logged).
bool aq_ibv_connect_file_begin(const char *name, uint32_t rank, uint32_t size, unsigned base);

// Appends the peers of a rank in one write. False: that is not possible (logged).
bool aq_ibv_connect_file_add(const char *name, uint32_t rank, uint32_t size, unsigned base,
                             const bool *peers);
