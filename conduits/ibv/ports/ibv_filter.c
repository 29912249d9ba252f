// SPDX-License-Identifier: BSD-3-Clause
// Parser and matcher of the text, for ibv_choice.c, which asks about each port; ibv_affinity.c and
// ibv_report.c check the text first. A fuzzer calls both.
#include "ibv_filter.h"

#include "../../../other/base/settings/settings.h"

#include <stdio.h>
#include <string.h>

#define PORT_MAX 255 // a port's number is a byte

// An entry of the filter: its device, and where its list of ports begins.
typedef struct entry {
    const char *name;
    size_t length;
    const char *ports; // behind the colon; NULL: no ports are listed
} entry_t;

// Printable ASCII except the separators.
static bool is_name(char c)
{
    return c > ' ' && c < 0x7f && !strchr("+:,", c);
}

// Reads a port at *at and moves *at behind it; 0: there is no valid port.
static unsigned read_port(const char **at)
{
    unsigned port = 0;
    const char *p = *at;
    for (; *p >= '0' && *p <= '9' && port <= PORT_MAX; p++)
        port = port * 10 + (unsigned)(*p - '0');
    if (port == 0 || port > PORT_MAX)
        return 0;
    *at = p;
    return port;
}

// Reads an entry at *at and moves *at behind it. Returns NULL if the entry is valid, with *at at a
// '+' or at the end; otherwise what is expected at *at.
static const char *read_entry(const char **at, entry_t *entry)
{
    *entry = (entry_t){.name = *at};
    while (is_name(**at))
        (*at)++;
    entry->length = (size_t)(*at - entry->name);
    if (entry->length == 0)
        return "the name of a device";
    if (**at != ':')
        return **at == '+' || **at == '\0' ? NULL : "'+', ':' or the end";
    entry->ports = *at + 1;
    do {
        ++*at;
        if (read_port(at) == 0)
            return "the number of a port, from 1 to 255";
    } while (**at == ',');
    return **at == '+' || **at == '\0' ? NULL : "a digit, ',', '+' or the end";
}

bool aq_ibv_filter_check(const char *text, char *err, size_t err_size)
{
    const char *at = text;
    for (entry_t entry; *text != '\0';) {
        const char *wanted = read_entry(&at, &entry);
        if (wanted != NULL) {
            char shown[80];
            aq_settings_quote(text, shown, sizeof shown);
            snprintf(
                err, err_size,
                "GASNET_IBV_PORTS: '%s' is not a filter of ports: %s should stand at character "
                "%zu; unset it or name devices with '+' between, each with the numbers of its "
                "ports behind a ':' if not all will do, for example mlx5_0+mlx5_1:1,2",
                shown, wanted, (size_t)(at - text) + 1);
            return false;
        }
        if (*at == '\0')
            break;
        at++; // '+'
    }
    return true;
}

static aq_ibv_filter_verdict_t match_entry(const entry_t *entry, const char *device, unsigned port)
{
    if (strlen(device) != entry->length || memcmp(device, entry->name, entry->length) != 0)
        return AQ_IBV_FILTER_OTHER_DEVICE;
    if (entry->ports == NULL)
        return AQ_IBV_FILTER_FIRST_ACTIVE;
    for (const char *at = entry->ports;; at++) { // ','
        if (read_port(&at) == port)
            return AQ_IBV_FILTER_NAMED;
        if (*at != ',')
            return AQ_IBV_FILTER_OTHER_PORT;
    }
}

aq_ibv_filter_verdict_t aq_ibv_filter_match(const char *text, const char *device, unsigned port)
{
    aq_ibv_filter_verdict_t best =
        *text == '\0' ? AQ_IBV_FILTER_FIRST_ACTIVE : AQ_IBV_FILTER_OTHER_DEVICE;
    entry_t entry;
    for (const char *at = text; *text != '\0' && read_entry(&at, &entry) == NULL; at++) { // '+'
        aq_ibv_filter_verdict_t verdict = match_entry(&entry, device, port);
        if (verdict > best)
            best = verdict;
        if (*at == '\0')
            break;
    }
    return best;
}
