// The smp conduit's state, and how its files divide the work.
//
// One anonymous file for each neighbourhood, made by its first process and mapped whole by all:
//
//     [ doorbell | request ring | reply ring ] of each process  [ scratch of each ]  [ segments ]
#ifndef AQ_SMP_CONDUIT_H
#define AQ_SMP_CONDUIT_H

#include "../../other/memfile.h"
#include "smp_message.h"
#include "smp_ring.h"

extern const aq_conduit_ops_t aq_smp_conduit;

// Where sleepers of a process are woken. bell counts by 2; a process sleeps on it as a futex.
typedef struct smp_doorbell {
    _Alignas(SMP_LINE) _Atomic uint32_t bell;
    _Atomic uint32_t sleepers; // threads of the process that sleep or are about to
} smp_doorbell_t;

// Control words of one process, at the start of its part of the file.
typedef struct smp_process {
    smp_doorbell_t doorbell;
    smp_ring_control_t ring[2]; // requests, replies
    // First process only: sleepers of the whole neighbourhood.
    _Alignas(SMP_LINE) _Atomic uint32_t asleep;
} smp_process_t;

// What a process keeps for a peer that it talks to.
typedef struct smp_link {
    _Alignas(SMP_LINE) smp_ring_out_t out[2]; // requests, replies
    smp_doorbell_t *doorbell;
} smp_link_t;

typedef struct smp_conduit {
    _Alignas(SMP_LINE) aq_conduit_t base;
    smp_ring_in_t in[2];
    smp_doorbell_t *doorbell;
    _Atomic uint32_t *asleep; // of the neighbourhood
    bool light_senders; // senders need no fence: sleepers make the processors agree (membarrier)

    int fd; // until segments are shared, then -1
    char *shared;
    char *scratch;
    size_t ring_lines;
    size_t bytes_per_process; // doorbell and rings
    size_t segments_offset;   // in the file
    uint64_t key;
} smp_conduit_t;

static inline smp_conduit_t *smp_of(aq_conduit_t *conduit)
{
    return (smp_conduit_t *)(void *)conduit;
}

// ---- smp_memory.c ----

// Makes or finds the neighbourhood's file and maps it. Collective.
aq_status_t smp_memory_open(smp_conduit_t *smp);
// Fills in the link to the process at a place in the neighbourhood.
void smp_memory_link(smp_conduit_t *smp, uint32_t index, smp_link_t *link);
smp_process_t *smp_memory_process(const smp_conduit_t *smp, uint32_t index);
aq_status_t smp_memory_share_segments(aq_conduit_t *conduit, const uintptr_t *sizes, void **here);

// ---- smp_sleep.c ----

void smp_sleep_start(smp_conduit_t *smp);
uint32_t smp_sleep_arm(aq_conduit_t *conduit);
void smp_sleep_sleep(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns);
void smp_sleep_disarm(aq_conduit_t *conduit);
void smp_sleep_wake(aq_conduit_t *conduit, bool neighbourhood);
void smp_sleep_ring(smp_doorbell_t *doorbell);

// Between a change and the look for sleepers who wait for it: the two may not pass each other;
// see smp_sleep.c.
static inline void smp_sleep_fence(const smp_conduit_t *smp)
{
    if (__builtin_expect(smp->light_senders, 1))
        atomic_signal_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_seq_cst);
}

// After a message was published: wakes the peer if it sleeps.
static inline void smp_sleep_wake_peer(smp_conduit_t *smp, smp_link_t *link)
{
    smp_sleep_fence(smp);
    if (__builtin_expect(atomic_load_explicit(&link->doorbell->sleepers, memory_order_relaxed) != 0,
                         0))
        smp_sleep_ring(link->doorbell);
}

#endif
