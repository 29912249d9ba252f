// SPDX-License-Identifier: BSD-3-Clause
// The layers above the core, which add handlers and tasks to a starting job.
//
// The core calls no layer by name. The library has one table of layers
// (extended/rma/layer_table.c), whose references also make a linker extract each layer from an
// archive.
#pragma once

#include <stdint.h>

typedef struct aq_layer {
    const char *name;
    void (*start)(void); // once, at init, before the first message can arrive; NULL ends the table
    uint8_t first_handler, last_handler; // indices that belong to the layer; 0: none
} aq_layer_t;

// Defined above the core.
extern const aq_layer_t aq_layer_table[];

// Starts each layer of a table, in its order.
void aq_layers_start(const aq_layer_t *table);
