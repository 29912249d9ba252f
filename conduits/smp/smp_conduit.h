// The smp conduit's state, and how its files divide the work.
//
// One anonymous file for each neighbourhood, made by its first process and mapped whole by all:
//
//     [ mailbox ] of each process  [ scratch of each ]  [ segments ]
#ifndef AQ_SMP_CONDUIT_H
#define AQ_SMP_CONDUIT_H

#include "../common/mailbox.h"
#include "../../other/base/memfile.h"

extern const aq_conduit_ops_t aq_smp_conduit;

typedef struct smp_conduit {
    aq_mail_t mail; // first: a pointer to it, and to the conduit in it, is a pointer to this

    int fd; // until segments are shared, then -1
    char *shared;
    char *scratch;
    size_t segments_offset; // in the file
} smp_conduit_t;

static inline smp_conduit_t *smp_of(aq_conduit_t *conduit)
{
    return (smp_conduit_t *)(void *)conduit;
}

// ---- smp_memory.c ----

// Makes or finds the neighbourhood's file, maps it, and opens the mailbox of this process.
// Collective.
aq_status_t smp_memory_open(smp_conduit_t *smp);
aq_status_t smp_memory_share_segments(aq_conduit_t *conduit, const uintptr_t *sizes, void **here);

#endif
