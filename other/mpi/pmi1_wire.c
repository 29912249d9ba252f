// SPDX-License-Identifier: BSD-3-Clause
// The parser of answers, without input or output, so that a fuzzer can call it; pmi1_client.c has
// the socket.
#include "pmi1_wire.h"

#include <stdlib.h>
#include <string.h>

static bool is_printable(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (line[i] < ' ' || line[i] > '~')
            return false;
    return line[length] == '\0';
}

// Returns the value of the first such key from here on, and its length; NULL: there is none.
static const char *find_value(const char *line, const char *key, size_t *length)
{
    const size_t key_length = strlen(key);
    while (*line) {
        line += strspn(line, " ");
        const size_t word = strcspn(line, " ");
        if (word > key_length && line[key_length] == '=' && memcmp(line, key, key_length) == 0) {
            *length = word - key_length - 1;
            return line + key_length + 1;
        }
        line += word;
    }
    return NULL;
}

bool aq_pmi1_text(const char *line, const char *key, char *value, size_t size)
{
    size_t length, other;
    const char *found = find_value(line, key, &length);
    if (!found || length == 0 || length >= size || find_value(found + length, key, &other))
        return false;
    memcpy(value, found, length);
    value[length] = '\0';
    return true;
}

bool aq_pmi1_answers(const char *line, size_t length, const char *name)
{
    char command[32];
    return length < AQ_PMI1_ANSWER_BYTES && is_printable(line, length) &&
           strncmp(line, "cmd=", 4) == 0 && aq_pmi1_text(line, "cmd", command, sizeof command) &&
           strcmp(command, name) == 0;
}

bool aq_pmi1_number(const char *line, const char *key, int least, int most, int *value)
{
    char text[16], *end;
    if (!aq_pmi1_text(line, key, text, sizeof text) || !strchr("-0123456789", text[0]))
        return false;
    const long number = strtol(text, &end, 10);
    if (*end || end == text || number < least || number > most)
        return false;
    *value = (int)number;
    return true;
}
