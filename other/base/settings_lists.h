// Lists in variables: signals such as "SIGSEGV,fpe,11", ranks such as "0,2-4", ports such as
// "50000-50100".
#ifndef AQ_SETTINGS_LISTS_H
#define AQ_SETTINGS_LISTS_H

#include <stdbool.h>
#include <stdint.h>

// The number of the signal that *list begins with; *list then points behind it and its comma. 0 at
// the end, -1 when no signal stands there.
int aq_settings_next_signal(const char **list);

// 1 when the list has the rank, 0 when it has not, -1 when it is no list. "" and "*" have all.
int aq_settings_has_rank(const char *list, uint32_t rank);

typedef struct aq_ports {
    uint16_t low, high; // both ends included; both 0: not given
} aq_ports_t;

// A port from 1 to 65535, or two with a dash between, or "".
bool aq_settings_read_ports(const char *text, aq_ports_t *out);

#endif
