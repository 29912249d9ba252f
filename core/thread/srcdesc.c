// SPDX-License-Identifier: BSD-3-Clause
#include "srcdesc.h"

#include <stdlib.h>

void aq_srcdesc_free(aq_srcdesc_t *descriptor)
{
    if (descriptor)
        free(descriptor->buffer);
    free(descriptor);
}
