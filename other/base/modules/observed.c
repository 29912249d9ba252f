// SPDX-License-Identifier: BSD-3-Clause
// Holds the observer that core/publish/observer.c sets. The conduits of the library call this file;
// those that are modules call its counterpart in module_host.c.
#include "observed.h"

#include <stdatomic.h>

static _Atomic(aq_observer_t *) observed_by;

void aq_observed_by(aq_observer_t *observer)
{
    atomic_store_explicit(&observed_by, observer, memory_order_release);
}

void aq_observed(aq_observed_t what, uint32_t peer, uint64_t bytes)
{
    aq_observer_t *observer = atomic_load_explicit(&observed_by, memory_order_acquire);
    if (observer)
        observer(what, peer, bytes);
}
