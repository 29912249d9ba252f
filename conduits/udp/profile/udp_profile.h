// SPDX-License-Identifier: BSD-3-Clause
// The variables that only conduit udp reads.
#pragma once

#include "../../../other/base/settings/profile.h"

typedef enum aq_udp_setting_id {
    UDP_SET_SPAWNER,
    UDP_SET_WORKERIP,
    UDP_SET_PORTS,
    UDP_SET_MTU,
    UDP_SET_RCVBUF,
    UDP_SET_SNDBUF,
    UDP_SET_RECEIVE_MEMORY,
    UDP_SET_AUTH,
    UDP_SET_CHECKSUM,
    UDP_SET_PEER_TIMEOUT,
    UDP_SET_SILENCE_WARN,
    UDP_SET_FAULT_DROP,
    UDP_SET_FAULT_DUPLICATE,
    UDP_SET_FAULT_REORDER,
    UDP_SET_FAULT_DELAY,
    UDP_SET_FAULT_DELAY_MS,
    UDP_SET_FAULT_TRUNCATE,
    UDP_SET_FAULT_FLIP,
    UDP_SET_FAULT_FORGE,
    UDP_SET_FAULT_SEED,
    UDP_SET_COUNT
} aq_udp_setting_id_t;

// In the order of the ids.
extern const aq_setting_t aq_udp_rows[UDP_SET_COUNT];

extern const aq_setting_group_t aq_udp_settings;
extern const aq_conduit_profile_t aq_udp_profile;

static inline const aq_setting_t *aq_udp_setting(aq_udp_setting_id_t id)
{
    return &aq_udp_rows[id];
}
