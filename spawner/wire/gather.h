// SPDX-License-Identifier: BSD-3-Clause
// A collective step across hosts, at one process of the tree. The contributions of the ranks of
// this host and of the subtrees below are merged and travel up in one frame; the result travels
// down in one frame. No input or output here.
//
//   barrier:   frames without data
//   exchange:  up: rows (rank, part bytes) of the subtree; down: size * part bytes in rank order
//   broadcast: up: part bytes, from the subtree of the root only; down: the same bytes to all
//   grow:      frames without data; from then on `part` ranks more are there
//
// In a tree of P processes a step takes 2 (P - 1) frames, none longer than the data it must
// deliver.
#pragma once

#include "../boot/boot_page.h"
#include "messages.h"

typedef struct aq_step {
    uint32_t kind; // aq_step_kind_t
    uint32_t part; // bytes of a row, or of the broadcast; ranks that join
    uint32_t root; // of a broadcast
} aq_step_t;

// Always true: parts <= expected; data holds the rows of `rows` ranks.
typedef struct aq_gather {
    uint32_t size;     // ranks of the job
    uint32_t absent;   // the last ranks, which have not been started yet; for the root only
    uint32_t expected; // contributions to a step: subtrees, and this host if it has ranks
    uint32_t parts;    // contributions so far
    aq_step_t step;    // legal when parts > 0
    uint32_t rows;
    aq_bytes_t data; // rows, or the broadcast
} aq_gather_t;

typedef struct aq_gathered {
    aq_step_t step;
    const uint8_t *data;
    size_t length;
} aq_gathered_t;

// Write and read GATHER and SPREAD. The reader checks the length against the step.
void aq_write_gathered(aq_bytes_t *bytes, aq_message_t type, const aq_gathered_t *gathered);
bool aq_read_gathered(aq_view_t view, aq_message_t type, uint32_t size, aq_gathered_t *out);

// Appends a row to the data of a contribution.
void aq_gather_row(aq_bytes_t *rows, uint32_t rank, const uint8_t *data, uint32_t part);

// Adds a contribution. False: it belongs to another step (the ranks disagree on the collective
// operation), or is one too many.
bool aq_gather_add(aq_gather_t *gather, const aq_gathered_t *part);
bool aq_gather_complete(const aq_gather_t *gather);
// What this process sends up the tree.
aq_gathered_t aq_gather_result(const aq_gather_t *gather);
// Writes what the root of the tree sends down to out (without a frame), with zeros for ranks that
// are absent. False: rows are missing or duplicate, more ranks are to join than are absent, or
// there is no memory.
bool aq_gather_union(const aq_gather_t *gather, aq_bytes_t *out);
// Prepares for the next step. Ranks that join are not absent any more.
void aq_gather_reset(aq_gather_t *gather);
