// SPDX-License-Identifier: BSD-3-Clause
// Agrees on the cut of all segments, and exchanges their keys, when ibv_keys.c attaches them.
#include "ibv_segments.h"

#include <stdlib.h>
#include <string.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"

// What each rank proposes.
typedef struct proposal {
    aq_ibv_cut_t cut;
    uint32_t ports;
} proposal_t;

aq_status_t aq_ibv_segments_agree(aq_boot_t *boot, aq_ibv_cut_t *cut, uint32_t *ports)
{
    const proposal_t mine = {*cut, *ports};
    proposal_t *all = calloc(boot->size, sizeof *all);
    if (all == NULL) {
        aq_log_error("there is no memory for the segments of %u ranks; free some", boot->size);
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = boot->ops->exchange(boot, &mine, sizeof mine, all);
    for (uint32_t rank = 0; status == AQ_OK && rank < boot->size; rank++) {
        cut->shift = aq_min(cut->shift, all[rank].cut.shift);
        cut->overlap = aq_min(cut->overlap, all[rank].cut.overlap);
        *ports = aq_max(*ports, all[rank].ports);
    }
    free(all);
    return status;
}

static uint32_t most_pieces(uint32_t ranks, aq_ibv_cut_t cut, const uintptr_t *lengths)
{
    uint32_t most = 1;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const uint32_t pieces = aq_ibv_segment_pieces(cut, lengths[rank]);
        if (pieces > most)
            most = pieces;
    }
    return most;
}

// Exchanges the keys of one port; buffer has room for those of this rank.
static aq_status_t keys_exchange(aq_boot_t *boot, const aq_ibv_segment_t *mine, uint32_t stride,
                                 uint32_t *buffer, uint32_t *all)
{
    memset(buffer, 0, stride * sizeof *buffer);
    for (uint32_t i = 0; mine && i < mine->count; i++)
        buffer[i] = mine->pieces[i]->rkey;
    return boot->ops->exchange(boot, buffer, stride * sizeof *buffer, all);
}

// Makes the tables of keys; returns a buffer for the keys of one rank. NULL: no memory.
static uint32_t *tables_make(aq_ibv_segments_t *out)
{
    const size_t each = (size_t)out->stride * out->ranks;
    out->keys = calloc(each, sizeof *out->keys);
    if (out->ports > 1)
        out->more_keys = calloc(each * (out->ports - 1), sizeof *out->keys);
    if (out->keys == NULL || (out->ports > 1 && out->more_keys == NULL))
        return NULL;
    return calloc(out->stride, sizeof *out->keys);
}

aq_status_t aq_ibv_segments_exchange(aq_boot_t *boot, const aq_ibv_segment_t *mine, uint32_t count,
                                     aq_ibv_segments_t *segments)
{
    const uint32_t stride = most_pieces(boot->size, segments->cut, segments->lengths);
    segments->ranks = boot->size;
    segments->stride = stride;
    uint32_t *buffer = tables_make(segments);
    aq_status_t status = buffer != NULL ? AQ_OK : AQ_ERR_RESOURCE;
    if (status != AQ_OK)
        aq_log_error("there is no memory for the keys of %u segments of up to %u pieces; raise "
                     "GASNET_PIN_MAXSZ",
                     boot->size, stride);
    else
        status = keys_exchange(boot, mine, stride, buffer, segments->keys);
    for (uint32_t i = 1; status == AQ_OK && i < segments->ports; i++)
        status = keys_exchange(boot, i < count ? &mine[i] : NULL, stride, buffer,
                               segments->more_keys + (size_t)(i - 1) * stride * boot->size);
    free(buffer);
    if (status != AQ_OK)
        aq_ibv_segments_free(segments);
    return status;
}

void aq_ibv_segments_free(aq_ibv_segments_t *segments)
{
    free(segments->keys);
    free(segments->more_keys);
    *segments = (aq_ibv_segments_t){0};
}
