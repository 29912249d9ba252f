#include "neighbour_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../other/base/log.h"
#include "../other/base/settings.h"
#include "process_read.h"
#include "scratch.h"

// What a process tells its neighbours, in its scratch. Written once.
typedef struct description {
    aq_process_t process;
    atomic_bool written;
} description_t;
_Static_assert(sizeof(description_t) <= AQ_SCRATCH_PROCESS, "a description fits into the scratch");

typedef enum access_state {
    ACCESS_UNKNOWN, // not tried yet
    ACCESS_ALLOWED,
    ACCESS_REFUSED,
} access_state_t;

static _Atomic uint8_t *states; // by index in the neighbourhood; NULL: there is no access

static description_t *description_of(uint32_t nbrhd_index)
{
    return (description_t *)(void *)(aq_scratch_of(nbrhd_index) + AQ_SCRATCH_PROCESS_AT);
}

void aq_neighbour_copy_start(void)
{
    if (aq_job.env.segment_mode != AQ_SEGMENT_EVERYTHING || aq_job.env.nbrhd_size == 1 ||
        !aq_settings_bool(AQ_SET_PSHM_COPY))
        return;
    states = calloc(aq_job.env.nbrhd_size, sizeof *states);
    description_t *mine = description_of(aq_job.env.nbrhd_index);
    mine->process = aq_process_self();
    atomic_store_explicit(&mine->written, true, memory_order_release);
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
                  error ? strerror(error) : "it knows these processes by other numbers");
}

static access_state_t access_try(const aq_process_t *process)
{
    errno = 0;
    if (aq_process_holds(process))
        return ACCESS_ALLOWED;
    refusal_tell(errno);
    return ACCESS_REFUSED;
}

// The number of the process of a neighbour that this process may access; 0: none.
static int32_t process_of(uint32_t rank)
{
    const uint32_t index = states ? aq_index_in_nbrhd(&aq_job.env, rank) : UINT32_MAX;
    if (index == UINT32_MAX)
        return 0;
    const description_t *theirs = description_of(index);
    if (!atomic_load_explicit(&theirs->written, memory_order_acquire))
        return 0;
    unsigned state = atomic_load_explicit(&states[index], memory_order_relaxed);
    if (state == ACCESS_UNKNOWN) {
        state = access_try(&theirs->process);
        atomic_store_explicit(&states[index], (uint8_t)state, memory_order_relaxed);
    }
    return state == ACCESS_ALLOWED ? theirs->process.number : 0;
}

bool aq_neighbour_copy(const aq_rma_t *rma, uint32_t rank)
{
    const int32_t process = process_of(rank);
    if (!process)
        return false;
    const uint64_t remote = (uintptr_t)rma->remote;
    return rma->kind == AQ_RMA_GET ? aq_process_read(process, remote, rma->local, rma->nbytes)
                                   : aq_process_write(process, remote, rma->local, rma->nbytes);
}
