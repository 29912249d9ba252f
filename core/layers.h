// What the layers above the core add to a starting job: their handlers and tasks. The core calls
// down only; a layer above puts itself into this list when the library is loaded, so that the core
// knows none by name.
#ifndef AQ_LAYERS_H
#define AQ_LAYERS_H

typedef struct aq_layer {
    void (*start)(void); // once, at init, before the first message can arrive
    struct aq_layer *next;
} aq_layer_t;

void aq_layers_add(aq_layer_t *layer);
void aq_layers_start(void);

#endif
