#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "msg_read.h"

#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

static uint64_t own_proof;

// 0: the system has no random bytes, and offers say nothing.
static uint64_t proof_get(void)
{
    if (!own_proof && getrandom(&own_proof, sizeof own_proof, 0) != sizeof own_proof)
        own_proof = 0;
    return own_proof;
}

void aq_msg_read_offer(uint32_t jobrank, aq_msg_head_t *head)
{
    if (aq_index_in_nbrhd(&aq_job.env, jobrank) == UINT32_MAX || !proof_get())
        return;
    head->process = getpid();
    head->proof = own_proof;
    head->proof_address = (uintptr_t)&own_proof;
}

static bool process_read(int32_t process, uint64_t from, void *to, size_t nbytes)
{
    while (nbytes) {
        const struct iovec here = {to, nbytes};
        const struct iovec there = {(void *)(uintptr_t)from, nbytes};
        const ssize_t read = process_vm_readv(process, &here, 1, &there, 1, 0);
        if (read <= 0)
            return false;
        to = (char *)to + read;
        from += (uint64_t)read;
        nbytes -= (size_t)read;
    }
    return true;
}

// Whether a process is the source of an offer. It is asked once.
static bool process_holds(const aq_msg_head_t *offer)
{
    _Atomic int32_t *known = &aq_msg.peers[offer->source].process;
    uint64_t found = 0;
    if (offer->process <= 0 || !offer->proof)
        return false;
    if (atomic_load_explicit(known, memory_order_relaxed) == offer->process)
        return true;
    if (!process_read(offer->process, offer->proof_address, &found, sizeof found) ||
        found != offer->proof)
        return false;
    atomic_store_explicit(known, offer->process, memory_order_relaxed);
    return true;
}

// The address of the bytes in this process, if the segment of the source is mapped and has them.
static const void *mapped_at(const aq_msg_head_t *offer)
{
    const uint32_t rank = offer->source;
    if (rank == aq_job.rank)
        return (void *)(uintptr_t)offer->address;
    const intptr_t shift = aq_team_shift(rank, 0);
    const uint64_t offset = offer->address - aq_job.segment_addr[rank];
    if (shift & 1 || offset > aq_job.segment_size[rank] ||
        offer->nbytes > aq_job.segment_size[rank] - offset)
        return NULL;
    return (void *)((uintptr_t)offer->address + (uintptr_t)shift);
}

bool aq_msg_read(const aq_msg_head_t *offer, void *dest, size_t nbytes)
{
    const void *mapped = mapped_at(offer);
    if (mapped) {
        memcpy(dest, mapped, nbytes);
        return true;
    }
    return process_holds(offer) && process_read(offer->process, offer->address, dest, nbytes);
}
