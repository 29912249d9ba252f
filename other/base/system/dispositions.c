// SPDX-License-Identifier: BSD-3-Clause
// Saves and restores every signal with sigaction. modules.c does so around dlopen, and conduit ofi
// around the start of libfabric.
#include "dispositions.h"

#include <stddef.h>

void aq_dispositions_keep(aq_dispositions_t *kept)
{
    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &kept->of[number]) != 0)
            kept->of[number].sa_handler = SIG_ERR; // there is no such signal
}

void aq_dispositions_restore(const aq_dispositions_t *kept)
{
    for (int number = 1; number < NSIG; number++) {
        struct sigaction now;
        const struct sigaction *before = &kept->of[number];
        if (before->sa_handler != SIG_ERR && sigaction(number, NULL, &now) == 0 &&
            now.sa_handler != before->sa_handler)
            (void)sigaction(number, before, NULL);
    }
}
