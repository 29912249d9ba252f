#include "ibv_segments.h"

#include <stdlib.h>

#include "../../other/log.h"

// The second round, where somebody has several pieces: as many keys of each rank as the most are.
static aq_status_t exchange_keys(aq_boot_t *boot, const aq_ibv_segment_t *mine,
                                 aq_ibv_segments_t *segments)
{
    size_t stride = (size_t)segments->stride;
    uint32_t *keys = calloc(stride, sizeof *keys);
    segments->keys = calloc(stride * boot->size, sizeof *keys);
    aq_status_t status = keys != NULL && segments->keys != NULL ? AQ_OK : AQ_ERR_RESOURCE;
    if (status != AQ_OK)
        aq_log_error("there is no memory for the keys of %u segments of up to %zu pieces; raise "
                     "GASNET_PIN_MAXSZ",
                     boot->size, stride);
    for (uint32_t i = 0; status == AQ_OK && i < mine->count; i++)
        keys[i] = mine->pieces[i]->rkey;
    if (status == AQ_OK)
        status = boot->ops->exchange(boot, keys, stride * sizeof *keys, segments->keys);
    free(keys);
    return status;
}

aq_status_t aq_ibv_segments_exchange(aq_boot_t *boot, const aq_ibv_segment_t *mine,
                                     aq_ibv_segments_t *out)
{
    aq_ibv_segment_row_t row = {0};
    *out = (aq_ibv_segments_t){.rows = calloc(boot->size, sizeof *out->rows), .stride = 1};
    if (out->rows == NULL) {
        aq_log_error("there is no memory for the segments of %u ranks; free some", boot->size);
        return AQ_ERR_RESOURCE;
    }
    if (mine->bytes > 0)
        row = (aq_ibv_segment_row_t){.start = mine->start,
                                     .bytes = mine->bytes,
                                     .key = mine->count > 0 ? mine->pieces[0]->rkey : 0,
                                     .shift = (uint16_t)mine->shift,
                                     .count = mine->count,
                                     .overlap = (uint32_t)mine->overlap};
    aq_status_t status = boot->ops->exchange(boot, &row, sizeof row, out->rows);
    for (uint32_t rank = 0; status == AQ_OK && rank < boot->size; rank++)
        if (out->rows[rank].count > out->stride)
            out->stride = out->rows[rank].count;
    if (status == AQ_OK && out->stride > 1)
        status = exchange_keys(boot, mine, out);
    if (status != AQ_OK)
        aq_ibv_segments_free(out);
    return status;
}

void aq_ibv_segments_free(aq_ibv_segments_t *segments)
{
    free(segments->rows);
    free(segments->keys);
    *segments = (aq_ibv_segments_t){0};
}

aq_status_t aq_ibv_agree(aq_boot_t *boot, aq_status_t status, const char *why)
{
    const uint8_t mine = (uint8_t)status;
    uint8_t *all = calloc(boot->size, sizeof *all);
    uint32_t bad = 0;
    if (all == NULL) {
        aq_log_error("%s", *why ? why : "there is no memory for a byte of each rank; free some");
        return status != AQ_OK ? status : AQ_ERR_RESOURCE;
    }
    aq_status_t exchanged = boot->ops->exchange(boot, &mine, sizeof mine, all);
    while (bad < boot->size && all[bad] == AQ_OK)
        bad++;
    if (exchanged == AQ_OK && bad == boot->rank && *why)
        aq_log_error("%s", why);
    if (exchanged == AQ_OK && bad < boot->size)
        exchanged = (aq_status_t)all[bad];
    free(all);
    return exchanged;
}
