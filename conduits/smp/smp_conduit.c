// The smp conduit: processes of one host talk through shared memory. The teaching conduit: read
// it in this order: smp_message.h (what a message looks like), smp_ring.h and .c (how it
// travels), this file (the table of operations), smp_memory.c (where rings and segments live),
// smp_sleep.c (waiting).
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../other/log.h"
#include "smp_conduit.h"

enum { POLL_BUDGET = 32 }; // messages of each class that one poll delivers at most

static bool smp_usable(char *why, size_t why_size)
{
    int fd = memfd_create("gasnet-probe", MFD_CLOEXEC);
    if (fd < 0) {
        snprintf(why, why_size, "the kernel refuses anonymous shared memory (memfd_create): %s",
                 strerror(errno));
        return false;
    }
    close(fd);
    return true;
}

static aq_status_t smp_open(const aq_conduit_env_t *env, aq_conduit_t **out)
{
    smp_conduit_t *smp = aligned_alloc(SMP_LINE, sizeof *smp);
    if (!smp) {
        aq_log_error("out of memory for the smp conduit (%zu bytes)", sizeof *smp);
        return AQ_ERR_RESOURCE;
    }
    memset(smp, 0, sizeof *smp);
    smp->base =
        (aq_conduit_t){&aq_smp_conduit, env, SMP_MAX_MEDIUM, (size_t)1 << 30, SMP_MAX_MEDIUM, 0};
    aq_status_t status = smp_memory_open(smp);
    if (status != AQ_OK) {
        free(smp);
        return status;
    }
    smp_sleep_start(smp);
    *out = &smp->base;
    return AQ_OK;
}

static void smp_close(aq_conduit_t *conduit)
{
    (void)conduit; // the mappings end with the process; peers may still write into the rings
}

static void smp_tell(aq_conduit_t *conduit)
{
    static const char *const names[] = {"requests", "replies"};
    const smp_conduit_t *smp = (smp_conduit_t *)(void *)conduit;
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t head = atomic_load_explicit(&smp->in[i].head, memory_order_relaxed);
        const uint64_t tail = atomic_load_explicit(&smp->in[i].control->tail, memory_order_relaxed);
        aq_log_notice("smp: ring of %s: %lu lines taken in all, %lu of %lu not read yet", names[i],
                      (unsigned long)tail, (unsigned long)(tail - head),
                      (unsigned long)smp->in[i].count);
    }
}

static void smp_describe(aq_conduit_t *conduit, char description[AQ_DESCRIPTION_BYTES])
{
    (void)conduit, (void)description; // who shares memory is known from the job
}

static uint32_t index_in_nbrhd(const aq_conduit_env_t *env, uint32_t rank)
{
    uint32_t low = 0, high = env->nbrhd_size;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (env->nbrhd[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < env->nbrhd_size && env->nbrhd[low] == rank ? low : UINT32_MAX;
}

static bool smp_match(aq_conduit_t *conduit, uint32_t rank, const char *description)
{
    (void)description;
    return index_in_nbrhd(conduit->env, rank) != UINT32_MAX;
}

static aq_status_t smp_connect(aq_conduit_t *conduit, uint32_t rank, const char *description,
                               void **out)
{
    (void)description;
    smp_conduit_t *smp = smp_of(conduit);
    smp_link_t *link = aligned_alloc(SMP_LINE, sizeof *link);
    if (!link) {
        aq_log_error("out of memory for the connection to rank %u (%zu bytes)", rank, sizeof *link);
        return AQ_ERR_RESOURCE;
    }
    smp_memory_link(smp, index_in_nbrhd(conduit->env, rank), link);
    *out = link;
    return AQ_OK;
}

// ---- sending ----

// A few words; a call of memcpy would cost more than the copy.
static inline void copy_args(int32_t *to, const int32_t *from, unsigned n)
{
    for (unsigned piece = 16; n; piece /= 2) {
        if (n & piece) {
            memcpy(to, from, piece * sizeof *to);
            to += piece;
            from += piece;
            n -= piece;
        }
    }
}

static inline void write_header(const smp_conduit_t *smp, smp_header_t *header, const aq_am_t *am,
                                size_t nbytes)
{
    header->word = smp_word(am->handler, am->nargs, am->category, nbytes);
    header->source = smp->base.env->rank;
    copy_args(smp_args(header), am->args, am->nargs);
}

// The payload goes straight to its place where that is mapped; else it lies behind the body, and
// the receiver copies it. An empty one may have no address.
static void write_long(smp_header_t *header, const aq_am_t *am)
{
    smp_long_t *body = smp_body(header, am->nargs);
    body->dest = am->dest;
    body->nbytes = am->nbytes;
    if (am->nbytes)
        memcpy(am->dest_here ? am->dest_here : (void *)(body + 1), am->payload, am->nbytes);
}

// Bytes of the payload that travel in the ring.
static inline size_t bytes_inside(const aq_am_t *am)
{
    return am->category == AQ_AM_MEDIUM || (am->category == AQ_AM_LONG && !am->dest_here)
               ? am->nbytes
               : 0;
}

static aq_status_t smp_send(aq_conduit_t *conduit, void *pointer, const aq_am_t *am)
{
    smp_link_t *link = pointer;
    smp_ring_out_t *ring = &link->out[am->reply];
    size_t inside = bytes_inside(am);
    smp_run_t run;
    if (!smp_ring_take(ring, smp_lines(am->nargs, am->category, inside), &run))
        return AQ_AGAIN;
    write_header(smp_of(conduit), run.header, am, inside);
    if (am->category == AQ_AM_LONG)
        write_long(run.header, am);
    else if (inside)
        memcpy(smp_body(run.header, am->nargs), am->payload, inside);
    smp_ring_publish(ring, &run);
    smp_sleep_wake_peer(smp_of(conduit), link);
    return AQ_OK;
}

// ---- payload written in place ----

static aq_status_t smp_prepare(aq_conduit_t *conduit, void *pointer, const aq_am_t *am,
                               size_t least, size_t most, aq_reservation_t *out)
{
    (void)conduit;
    smp_link_t *link = pointer;
    smp_run_t run;
    size_t size = most;
    if (!smp_ring_take(&link->out[am->reply], smp_lines(am->nargs, AQ_AM_MEDIUM, size), &run)) {
        size = least;
        if (least == most ||
            !smp_ring_take(&link->out[am->reply], smp_lines(am->nargs, AQ_AM_MEDIUM, size), &run))
            return AQ_AGAIN;
    }
    *out = (aq_reservation_t){smp_body(run.header, am->nargs), size, run.position};
    return AQ_OK;
}

// Lines that a message leaves unused become one that is skipped.
static void finish(smp_conduit_t *smp, smp_link_t *link, const aq_am_t *am,
                   const aq_reservation_t *room, uint64_t used)
{
    smp_ring_out_t *ring = &link->out[am->reply];
    uint64_t taken = smp_lines(am->nargs, AQ_AM_MEDIUM, room->size);
    if (used < taken)
        smp_ring_skip(ring, room->cookie + used, taken - used);
    if (used)
        smp_ring_publish(ring, &(smp_run_t){room->cookie, smp_ring_header(ring, room->cookie)});
    smp_sleep_wake_peer(smp, link);
}

static void smp_commit(aq_conduit_t *conduit, void *pointer, const aq_am_t *am,
                       const aq_reservation_t *room)
{
    smp_link_t *link = pointer;
    write_header(smp_of(conduit), smp_ring_header(&link->out[am->reply], room->cookie), am,
                 am->nbytes);
    finish(smp_of(conduit), link, am, room, smp_lines(am->nargs, AQ_AM_MEDIUM, am->nbytes));
}

static void smp_cancel(aq_conduit_t *conduit, void *pointer, const aq_am_t *am,
                       const aq_reservation_t *room)
{
    finish(smp_of(conduit), pointer, am, room, 0);
}

// ---- receiving ----

static unsigned smp_poll(aq_conduit_t *conduit, unsigned what)
{
    smp_conduit_t *smp = smp_of(conduit);
    unsigned done = 0;
    bool threads = conduit->env->threads;
    if (threads ? smp_ring_busy(&smp->in[1]) : smp_ring_ready(&smp->in[1]))
        done += smp_ring_receive(&smp->in[1], POLL_BUDGET, true, conduit->env);
    if (!(what & AQ_POLL_REQUESTS))
        return done;
    if (threads ? smp_ring_busy(&smp->in[0]) : smp_ring_ready(&smp->in[0]))
        done += smp_ring_receive(&smp->in[0], POLL_BUDGET, false, conduit->env);
    return done;
}

static size_t smp_memory(aq_conduit_t *conduit)
{
    return smp_of(conduit)->bytes_per_process;
}

static void *smp_scratch(aq_conduit_t *conduit)
{
    return smp_of(conduit)->scratch;
}

const aq_conduit_ops_t aq_smp_conduit = {
    .name = "smp",
    .abi = AQ_CONDUIT_ABI,
    .description_bytes = 0,
    .usable = smp_usable,
    .open = smp_open,
    .describe = smp_describe,
    .match = smp_match,
    .connect = smp_connect,
    .send = smp_send,
    .poll = smp_poll,
    .close = smp_close,
    .prepare = smp_prepare,
    .commit = smp_commit,
    .cancel = smp_cancel,
    .arm = smp_sleep_arm,
    .sleep = smp_sleep_sleep,
    .disarm = smp_sleep_disarm,
    .wake = smp_sleep_wake,
    .share_segments = smp_memory_share_segments,
    .scratch = smp_scratch,
    .memory = smp_memory,
    .tell = smp_tell,
};
