// SPDX-License-Identifier: BSD-3-Clause
// Lists in variables: signals such as "SIGSEGV,fpe,11", ranks such as "0,2-4", ports such as
// "50000-50100".
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Returns the number of the first signal of *list and moves *list behind it and its comma. 0: end
// of the list; -1: not a signal.
int aq_settings_next_signal(const char **list);

// 1: the list contains the rank; 0: it does not; -1: it is not a list. "" and "*" contain all
// ranks.
int aq_settings_has_rank(const char *list, uint32_t rank);

typedef struct aq_ports {
    uint16_t low, high; // both ends included; both 0: not given
} aq_ports_t;

// Parses a port from 1 to 65535, or two with a dash between them, or "". False: the text is not
// legal.
bool aq_settings_read_ports(const char *text, aq_ports_t *out);
