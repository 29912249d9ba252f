#include "neighbour_copy.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "../other/base/log.h"
#include "../other/base/settings.h"
#include "job.h"
#include "process_read.h"

static bool copies; // all memory may be copied, and neighbours exist

void aq_neighbour_copy_start(void)
{
    copies = aq_job.env.segment_mode == AQ_SEGMENT_EVERYTHING && aq_job.env.nbrhd_size > 1 &&
             aq_settings_bool(AQ_SET_PSHM_COPY);
}

// A sentence of one rank is enough: the kernel treats all processes of a host alike.
static void refusal_tell(int error)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (aq_job.env.nbrhd_index != 0 || atomic_flag_test_and_set(&told))
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

bool aq_neighbour_copy(const aq_rma_t *rma, uint32_t rank)
{
    const uint32_t index = copies ? aq_index_in_nbrhd(&aq_job.env, rank) : UINT32_MAX;
    const int32_t process = index == UINT32_MAX ? 0 : process_of(index);
    if (!process)
        return false;
    const uint64_t remote = (uintptr_t)rma->remote;
    return rma->kind == AQ_RMA_GET ? aq_process_read(process, remote, rma->local, rma->nbytes)
                                   : aq_process_write(process, remote, rma->local, rma->nbytes);
}
