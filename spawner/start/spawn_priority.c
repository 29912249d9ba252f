// SPDX-License-Identifier: BSD-3-Clause
// Parses GASNET_SPAWN_PRIORITY for spawn_module.c, which compares the priorities of all usable
// modules.
#include "spawn_priority.h"

#include <stdlib.h>
#include <string.h>

#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"

#define LEAST (-1)
#define MOST 1000

typedef struct entry {
    const char *name;
    int length; // of the name
    long priority;
} entry_t;

// Reads the entry at *list and moves *list behind it and its comma. False: it is not legal.
static bool next_entry(const char **list, entry_t *out)
{
    const char *equals = *list + strcspn(*list, "=,");
    char *end;
    *out = (entry_t){.name = *list, .length = (int)(equals - *list)};
    if (out->length == 0 || *equals != '=')
        return false;
    out->priority = strtol(equals + 1, &end, 10);
    *list = end + (*end == ',');
    return end > equals + 1 && strchr(" \t", equals[1]) == NULL && (*end == ',' || *end == '\0') &&
           out->priority >= LEAST && out->priority <= MOST;
}

bool aq_spawn_check_priorities(void)
{
    const char *text = aq_settings_text(AQ_SET_SPAWN_PRIORITY), *list = text;
    entry_t entry;
    while (*list != '\0')
        if (!next_entry(&list, &entry)) {
            aq_log_error("GASNET_SPAWN_PRIORITY: '%s' is not a list of spawners and priorities "
                         "from %d to %d, such as slurm=30,ssh=0; correct it",
                         text, LEAST, MOST);
            return false;
        }
    return true;
}

int aq_spawn_priority(const char *spawner, int own)
{
    const char *list = aq_settings_text(AQ_SET_SPAWN_PRIORITY);
    const size_t length = strlen(spawner);
    entry_t entry;
    while (*list != '\0' && next_entry(&list, &entry))
        if ((size_t)entry.length == length && strncmp(entry.name, spawner, length) == 0)
            return (int)entry.priority;
    return own;
}
