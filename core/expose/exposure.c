// SPDX-License-Identifier: BSD-3-Clause
// Exposes memory to a job rank and reads exposed memory, by the conduit between both.
// messages/two_sided transfers long messages with it.
#include "exposure.h"

#include "../am/am_path.h"
#include "../ground/fatal.h"

bool aq_exposure_possible(uint32_t jobrank)
{
    return aq_path_to(jobrank).conduit->ops->memory.expose;
}

bool aq_exposure_begin(uint32_t jobrank, const void *memory, size_t nbytes, aq_exposure_t *out)
{
    aq_conduit_t *conduit = aq_path_to(jobrank).conduit;
    return conduit->ops->memory.expose &&
           conduit->ops->memory.expose(conduit, memory, nbytes, out) == AQ_OK;
}

void aq_exposure_end(uint32_t jobrank, const aq_exposure_t *exposure)
{
    aq_conduit_t *conduit = aq_path_to(jobrank).conduit;
    conduit->ops->memory.conceal(conduit, exposure);
}

void aq_exposure_read(uint32_t jobrank, aq_rma_t *get, uint64_t key)
{
    const aq_path_t path = aq_path_to(jobrank);
    aq_status_t status = AQ_OK;
    while (status == AQ_OK && get->nbytes)
        status = path.conduit->ops->rma.get_exposed(path.conduit, path.link, get, key);
    if (status != AQ_OK && status != AQ_AGAIN)
        aq_fatal("reading the memory of rank %u failed: %s", jobrank, aq_status_name(status));
}
