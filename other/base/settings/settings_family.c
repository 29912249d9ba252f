// SPDX-License-Identifier: BSD-3-Clause
// Searches the environment itself, since a family has no rows in the table.
#include "settings_family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *aq_setting_member(const char *family, const char *suffix)
{
    char *name;
    if (asprintf(&name, "%s_%s", family, suffix) < 0)
        return NULL;
    const char *text = getenv(name);
    free(name);
    return text && *text ? text : NULL;
}

bool aq_setting_is_member(const char *name, const char *family)
{
    const size_t length = strlen(family);
    if (strncmp(name, family, length) != 0 || name[length] != '_')
        return false;
    const char *at = name + length;
    while (*at == '_' && at[1] >= '0' && at[1] <= '9')
        at += 1 + strspn(at + 1, "0123456789");
    return *at == '\0' || *at == '=';
}

bool aq_setting_has_members(const char *family)
{
    for (char **at = environ; at && *at; at++) {
        const char *value = strchr(*at, '=');
        if (value && value[1] && aq_setting_is_member(*at, family))
            return true;
    }
    return false;
}
