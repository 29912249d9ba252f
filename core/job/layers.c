// SPDX-License-Identifier: BSD-3-Clause
// Starts the layers above the core, which client.c passes as a table.
#include "layers.h"

void aq_layers_start(const aq_layer_t *table)
{
    for (const aq_layer_t *layer = table; layer->start; layer++)
        layer->start();
}
