// SPDX-License-Identifier: BSD-3-Clause
// Puts and gets to a neighbour by one copy of the kernel, where the neighbour has its segment open.
// extended/rma/rma.c tries this before it sends messages.
#include "cma_copy.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "../state/job.h"
#include "cma_read.h"
#include "scratch.h"
#include "../endpoint/segment_map.h"

static bool copies; // copies are enabled: there are neighbours, and GASNET_PSHM_COPY is set

// The table that a process of the neighbourhood writes: for each endpoint, 32 bits of the serial of
// the binding whose segment others may copy from and to; 0: none.
static _Atomic uint32_t *open_of(uint32_t nbrhd_index)
{
    return (_Atomic uint32_t *)(void *)(aq_scratch_of(nbrhd_index) + AQ_SCRATCH_SEGMENTS_AT);
}

void aq_cma_copy_start(void)
{
    copies = aq_job.env.nbrhd_size > 1 && aq_settings_bool(AQ_SET_PSHM_COPY);
}

void aq_cma_copy_open(gex_EP_Index_t ep, uint64_t serial)
{
    if (aq_job.env.nbrhd_size > 1)
        atomic_store_explicit(&open_of(aq_job.env.nbrhd_index)[ep], (uint32_t)serial,
                              memory_order_release);
}

#define ENDED_NS UINT64_C(2000000000)

// Whether the process may just have ended, which soon ends the job: no process has its number, and
// this was first seen less than ENDED_NS ago.
static bool process_ended(int error)
{
    static _Atomic uint64_t first; // time when this was first seen; 0: never
    uint64_t none = 0;
    const uint64_t now = error == ESRCH ? aq_clock_ns() : 0;
    if (!now || atomic_compare_exchange_strong(&first, &none, now))
        return now != 0;
    return now - none < ENDED_NS;
}

// A sentence of one rank is enough: the kernel treats all processes of a host alike.
static void refusal_tell(int error)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (aq_job.env.nbrhd_index != 0 || process_ended(error) || atomic_flag_test_and_set(&told))
        return;
    aq_log_notice("the kernel does not let ranks of this host access memory of each other "
                  "(process_vm_readv: %s), so puts and gets between them travel as "
                  "messages, which is slower: set kernel.yama.ptrace_scope to 0 or 1, and give "
                  "containers the capability SYS_PTRACE, or set GASNET_PSHM_COPY=0 to accept this",
                  error == ESRCH ? "it knows these processes by other numbers" : strerror(error));
}

// The number of the process of a neighbour that this process may access; 0: none.
static int32_t process_of(uint32_t nbrhd_index)
{
    const int32_t number = aq_process_of(nbrhd_index);
    if (number < 0)
        refusal_tell(-number);
    return number > 0 ? number : 0;
}

// Whether the neighbour has these bytes in the segment of an endpoint. Before the owner destroys a
// segment, it clears the serial without notice, so every access reads the serial again.
static bool memory_is_open(uint32_t nbrhd_index, const aq_rma_t *rma, uint32_t rank,
                           gex_EP_Index_t ep)
{
    if (!ep && aq_job.env.segment_mode == AQ_SEGMENT_EVERYTHING)
        return true;
    const uint32_t open = atomic_load_explicit(&open_of(nbrhd_index)[ep], memory_order_acquire);
    return open && open == (uint32_t)aq_segment_map_serial(rank, ep, rma->remote, rma->nbytes);
}

bool aq_cma_copy(const aq_rma_t *rma, uint32_t rank, gex_EP_Index_t ep)
{
    const uint32_t index = copies ? aq_index_in_nbrhd(&aq_job.env, rank) : UINT32_MAX;
    if (index == UINT32_MAX || !memory_is_open(index, rma, rank, ep))
        return false;
    const int32_t process = process_of(index);
    if (!process)
        return false;
    const uint64_t remote = (uintptr_t)rma->remote;
    return rma->kind == AQ_RMA_GET ? aq_cma_read(process, remote, rma->local, rma->nbytes)
                                   : aq_process_write(process, remote, rma->local, rma->nbytes);
}
