// The variables that only conduit udp reads.
#ifndef AQ_UDP_PROFILE_H
#define AQ_UDP_PROFILE_H

#include "../../other/base/profile.h"

typedef enum aq_udp_setting_id { UDP_SET_SPAWNER, UDP_SET_COUNT } aq_udp_setting_id_t;

// In the order of the ids.
extern const aq_setting_t aq_udp_rows[UDP_SET_COUNT];

extern const aq_setting_group_t aq_udp_settings;
extern const aq_conduit_profile_t aq_udp_profile;

static inline const aq_setting_t *aq_udp_setting(aq_udp_setting_id_t id)
{
    return &aq_udp_rows[id];
}

#endif
