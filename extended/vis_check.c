// Checks of non-contiguous transfers, in debug builds.
#include <stdlib.h>

#include "../core/fatal.h"
#include "../core/segment.h"
#include "../core/team.h"
#include "../core/thread.h"
#include "vis.h"

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
    piece_t *pieces = calloc(count + 1, sizeof *pieces);
    if (!pieces)
        aq_fatal("out of memory for the check of %zu pieces", count);
    list_pieces(side, pieces);
    qsort(pieces, count, sizeof *pieces, by_address);
    for (size_t i = 1; i < count; i++)
        AQ_CHECK(pieces[i - 1].nbytes <= (size_t)(pieces[i].addr - pieces[i - 1].addr),
                 "%s: the destination overlaps itself: %zu bytes at %p and %zu bytes at %p", call,
                 pieces[i - 1].nbytes, (const void *)pieces[i - 1].addr, pieces[i].nbytes,
                 (const void *)pieces[i].addr);
    free(pieces);
}

static void check_segment(const char *call, uint32_t jobrank, gex_EP_Index_t ep,
                          const aq_vis_side_t *side)
{
    aq_vis_cursor_t cursor;
    for (aq_vis_cursor_start(&cursor, side); cursor.left; aq_vis_cursor_skip(&cursor, cursor.left))
        aq_segment_check(call, "", jobrank, ep, cursor.at, cursor.left);
}

void aq_vis_check(const aq_vis_t *vis)
{
    size_t remote = aq_vis_side_bytes(&vis->remote), local = aq_vis_side_bytes(&vis->local);
    aq_thread_check_context(vis->call, "");
    if (vis->remote.kind == AQ_VIS_STRIDED && !remote)
        return; // then team, rank and addresses are ignored
    AQ_CHECK(vis->rank < vis->tm->size, "%s: rank %u is not below the team's size %u", vis->call,
             vis->rank, vis->tm->size);
    AQ_CHECK(remote == local, "%s: the remote side (rank %u) has %zu bytes, the local one %zu",
             vis->call, vis->rank, remote, local);
    check_segment(vis->call, aq_tm_jobrank(vis->tm, vis->rank), aq_team_of(vis->tm)->route.to,
                  &vis->remote);
    check_overlap(vis->call, vis->is_get ? &vis->local : &vis->remote);
}
