// Settings as they are without any variable of the user, for tests that set some.
#ifndef DEFAULT_SETTINGS_H
#define DEFAULT_SETTINGS_H

#include <stdlib.h>

#include "../../other/base/settings.h"

// Removes all variables of the table from the environment, and reads it again. 0, or -1 on a fault:
// what a set-up function returns.
static inline int default_settings(void)
{
    char err[512];
    for (size_t i = 0; i < aq_settings_count(); i++)
        unsetenv(aq_settings_at(i)->name);
    return aq_settings_load(err, sizeof err) == AQ_OK ? 0 : -1;
}

#endif
