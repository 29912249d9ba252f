// SPDX-License-Identifier: BSD-3-Clause
// The parsers of lists in settings, used twice: by settings.c to check a value, and by its reader
// to take the value apart.
#include "settings_lists.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// The number of a signal in any of its spellings: SIGSEGV, segv or 11; -1: there is none.
static int signal_number(const char *text, size_t length)
{
    if (length > 3 && strncasecmp(text, "SIG", 3) == 0) {
        text += 3;
        length -= 3;
    }
    for (int number = 1; number < NSIG; number++) {
        const char *name = sigabbrev_np(number);
        char digits[12];
        snprintf(digits, sizeof digits, "%d", number);
        if ((name && strlen(name) == length && strncasecmp(name, text, length) == 0) ||
            (strlen(digits) == length && strncmp(digits, text, length) == 0))
            return number;
    }
    return -1;
}

int aq_settings_next_signal(const char **list)
{
    if (!**list)
        return 0;
    size_t length = strcspn(*list, ",");
    int number = signal_number(*list, length);
    *list += length + ((*list)[length] == ',');
    return number;
}

int aq_settings_has_rank(const char *list, uint32_t rank)
{
    int found = 0;
    if (!*list || strcmp(list, "*") == 0)
        return 1;
    for (const char *p = list;;) {
        char *end;
        if (!isdigit((unsigned char)*p))
            return -1;
        unsigned long low = strtoul(p, &end, 10), high = low;
        if (*end == '-') {
            if (!isdigit((unsigned char)end[1]))
                return -1;
            high = strtoul(end + 1, &end, 10);
        }
        found |= rank >= low && rank <= high;
        if (*end == '\0')
            return found;
        if (*end != ',')
            return -1;
        p = end + 1;
    }
}

// Parses a port from the first `length` bytes of text; 0: they are not a port.
static unsigned long read_port(const char *text, size_t length)
{
    unsigned long port = 0;
    if (length > 5 || strspn(text, "0123456789") < length)
        return 0;
    for (size_t i = 0; i < length; i++)
        port = port * 10 + (unsigned long)(text[i] - '0');
    return port <= UINT16_MAX ? port : 0;
}

bool aq_settings_read_ports(const char *text, aq_ports_t *out)
{
    if (!*text) {
        *out = (aq_ports_t){0};
        return true;
    }
    size_t length = strcspn(text, "-");
    unsigned long low = read_port(text, length), high = low;
    if (text[length] == '-')
        high = read_port(text + length + 1, strlen(text + length + 1));
    if (!low || high < low)
        return false;
    *out = (aq_ports_t){(uint16_t)low, (uint16_t)high};
    return true;
}
