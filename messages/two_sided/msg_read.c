// SPDX-License-Identifier: BSD-3-Clause
// Decides how this process reaches memory that another process of the host has named in a message,
// and copies from or to it. The receiver (msg_rndv_get.c, msg_coop_copy.c) and the sender in a
// cooperative copy call it.
#include "msg_read.h"

#include <string.h>

#include "../../core/ground/arg64.h"
#include "../../core/memory/cma_read.h"
#include "msg_peers.h"

void aq_msg_read_self(uint32_t jobrank, aq_msg_head_t *head)
{
    if (!aq_msg_is_neighbour(jobrank))
        return;
    const aq_process_t self = aq_process_self();
    head->process = self.number;
    head->proof = self.proof;
    head->proof_address = self.proof_address;
}

void aq_msg_read_args(uint32_t jobrank, const void *memory, int32_t args[AQ_MSG_MEMORY_ARGS])
{
    aq_msg_head_t head = {.address = (uintptr_t)memory};
    aq_msg_read_self(jobrank, &head);
    const int32_t all[AQ_MSG_MEMORY_ARGS] = {
        aq_high(head.address),       aq_low(head.address),       head.process,
        aq_high(head.proof_address), aq_low(head.proof_address), aq_high(head.proof),
        aq_low(head.proof)};
    memcpy(args, all, sizeof all);
}

// Where the number of a rank's process is kept once it was proved. Makes the table of peers, since
// a large message may be the first one.
static _Atomic int32_t *known_process(uint32_t jobrank)
{
    aq_lock_take(&aq_msg.lock);
    _Atomic int32_t *known = &aq_msg_peer(jobrank)->process;
    aq_lock_drop(&aq_msg.lock);
    return known;
}

// Whether the process number of a message is that of its source. The process is read only once.
static bool process_is_source(const aq_msg_head_t *head)
{
    const aq_process_t process = {head->proof, head->proof_address, head->process};
    _Atomic int32_t *known = known_process(head->source);
    if (!head->process)
        return false;
    if (atomic_load_explicit(known, memory_order_relaxed) == head->process)
        return true;
    if (!aq_process_holds(&process))
        return false;
    atomic_store_explicit(known, head->process, memory_order_relaxed);
    return true;
}

// Decides how this process reaches the memory that a message names; *mapped: where that is mapped.
static aq_msg_reach_t memory_reach(const aq_msg_head_t *head, char **mapped)
{
    if (!head->address)
        return AQ_MSG_UNREACHABLE;
    *mapped = aq_process_mapped(head->source, head->address, head->nbytes);
    if (*mapped)
        return AQ_MSG_MAPPED;
    return process_is_source(head) ? AQ_MSG_CMA : AQ_MSG_UNREACHABLE;
}

aq_msg_reach_t aq_msg_reach(const aq_msg_head_t *head)
{
    char *mapped;
    return memory_reach(head, &mapped);
}

bool aq_msg_read(const aq_msg_head_t *head, uint64_t offset, void *dest, size_t nbytes)
{
    char *mapped;
    const aq_msg_reach_t reach = memory_reach(head, &mapped);
    if (reach == AQ_MSG_MAPPED)
        memcpy(dest, mapped + offset, nbytes);
    return reach == AQ_MSG_MAPPED ||
           (reach == AQ_MSG_CMA &&
            aq_cma_read(head->process, head->address + offset, dest, nbytes));
}

bool aq_msg_write(const aq_msg_head_t *head, uint64_t offset, const void *src, size_t nbytes)
{
    char *mapped;
    const aq_msg_reach_t reach = memory_reach(head, &mapped);
    if (reach == AQ_MSG_MAPPED)
        memcpy(mapped + offset, src, nbytes);
    return reach == AQ_MSG_MAPPED ||
           (reach == AQ_MSG_CMA &&
            aq_process_write(head->process, head->address + offset, src, nbytes));
}
