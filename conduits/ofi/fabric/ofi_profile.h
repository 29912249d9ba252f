// SPDX-License-Identifier: BSD-3-Clause
// The variables that only conduit ofi reads.
#pragma once

#include "../../../other/base/settings/profile.h"

typedef enum aq_ofi_setting_id {
    OFI_SET_SPAWNER,
    OFI_SET_PROVIDER,
    OFI_SET_DOMAIN,
    OFI_SET_RMA,
    OFI_SET_ATOMICS,
    OFI_SET_CREDITS_PP,
    OFI_SET_COALESCE,
    OFI_SET_WAIT,
    OFI_SET_PATIENCE,
    OFI_SET_COUNT
} aq_ofi_setting_id_t;

// In the order of the ids.
extern const aq_setting_t aq_ofi_rows[OFI_SET_COUNT];

extern const aq_setting_group_t aq_ofi_settings;
extern const aq_conduit_profile_t aq_ofi_profile;

static inline const aq_setting_t *aq_ofi_setting(aq_ofi_setting_id_t id)
{
    return &aq_ofi_rows[id];
}
