// SPDX-License-Identifier: BSD-3-Clause
// Frees a source descriptor, for am_prepare.c and at the end of a thread (thread.c).
#include "srcdesc.h"

#include <stdlib.h>

void aq_srcdesc_free(aq_srcdesc_t *descriptor)
{
    if (descriptor)
        free(descriptor->buffer);
    free(descriptor);
}
