// SPDX-License-Identifier: BSD-3-Clause
// The note in the environment that records the user's values. The launcher writes the note
// (gasnetrun, start_mpi.c); each rank reads and removes it in boot_start.c.
#include "launch_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The note has NAME=VALUE; for each variable that the user has set, and NAME; for each other one.
// Semicolons within a value become commas, which loses nothing: no legal value has one.
#define NOTE "GASNET_SPAWN_BEFORE"

static bool is_noted(const char *note, const char *name)
{
    const size_t length = strlen(name);
    while (*note != '\0') {
        if (strncmp(note, name, length) == 0 && (note[length] == ';' || note[length] == '='))
            return true;
        note += strcspn(note, ";");
        note += *note == ';';
    }
    return false;
}

static bool note_variable(const char *name)
{
    const char *note = getenv(NOTE), *value = getenv(name);
    char *text;
    if (note == NULL)
        note = "";
    if (is_noted(note, name))
        return true;
    if (asprintf(&text, "%s%s%s%s;", note, name, value != NULL ? "=" : "",
                 value != NULL ? value : "") < 0)
        return false;
    for (char *at = text + strlen(note); at[0] != '\0' && at[1] != '\0'; at++)
        if (*at == ';')
            *at = ',';
    const bool noted = setenv(NOTE, text, 1) == 0;
    free(text);
    return noted;
}

bool aq_launch_export(const char *name, const char *value)
{
    return note_variable(name) && setenv(name, value, 1) == 0;
}

static void put_back(char *entry)
{
    char *value = strchr(entry, '=');
    if (value == NULL) {
        (void)unsetenv(entry);
        return;
    }
    *value = '\0';
    (void)setenv(entry, value + 1, 1);
}

void aq_launch_restore(void)
{
    const char *note = getenv(NOTE);
    char *text = note != NULL ? strdup(note) : NULL, *rest = text, *entry;
    while (rest != NULL && (entry = strsep(&rest, ";")) != NULL)
        if (*entry != '\0')
            put_back(entry);
    (void)unsetenv(NOTE);
    free(text);
}
