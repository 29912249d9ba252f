// SPDX-License-Identifier: BSD-3-Clause
// The runs of packed messages: written by the initiator, checked and followed by the target.
#include <string.h>

#include "../../core/memory/reserved_pages.h"
#include "vis_pack.h"
#include "vis_copy.h"
#include "../../other/base/minmax.h"

static aq_vis_run_t read_run(const char *runs, size_t number)
{
    aq_vis_run_t run;
    memcpy(&run, runs + number * sizeof run, sizeof run);
    return run;
}

// The number of data bytes that fit beside `runs` runs.
static size_t pack_room(const aq_vis_pack_t *pack, uint32_t runs)
{
    size_t meta = runs * sizeof pack->last;
    size_t used = pack->together ? meta + pack->nbytes : pack->nbytes;
    return meta > pack->limit || used > pack->limit ? 0 : pack->limit - used;
}

static size_t lengthen_run(aq_vis_pack_t *pack, size_t nbytes)
{
    size_t n = aq_min(aq_min(nbytes, pack_room(pack, pack->runs)), UINT32_MAX - pack->last.nbytes);
    pack->last.nbytes += (uint32_t)n;
    return n;
}

// Extends the last run by a piece of the same size at the same distance.
static bool repeat_run(aq_vis_pack_t *pack, uint64_t addr, size_t nbytes)
{
    aq_vis_run_t *run = &pack->last;
    if (nbytes != run->nbytes || nbytes > pack_room(pack, pack->runs) || run->count == UINT32_MAX)
        return false;
    if (run->count == 1)
        run->stride = (int64_t)(addr - run->addr);
    else if (addr != run->addr + (uint64_t)run->stride * run->count)
        return false;
    run->count++;
    return true;
}

static size_t begin_run(aq_vis_pack_t *pack, uint64_t addr, size_t nbytes)
{
    size_t n = aq_min(aq_min(nbytes, pack_room(pack, pack->runs + 1)), UINT32_MAX);
    if (!n)
        return 0;
    aq_vis_pack_end(pack);
    pack->runs++;
    pack->last = (aq_vis_run_t){addr, 0, (uint32_t)n, 1};
    return n;
}

size_t aq_vis_pack_add(aq_vis_pack_t *pack, const char *at, size_t nbytes)
{
    uint64_t addr = (uintptr_t)at;
    const aq_vis_run_t *run = &pack->last;
    size_t n;
    if (pack->runs && run->count == 1 && addr == run->addr + run->nbytes)
        n = lengthen_run(pack, nbytes);
    else if (pack->runs && repeat_run(pack, addr, nbytes))
        n = nbytes;
    else
        n = begin_run(pack, addr, nbytes);
    pack->nbytes += n;
    return n;
}

size_t aq_vis_pack_add_rows(aq_vis_pack_t *pack, const char *at, size_t nbytes, ptrdiff_t stride,
                            size_t rows)
{
    const size_t size = pack_room(pack, pack->runs + 1);
    const size_t n = aq_min(aq_min(size / nbytes, rows), UINT32_MAX);
    if (n < 2 || nbytes > UINT32_MAX)
        return 0;
    aq_vis_pack_end(pack);
    pack->runs++;
    pack->last = (aq_vis_run_t){(uintptr_t)at, stride, (uint32_t)nbytes, (uint32_t)n};
    pack->nbytes += n * nbytes;
    return n;
}

void aq_vis_pack_end(aq_vis_pack_t *pack)
{
    if (pack->runs)
        memcpy(pack->out + (pack->runs - 1) * sizeof pack->last, &pack->last, sizeof pack->last);
}

static bool is_inside(uint64_t addr, uint64_t nbytes, uintptr_t start, uintptr_t memory)
{
    uint64_t offset = addr - start;
    return offset <= memory && nbytes <= memory - offset;
}

static const char *check_run(const aq_vis_run_t *run, uintptr_t start, uintptr_t memory)
{
    int64_t reach;
    if (!run->nbytes || !run->count)
        return "a run is empty";
    if (__builtin_mul_overflow(run->stride, (int64_t)run->count - 1, &reach))
        return "a run goes beyond all addresses";
    if (reach > 0 ? (uint64_t)reach > memory : (uint64_t) - (uint64_t)reach > memory)
        return "a run is longer than the segment";
    if (!is_inside(run->addr, run->nbytes, start, memory) ||
        !is_inside(run->addr + (uint64_t)reach, run->nbytes, start, memory))
        return "a run is not inside the segment";
    return NULL;
}

static bool run_is_allocated(const aq_vis_run_t *run)
{
    uint32_t i = 0;
    while (i < run->count &&
           aq_reserved_allows((void *)(run->addr + (uint64_t)run->stride * i), run->nbytes))
        i++;
    return i == run->count;
}

const char *aq_vis_pack_check(const aq_vis_message_t *message, uintptr_t start, uintptr_t memory,
                              size_t limit, size_t *nbytes)
{
    *nbytes = 0;
    if (message->runs > message->size / sizeof(aq_vis_run_t))
        return "the list of runs is cut off";
    for (uint32_t i = 0; i < message->runs; i++) {
        aq_vis_run_t run = read_run(message->bytes, i);
        const char *wrong = check_run(&run, start, memory);
        if (wrong)
            return wrong;
        uint64_t sum = (uint64_t)run.nbytes * run.count;
        if (sum > limit - *nbytes)
            return "the runs name more bytes than a message holds";
        if (aq_reserved.size && !run_is_allocated(&run))
            return "a run is in a part of the reserved segment that is not allocated";
        *nbytes += sum;
    }
    return NULL;
}

static char *place_piece(const aq_vis_run_t *run)
{
    return (char *)(uintptr_t)run->addr;
}

void aq_vis_unpack(const char *runs, uint32_t count, const char *data)
{
    for (uint32_t i = 0; i < count; i++) {
        aq_vis_run_t run = read_run(runs, i);
        aq_vis_rows(run.nbytes)(place_piece(&run), run.stride, data, run.nbytes, run.count,
                                run.nbytes);
        data += (size_t)run.nbytes * run.count;
    }
}

void aq_vis_repack(const char *runs, uint32_t count, char *data)
{
    for (uint32_t i = 0; i < count; i++) {
        aq_vis_run_t run = read_run(runs, i);
        aq_vis_rows(run.nbytes)(data, run.nbytes, place_piece(&run), run.stride, run.count,
                                run.nbytes);
        data += (size_t)run.nbytes * run.count;
    }
}
