// SPDX-License-Identifier: BSD-3-Clause
// Checks of non-contiguous transfers: of the numbers of descriptions; of overlaps, in debug builds;
// of remote addresses.
#include <stdlib.h>

#include "../../core/ground/bounds.h"
#include "../../core/ground/fatal.h"
#include "../../core/memory/segment_table.h"
#include "../../core/endpoint/team.h"
#include "../../core/thread/thread.h"
#include "../../other/base/minmax.h"
#include "../rma/rma_probe.h"
#include "vis_check.h"
#include "vis_pieces.h"

typedef struct piece {
    const char *addr;
    size_t nbytes;
} piece_t;

static int by_address(const void *a, const void *b)
{
    const char *x = ((const piece_t *)a)->addr, *y = ((const piece_t *)b)->addr;
    return (x > y) - (x < y);
}

static size_t list_pieces(const aq_vis_side_t *side, piece_t *out)
{
    aq_vis_cursor_t cursor;
    size_t count = 0;
    for (aq_vis_cursor_start(&cursor, side); cursor.left; count++) {
        if (out)
            out[count] = (piece_t){cursor.at, cursor.left};
        aq_vis_cursor_skip(&cursor, cursor.left);
    }
    return count;
}

// The pieces of a destination must not overlap each other.
static void check_overlap(const char *call, const aq_vis_side_t *side)
{
    size_t count = list_pieces(side, NULL);
    piece_t *pieces = aq_allocate_zeroed(count, sizeof *pieces, "the check of pieces");
    list_pieces(side, pieces);
    qsort(pieces, count, sizeof *pieces, by_address);
    for (size_t i = 1; i < count; i++)
        AQ_CHECK(pieces[i - 1].nbytes <= (size_t)(pieces[i].addr - pieces[i - 1].addr),
                 "%s: the destination overlaps itself: %zu bytes at %p and %zu bytes at %p", call,
                 pieces[i - 1].nbytes, (const void *)pieces[i - 1].addr, pieces[i].nbytes,
                 (const void *)pieces[i].addr);
    free(pieces);
}

// Whether a strided side is inside a range, found without a walk over its blocks. Sums of 64 bits
// and their products need more than 64 bits.
static bool grid_fits(const aq_vis_side_t *side, uintptr_t start, uintptr_t size)
{
    __extension__ typedef __int128 wide_t;
    wide_t low = (uintptr_t)side->addr, high = low + side->nbytes;
    for (size_t i = 0; i < side->count; i++) {
        const wide_t reach =
            (wide_t)((const ptrdiff_t *)side->list)[i] * (wide_t)(side->steps[i] - 1);
        *(reach < 0 ? &low : &high) += reach;
    }
    return low >= start && high <= (wide_t)start + size;
}

// The range from the first to the last byte of all remote pieces.
static aq_access_t pieces_range(const aq_vis_t *vis, uint32_t jobrank, gex_EP_Index_t ep)
{
    uintptr_t low = UINTPTR_MAX, high = 0;
    aq_vis_cursor_t cursor;
    aq_vis_cursor_start(&cursor, &vis->remote);
    for (; cursor.left; aq_vis_cursor_skip(&cursor, cursor.left)) {
        low = aq_min(low, (uintptr_t)cursor.at);
        high = aq_max(high, (uintptr_t)cursor.at + cursor.left);
    }
    return (aq_access_t){
        .addr = (void *)low, .nbytes = high > low ? high - low : 0, .rank = jobrank, .ep = ep};
}

// Calls fits for each remote piece until it returns false; then *wrong is that piece.
static bool each_piece(const aq_vis_t *vis, uint32_t jobrank, gex_EP_Index_t ep,
                       bool (*fits)(aq_access_t *access, bool writes), aq_access_t *wrong)
{
    aq_vis_cursor_t cursor;
    aq_vis_cursor_start(&cursor, &vis->remote);
    for (; cursor.left; aq_vis_cursor_skip(&cursor, cursor.left)) {
        *wrong = (aq_access_t){vis->call, cursor.at, cursor.left, jobrank, ep, 0};
        if (!fits(wrong, !vis->is_get))
            return false;
    }
    return true;
}

static bool piece_fits(aq_access_t *access, bool writes)
{
    (void)writes;
    return aq_access_fits(access->rank, access->ep, access->addr, access->nbytes);
}

bool aq_vis_fits(const aq_vis_t *vis, uint32_t jobrank, aq_access_t *wrong)
{
    const gex_EP_Index_t ep = aq_team_ep_pair(aq_team_of(vis->tm), vis->rank).to;
    uintptr_t start, size;
    const bool is_grid = vis->remote.kind == AQ_VIS_STRIDED &&
                         aq_segment_bounds(jobrank, ep, &start, &size) &&
                         grid_fits(&vis->remote, start, size);
    if (!is_grid && !each_piece(vis, jobrank, ep, piece_fits, wrong))
        return false;
    if (!aq_probe_needed(ep))
        return true;
    aq_access_t range = pieces_range(vis, jobrank, ep); // one probe suffices if all of it exists
    return aq_probe(&range, !vis->is_get) || each_piece(vis, jobrank, ep, aq_probe, wrong);
}

// Ends the job, before anything is read from a list, if the list is longer than memory can be.
static void check_list(const char *call, const aq_vis_side_t *side)
{
    aq_bounds_blocks(call, side->kind == AQ_VIS_STRIDED ? "dimensions" : "pieces", side->count,
                     side->kind == AQ_VIS_VECTOR ? sizeof(gex_Memvec_t) : sizeof(void *));
}

void aq_vis_check(const aq_vis_t *vis, bool notifies)
{
    check_list(vis->call, &vis->remote);
    check_list(vis->call, &vis->local);
    const bool is_grid = vis->remote.kind == AQ_VIS_STRIDED; // both sides have the same blocks
    const size_t remote = aq_vis_side_bytes(&vis->remote);
    const size_t local = is_grid ? remote : aq_vis_side_bytes(&vis->local);
    aq_thread_check_call(vis->call);
    if (is_grid && !remote && !notifies)
        return; // then team, rank and addresses are ignored
    aq_bounds_rank(vis->call, "rank", vis->rank, vis->tm->size);
    if (__builtin_expect(remote != local, 0))
        aq_fatal("%s: the remote side (rank %u) has %zu bytes, the local one %zu", vis->call,
                 vis->rank, remote, local);
    if (__builtin_expect(remote > AQ_ADDRESS_SPACE, 0))
        aq_fatal("%s: the pieces have more bytes than memory can hold (%lu)", vis->call,
                 AQ_ADDRESS_SPACE);
    if (AQ_CHECKS)
        check_overlap(vis->call, vis->is_get ? &vis->local : &vis->remote);
}
