// Put and get to peers whose memory is not mapped here: by the conduit, or over active messages.
#ifndef AQ_RMA_H
#define AQ_RMA_H

#include <stdbool.h>

#include "../core/gasnetex_core.h"

typedef struct aq_rma {
    uint32_t rank;     // job rank
    gex_EP_Index_t ep; // whose segment it is
    gex_Flags_t flags;
    void *remote; // in the peer's segment
    void *local;  // not written by a put
    size_t nbytes;
    bool is_get;
    bool stable; // the source of a put does not change before it is complete
    bool waits;  // the caller waits for it, and so polls
} aq_rma_t;

// A way to move the bytes. Each part of the operation is counted in `part` (event.h) from its start
// to its completion. Blocks for resources, polling, unless flags has IMMEDIATE: then returns
// non-zero when nothing was done.
typedef struct aq_rma_method {
    int (*put)(const aq_rma_t *rma, gex_Event_t part);
    int (*get)(const aq_rma_t *rma, gex_Event_t part);
} aq_rma_method_t;

extern const aq_rma_method_t aq_rma_native;  // rma_native.c: by the conduit's put and get
extern const aq_rma_method_t aq_rma_over_am; // rma_am.c: the default

// Starts an operation that `part` counts, the best way there is; returns non-zero when IMMEDIATE
// and nothing was done.
int aq_rma_start(const aq_rma_t *rma, gex_Event_t part);

#endif
