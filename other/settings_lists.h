// Lists in variables: signals such as "SIGSEGV,fpe,11", ranks such as "0,2-4".
#ifndef AQ_SETTINGS_LISTS_H
#define AQ_SETTINGS_LISTS_H

#include <stdint.h>

// The number of the signal that *list begins with; *list then points behind it and its comma. 0 at
// the end, -1 when no signal stands there.
int aq_settings_next_signal(const char **list);

// 1 when the list has the rank, 0 when it has not, -1 when it is no list. "" and "*" have all.
int aq_settings_has_rank(const char *list, uint32_t rank);

#endif
