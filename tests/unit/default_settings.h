// SPDX-License-Identifier: BSD-3-Clause
// Resets the settings to their defaults, for tests that set variables themselves.
#ifndef DEFAULT_SETTINGS_H
#define DEFAULT_SETTINGS_H

#include <stdlib.h>

#include "../../other/base/settings/settings.h"

// Removes every variable of the settings table from the environment, and loads the settings again.
// Returns 0, or -1 on a fault, as a set-up function of cmocka does.
static inline int default_settings(void)
{
    char err[512];
    for (size_t i = 0; i < aq_settings_count(); i++)
        unsetenv(aq_settings_at(i)->name);
    return aq_settings_load(err, sizeof err) == AQ_OK ? 0 : -1;
}

#endif
