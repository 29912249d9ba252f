// What the settings table cannot tell by itself: variables of older versions, those that exclude
// each other, and those that ask for more than a device has.
#ifndef AQ_IBV_SETTINGS_H
#define AQ_IBV_SETTINGS_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#include "../../other/base/status.h"

// Warns, in the first rank, of variables that are given and have no meaning any more.
// AQ_ERR_CONFIG: two contradict each other; why has the sentence, and nothing is logged.
aq_status_t aq_ibv_settings_check(char *why, size_t why_size);

// AQ_ERR_CONFIG: a variable that is given asks for more than this device has, for so many peers
// (1 or more); why has the sentence, and nothing is logged.
aq_status_t aq_ibv_settings_fit(const char *device, const struct ibv_device_attr *can,
                                uint64_t peers, char *why, size_t why_size);

#endif
