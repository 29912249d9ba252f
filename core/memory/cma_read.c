// SPDX-License-Identifier: BSD-3-Clause
// Finds out which process is a neighbour, and reads, writes and looks up its memory. cma_copy.c,
// the collectives and messages/two_sided call it.
#include "cma_read.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../ground/lock.h"
#include "scratch.h"
#include "shared_heap.h"
#include "../endpoint/team.h"

// What a process publishes to its neighbours, in its scratch. Written once.
typedef struct description {
    aq_process_t process;
    atomic_bool written;
} description_t;
_Static_assert(sizeof(description_t) <= AQ_SCRATCH_PROCESS, "a description fits into the scratch");

// By index in the neighbourhood: as aq_process_of, 0: not checked yet. NULL: there are no
// neighbours.
static _Atomic int32_t *known;

static uint64_t own_proof;
static aq_lock_t proof_lock;

// Yama (kernel.yama.ptrace_scope=1) admits only the ancestors of a process, and one more process
// with its descendants: here the parent, which has started all ranks of the host.
static void siblings_admit(void)
{
    (void)prctl(PR_SET_PTRACER, (unsigned long)getppid(), 0, 0, 0);
}

// 0: the system has no random bytes.
static uint64_t proof_get(void)
{
    aq_lock_take(&proof_lock);
    if (!own_proof) {
        siblings_admit();
        if (getrandom(&own_proof, sizeof own_proof, 0) != sizeof own_proof)
            own_proof = 0;
    }
    const uint64_t proof = own_proof;
    aq_lock_drop(&proof_lock);
    return proof;
}

aq_process_t aq_process_self(void)
{
    const uint64_t proof = proof_get();
    if (!proof)
        return (aq_process_t){0};
    return (aq_process_t){
        .proof = proof, .proof_address = (uintptr_t)&own_proof, .number = getpid()};
}

typedef ssize_t copy_call_t(pid_t process, const struct iovec *here, unsigned long here_count,
                            const struct iovec *there, unsigned long there_count,
                            unsigned long flags);

static bool process_copy(copy_call_t *call, int32_t number, uint64_t there, void *here,
                         size_t nbytes)
{
    while (nbytes) {
        const struct iovec own = {here, nbytes};
        const struct iovec others = {(void *)(uintptr_t)there, nbytes};
        const ssize_t copied = call(number, &own, 1, &others, 1, 0);
        if (copied <= 0)
            return false;
        here = (char *)here + copied;
        there += (uint64_t)copied;
        nbytes -= (size_t)copied;
    }
    return true;
}

bool aq_cma_read(int32_t number, uint64_t from, void *to, size_t nbytes)
{
    return process_copy(process_vm_readv, number, from, to, nbytes);
}

bool aq_process_write(int32_t number, uint64_t to, const void *from, size_t nbytes)
{
    return process_copy(process_vm_writev, number, to, (void *)(uintptr_t)from, nbytes);
}

bool aq_process_holds(const aq_process_t *process)
{
    uint64_t found = 0;
    return process->number > 0 && process->proof &&
           aq_cma_read(process->number, process->proof_address, &found, sizeof found) &&
           found == process->proof;
}

// ---- neighbours ----

static description_t *description_of(uint32_t nbrhd_index)
{
    return (description_t *)(void *)(aq_scratch_of(nbrhd_index) + AQ_SCRATCH_PROCESS_AT);
}

void aq_process_start(void)
{
    if (aq_job.env.nbrhd_size == 1)
        return;
    known = calloc(aq_job.env.nbrhd_size, sizeof *known);
    description_t *mine = description_of(aq_job.env.nbrhd_index);
    mine->process = aq_process_self();
    atomic_store_explicit(&mine->written, true, memory_order_release);
}

// Checks the process that a neighbour has described. Returns its number, or the reason why it
// cannot be accessed: -errno.
static int32_t process_ask(const aq_process_t *process)
{
    errno = 0;
    if (aq_process_holds(process))
        return process->number;
    return errno ? -errno : -ESRCH;
}

int32_t aq_process_of(uint32_t nbrhd_index)
{
    int32_t number = known ? atomic_load_explicit(&known[nbrhd_index], memory_order_relaxed) : 0;
    if (number || !known)
        return number;
    const description_t *theirs = description_of(nbrhd_index);
    if (!atomic_load_explicit(&theirs->written, memory_order_acquire))
        return 0;
    number = process_ask(&theirs->process);
    atomic_store_explicit(&known[nbrhd_index], number, memory_order_relaxed);
    return number;
}

// ---- memory that is mapped here ----

static void *segment_find(uint32_t jobrank, uint64_t address, size_t nbytes)
{
    const intptr_t shift = aq_team_shift(jobrank, 0);
    const uint64_t offset = address - aq_job.segment_addr[jobrank];
    if (shift & 1 || offset > aq_job.segment_size[jobrank] ||
        nbytes > aq_job.segment_size[jobrank] - offset)
        return NULL;
    return (void *)((uintptr_t)address + (uintptr_t)shift);
}

void *aq_process_mapped(uint32_t jobrank, uint64_t address, size_t nbytes)
{
    if (jobrank == aq_job.rank)
        return (void *)(uintptr_t)address;
    void *found = segment_find(jobrank, address, nbytes);
    return found ? found : aq_shared_heap_find(jobrank, address, nbytes);
}

bool aq_process_shows(const void *memory, size_t nbytes)
{
    return aq_job.env.nbrhd_size > 1 && (segment_find(aq_job.rank, (uintptr_t)memory, nbytes) ||
                                         aq_shared_heap_holds(memory, nbytes));
}
