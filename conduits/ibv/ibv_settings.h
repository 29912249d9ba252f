// What the settings table cannot tell by itself: variables of older versions, and those that
// exclude each other.
#ifndef AQ_IBV_SETTINGS_H
#define AQ_IBV_SETTINGS_H

#include <stddef.h>

#include "../../other/status.h"

// Warns, in the first rank, of variables that are given and have no meaning any more.
// AQ_ERR_CONFIG: two contradict each other; why has the sentence, and nothing is logged.
aq_status_t aq_ibv_settings_check(char *why, size_t why_size);

#endif
