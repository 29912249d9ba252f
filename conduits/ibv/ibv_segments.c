#include "ibv_segments.h"

#include <stdlib.h>

#include "../../other/base/log.h"

aq_status_t aq_ibv_segments_agree_on_cut(aq_boot_t *boot, aq_ibv_cut_t *cut)
{
    aq_ibv_cut_t *all = calloc(boot->size, sizeof *all);
    if (all == NULL) {
        aq_log_error("there is no memory for the segments of %u ranks; free some", boot->size);
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = boot->ops->exchange(boot, cut, sizeof *cut, all);
    for (uint32_t rank = 0; status == AQ_OK && rank < boot->size; rank++) {
        if (all[rank].shift < cut->shift)
            cut->shift = all[rank].shift;
        if (all[rank].overlap < cut->overlap)
            cut->overlap = all[rank].overlap;
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

aq_status_t aq_ibv_segments_exchange(aq_boot_t *boot, const aq_ibv_segment_t *mine,
                                     aq_ibv_cut_t cut, const uintptr_t *starts,
                                     const uintptr_t *lengths, aq_ibv_segments_t *out)
{
    const uint32_t stride = most_pieces(boot->size, cut, lengths);
    uint32_t *keys = calloc(stride, sizeof *keys);
    *out = (aq_ibv_segments_t){.starts = starts, .lengths = lengths, .stride = stride, .cut = cut};
    out->keys = calloc((size_t)stride * boot->size, sizeof *keys);
    aq_status_t status = keys != NULL && out->keys != NULL ? AQ_OK : AQ_ERR_RESOURCE;
    if (status != AQ_OK)
        aq_log_error("there is no memory for the keys of %u segments of up to %u pieces; raise "
                     "GASNET_PIN_MAXSZ",
                     boot->size, stride);
    for (uint32_t i = 0; status == AQ_OK && i < mine->count; i++)
        keys[i] = mine->pieces[i]->rkey;
    if (status == AQ_OK)
        status = boot->ops->exchange(boot, keys, stride * sizeof *keys, out->keys);
    free(keys);
    if (status != AQ_OK)
        aq_ibv_segments_free(out);
    return status;
}

void aq_ibv_segments_free(aq_ibv_segments_t *segments)
{
    free(segments->keys);
    *segments = (aq_ibv_segments_t){0};
}
