// SPDX-License-Identifier: BSD-3-Clause
// Runs the trial copies, when ibv_rail_ports.c opens the ports of a process.
#include "ibv_paging.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../other/base/clock.h"
#include "../../../other/base/log/log.h"
#include "../../../other/base/settings/settings.h"
#include "ibv_profile.h"
#include "ibv_queue_pair.h"

enum {
    PIECE = 13,    // bytes of a copy
    INSIDE = 1001, // its offset in a page; the other one crosses the end of the page
    ACROSS = 5,
    PERIOD = 251, // of the bytes that are copied, so that no two pieces are alike
    POLL_NS = 20000,
};
static const uint64_t answer_ns = 5000000000;

// Two pages of each kind of memory.
enum { PINNED, PAGED, KINDS };
static const aq_ibv_access_t access_of[KINDS] = {AQ_IBV_BUFFER, AQ_IBV_WRITE};

typedef struct trial {
    aq_ibv_memory_t *memory;
    size_t bytes; // of two pages
    uint8_t *pages[KINDS];
    struct ibv_mr *regions[KINDS];
    struct ibv_cq *cq;
    struct ibv_qp *qp;
} trial_t;

// ---- one copy ----

static void pages_fill(const trial_t *trial, unsigned from)
{
    for (size_t i = 0; i < trial->bytes; i++)
        trial->pages[from][i] = (uint8_t)(1 + i % PERIOD);
    memset(trial->pages[!from], 0, trial->bytes);
}

// Whether exactly the piece at the offset has arrived.
static bool piece_arrived(const trial_t *trial, unsigned to, size_t offset)
{
    for (size_t i = 0; i < trial->bytes; i++)
        if (trial->pages[to][i] !=
            (i >= offset && i - offset < PIECE ? trial->pages[!to][i] : (uint8_t)0))
            return false;
    return true;
}

static bool completes(const trial_t *trial)
{
    struct ibv_wc wc;
    int count;
    for (const uint64_t begin = aq_clock_ns(); !(count = ibv_poll_cq(trial->cq, 1, &wc));) {
        if (aq_clock_ns() - begin > answer_ns)
            return false;
        aq_clock_sleep_ns(POLL_NS);
    }
    return count == 1 && wc.status == IBV_WC_SUCCESS;
}

// local: the kind of memory that the work request names as its own; the other one is the peer's.
static bool copy_is_right(const trial_t *trial, enum ibv_wr_opcode opcode, unsigned local,
                          size_t offset)
{
    const unsigned from = opcode == IBV_WR_RDMA_READ ? !local : local;
    struct ibv_sge piece = {(uintptr_t)trial->pages[local] + offset, PIECE,
                            trial->regions[local]->lkey};
    struct ibv_send_wr *bad,
        wr = {.sg_list = &piece,
              .num_sge = 1,
              .opcode = opcode,
              .send_flags = IBV_SEND_SIGNALED,
              .wr.rdma = {(uintptr_t)trial->pages[!local] + offset, trial->regions[!local]->rkey}};
    pages_fill(trial, from);
    return ibv_post_send(trial->qp, &wr, &bad) == 0 && completes(trial) &&
           piece_arrived(trial, !from, offset);
}

static bool copies_are_right(const trial_t *trial)
{
    const size_t offsets[] = {INSIDE, trial->bytes / 2 - ACROSS};
    for (unsigned i = 0; i < 2; i++)
        for (unsigned local = 0; local < KINDS; local++)
            if (!copy_is_right(trial, IBV_WR_RDMA_WRITE, local, offsets[i]) ||
                !copy_is_right(trial, IBV_WR_RDMA_READ, local, offsets[i]))
                return false;
    return true;
}

// ---- open and close ----

static bool pages_open(trial_t *trial, unsigned kind)
{
    void *pages =
        mmap(NULL, trial->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    trial->pages[kind] = pages != MAP_FAILED ? pages : NULL;
    return trial->pages[kind] &&
           aq_ibv_memory_try(trial->memory, pages, trial->bytes, access_of[kind],
                             &trial->regions[kind]) == AQ_FIREHOSE_PINNED;
}

static void pages_close(trial_t *trial, unsigned kind)
{
    if (trial->regions[kind])
        aq_ibv_memory_release(trial->memory, trial->regions[kind], access_of[kind]);
    if (trial->pages[kind])
        munmap(trial->pages[kind], trial->bytes);
}

// A queue pair that is its own peer.
static bool pair_open(trial_t *trial, const aq_ibv_path_source_t *from)
{
    struct ibv_pd *pd = trial->memory->pd;
    trial->cq = ibv_create_cq(pd->context, 1, NULL, NULL, 0);
    struct ibv_qp_init_attr wanted = {
        .send_cq = trial->cq,
        .recv_cq = trial->cq,
        .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC};
    trial->qp = trial->cq ? ibv_create_qp(pd, &wanted) : NULL;
    if (!trial->qp)
        return false;
    const aq_ibv_pair_info_t end = {.port = from->address,
                                    .number = trial->qp->qp_num,
                                    .mtu = (uint8_t)from->path->mtu,
                                    .reads = 1};
    return aq_ibv_pair_init(trial->qp, from,
                            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                IBV_ACCESS_REMOTE_READ) == 0 &&
           aq_ibv_pair_connect(trial->qp, from, &end, &end, (aq_ibv_pair_rnr_t){0}) == 0;
}

static void trial_close(trial_t *trial)
{
    if (trial->qp)
        ibv_destroy_qp(trial->qp);
    if (trial->cq)
        ibv_destroy_cq(trial->cq);
    pages_close(trial, PINNED);
    pages_close(trial, PAGED);
}

static void warn(const aq_ibv_memory_t *memory)
{
    if (aq_log_is_first() && aq_setting_int(aq_ibv_setting(IBV_SET_ODP_VERBOSE)))
        aq_log_warn("verbs device %s fails a trial of on-demand paging (GASNET_USE_ODP), as bytes "
                    "do not arrive where they belong: memory is pinned; use another kernel or "
                    "driver, or unset the variable",
                    memory->device);
}

void aq_ibv_paging_try(aq_ibv_memory_t *memory, const aq_ibv_path_source_t *from)
{
    trial_t trial = {.memory = memory, .bytes = 2 * (size_t)sysconf(_SC_PAGESIZE)};
    if (!memory->paged)
        return;
    const bool right = pages_open(&trial, PINNED) && pages_open(&trial, PAGED) &&
                       pair_open(&trial, from) && copies_are_right(&trial);
    trial_close(&trial);
    if (right)
        return;
    memory->paged = AQ_IBV_NOT_PAGED;
    warn(memory);
}
