#include "layers.h"

#include <stddef.h>

static aq_layer_t *first;

void aq_layers_add(aq_layer_t *layer)
{
    layer->next = first;
    first = layer;
}

void aq_layers_start(void)
{
    for (aq_layer_t *layer = first; layer; layer = layer->next)
        layer->start();
}
