// SPDX-License-Identifier: BSD-3-Clause
// Collective steps across hosts: state and payloads.
#include "gather.h"

#include <stdlib.h>
#include <string.h>

static size_t row_bytes(const aq_step_t *step)
{
    return 4 + (size_t)step->part;
}

void aq_write_gathered(aq_bytes_t *bytes, aq_message_t type, const aq_gathered_t *gathered)
{
    size_t begin = aq_frame_begin(bytes, type);
    aq_put_u8(bytes, gathered->step.kind);
    aq_put_u32(bytes, gathered->step.part);
    aq_put_u32(bytes, gathered->step.root);
    aq_put_raw(bytes, gathered->data, gathered->length);
    aq_frame_end(bytes, begin);
}

// Whether the length fits the step.
static bool is_legal(aq_message_t type, uint32_t size, const aq_gathered_t *gathered)
{
    const aq_step_t *step = &gathered->step;
    if (step->part > AQ_FRAME_MAX / 2)
        return false;
    if (step->kind == AQ_STEP_BARRIER || step->kind == AQ_STEP_GROW)
        return gathered->length == 0;
    if (step->kind == AQ_STEP_BROADCAST)
        return step->root < size &&
               (gathered->length == step->part || (type == AQ_MSG_GATHER && gathered->length == 0));
    if (step->kind != AQ_STEP_EXCHANGE || step->part == 0)
        return false;
    return type == AQ_MSG_GATHER ? gathered->length % row_bytes(step) == 0
                                 : gathered->length == (size_t)size * step->part;
}

bool aq_read_gathered(aq_view_t view, aq_message_t type, uint32_t size, aq_gathered_t *out)
{
    out->step.kind = aq_get_u8(&view);
    out->step.part = aq_get_u32(&view);
    out->step.root = aq_get_u32(&view);
    out->length = view.left;
    out->data = aq_get_raw(&view, view.left);
    return aq_view_done(&view) && is_legal(type, size, out);
}

void aq_gather_row(aq_bytes_t *rows, uint32_t rank, const uint8_t *data, uint32_t part)
{
    aq_put_u32(rows, rank);
    aq_put_raw(rows, data, part);
}

static bool same_step(const aq_step_t *a, const aq_step_t *b)
{
    return a->kind == b->kind && a->part == b->part && a->root == b->root;
}

bool aq_gather_add(aq_gather_t *gather, const aq_gathered_t *part)
{
    if (gather->parts >= gather->expected ||
        (gather->parts > 0 && !same_step(&gather->step, &part->step)))
        return false;
    gather->parts++;
    gather->step = part->step;
    if (part->step.kind == AQ_STEP_EXCHANGE)
        gather->rows += (uint32_t)(part->length / row_bytes(&part->step));
    else if (part->length > 0 && gather->data.used > 0)
        return false; // there are two roots
    aq_put_raw(&gather->data, part->data, part->length);
    return !gather->data.failed && gather->rows <= gather->size;
}

bool aq_gather_complete(const aq_gather_t *gather)
{
    return gather->parts == gather->expected;
}

aq_gathered_t aq_gather_result(const aq_gather_t *gather)
{
    return (aq_gathered_t){gather->step, gather->data.data, gather->data.used};
}

// Rows arrive in any order, each once.
static bool sort_rows(const aq_gather_t *gather, aq_bytes_t *out)
{
    aq_view_t view = {.at = gather->data.data, .left = gather->data.used};
    uint32_t part = gather->step.part;
    uint8_t *seen = calloc(gather->size, 1), *all = calloc(gather->size, part);
    const uint32_t present = gather->size - gather->absent;
    bool ok = seen != NULL && all != NULL && gather->rows == present;
    for (uint32_t i = 0; ok && i < gather->rows; i++) {
        uint32_t rank = aq_get_u32(&view);
        const uint8_t *row = aq_get_raw(&view, part);
        ok = row != NULL && rank < present && !seen[rank];
        if (ok) {
            seen[rank] = 1;
            memcpy(all + (size_t)rank * part, row, part);
        }
    }
    if (ok)
        aq_put_raw(out, all, (size_t)gather->size * part);
    free(seen);
    free(all);
    return ok && !out->failed;
}

bool aq_gather_union(const aq_gather_t *gather, aq_bytes_t *out)
{
    if (gather->step.kind == AQ_STEP_EXCHANGE)
        return sort_rows(gather, out);
    if (gather->step.kind == AQ_STEP_GROW)
        return gather->step.part <= gather->absent;
    if (gather->step.kind == AQ_STEP_BROADCAST && gather->data.used != gather->step.part)
        return false;
    aq_put_raw(out, gather->data.data, gather->data.used);
    return !out->failed;
}

void aq_gather_reset(aq_gather_t *gather)
{
    if (gather->step.kind == AQ_STEP_GROW && gather->step.part <= gather->absent)
        gather->absent -= gather->step.part;
    gather->parts = gather->rows = 0;
    gather->data.used = 0;
}
