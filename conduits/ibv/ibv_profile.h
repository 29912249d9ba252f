// The variables that only conduit ibv reads.
#ifndef AQ_IBV_PROFILE_H
#define AQ_IBV_PROFILE_H

#include "../../other/base/profile.h"

typedef enum aq_ibv_setting_id { IBV_SET_SPAWNER, IBV_SET_COUNT } aq_ibv_setting_id_t;

// In the order of the ids.
extern const aq_setting_t aq_ibv_rows[IBV_SET_COUNT];

extern const aq_setting_group_t aq_ibv_settings;
extern const aq_conduit_profile_t aq_ibv_profile;

static inline const aq_setting_t *aq_ibv_setting(aq_ibv_setting_id_t id)
{
    return &aq_ibv_rows[id];
}

#endif
