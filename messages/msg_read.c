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

typedef ssize_t copy_call_t(pid_t process, const struct iovec *here, unsigned long here_count,
                            const struct iovec *there, unsigned long there_count,
                            unsigned long flags);

// Copies between this process and another one, by process_vm_readv or process_vm_writev.
static bool process_copy(copy_call_t *call, int32_t process, uint64_t there, void *here,
                         size_t nbytes)
{
    while (nbytes) {
        const struct iovec own = {here, nbytes};
        const struct iovec others = {(void *)(uintptr_t)there, nbytes};
        const ssize_t copied = call(process, &own, 1, &others, 1, 0);
        if (copied <= 0)
            return false;
        here = (char *)here + copied;
        there += (uint64_t)copied;
        nbytes -= (size_t)copied;
    }
    return true;
}

// Large messages offer, too: there may have been no message with two sides.
static _Atomic int32_t *process_known(uint32_t jobrank)
{
    aq_lock_take(&aq_msg.lock);
    _Atomic int32_t *known = &aq_msg_peer(jobrank)->process;
    aq_lock_drop(&aq_msg.lock);
    return known;
}

// Whether a process is the source of an offer. It is asked once.
static bool process_holds(const aq_msg_head_t *offer)
{
    _Atomic int32_t *known = process_known(offer->source);
    uint64_t found = 0;
    if (offer->process <= 0 || !offer->proof)
        return false;
    if (atomic_load_explicit(known, memory_order_relaxed) == offer->process)
        return true;
    if (!process_copy(process_vm_readv, offer->process, offer->proof_address, &found,
                      sizeof found) ||
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

bool aq_msg_reads_by_calls(const aq_msg_head_t *offer)
{
    return offer->address && !mapped_at(offer) && process_holds(offer);
}

bool aq_msg_read_at(const aq_msg_head_t *offer, size_t offset, void *dest, size_t nbytes)
{
    return process_copy(process_vm_readv, offer->process, offer->address + offset, dest, nbytes);
}

bool aq_msg_write_at(const aq_msg_head_t *offer, size_t offset, const void *src, size_t nbytes)
{
    return process_copy(process_vm_writev, offer->process, offer->address + offset,
                        (void *)(uintptr_t)src, nbytes);
}

bool aq_msg_read(const aq_msg_head_t *offer, uint64_t offset, void *dest, size_t nbytes)
{
    const char *mapped = offer->address ? mapped_at(offer) : NULL;
    if (mapped) {
        memcpy(dest, mapped + offset, nbytes);
        return true;
    }
    return aq_msg_reads_by_calls(offer) && aq_msg_read_at(offer, offset, dest, nbytes);
}
