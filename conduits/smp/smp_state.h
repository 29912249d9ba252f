// SPDX-License-Identifier: BSD-3-Clause
// The state of the smp conduit, and what its files offer each other.
//
// The first process of a neighbourhood creates one anonymous file; all processes map all of it:
//
//     [ mailbox ] of each process  [ scratch of each ]  [ segments ]
//
// Segments of huge pages may be in a file of the core instead (env->segment_pool).
#pragma once

#include "../common/mailbox.h"
#include "../../other/base/memory/memfile.h"

extern const aq_conduit_ops_t aq_smp_conduit;

typedef struct smp_conduit {
    // First member: a pointer to the smp conduit is also a pointer to its mailboxes and its base.
    aq_mail_t mail;

    int fd; // of the file; -1 after the segments are shared, unless ranks may join
    char *shared;
    char *scratch;
    size_t segments_offset; // in the file
    size_t own_offset;      // of the segment of this process, in the file; 0: none

    int windows_fd; // of the file with the mailboxes of windows; -1: none yet
    size_t windows_bytes;
} smp_conduit_t;

static inline smp_conduit_t *smp_of(aq_conduit_t *conduit)
{
    return (smp_conduit_t *)(void *)conduit;
}
