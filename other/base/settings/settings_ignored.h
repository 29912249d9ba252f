// SPDX-License-Identifier: BSD-3-Clause
// Variables that the manuals of GASNet and GASNet-EX describe and that have no effect here.
//
// Scripts of users and of batch systems set them. The runtime accepts them and says once why they
// have no effect, so that users do not search for one. A variable that gets an effect moves from
// here to the settings table (settings.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct aq_setting_ignored {
    const char *names; // separated by blanks; a name that ends with * stands for all that begin so
    const char *why;   // the reason, and what the user can do, to follow "has no effect: "
    bool quiet;        // other programs read these variables, so a process does not mention them
} aq_setting_ignored_t;

// All of them; index is below aq_settings_ignored_count().
size_t aq_settings_ignored_count(void);
const aq_setting_ignored_t *aq_settings_ignored_at(size_t index);

// The entry of a variable; NULL: it is not among them.
const aq_setting_ignored_t *aq_settings_ignored_find(const char *name);
