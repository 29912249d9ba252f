// SPDX-License-Identifier: BSD-3-Clause
// The variables that only conduit smp reads.
#pragma once

#include "../../other/base/settings/profile.h"

typedef enum aq_smp_setting_id { SMP_SET_SPAWNER, SMP_SET_COUNT } aq_smp_setting_id_t;

// In the order of the ids.
extern const aq_setting_t aq_smp_rows[SMP_SET_COUNT];

extern const aq_setting_group_t aq_smp_settings;
extern const aq_conduit_profile_t aq_smp_profile;

static inline const aq_setting_t *aq_smp_setting(aq_smp_setting_id_t id)
{
    return &aq_smp_rows[id];
}
