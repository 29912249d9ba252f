// SPDX-License-Identifier: BSD-3-Clause
// The variables that only conduit smp reads.
#pragma once

#include "../../other/base/settings/profile.h"

extern const aq_setting_group_t aq_smp_settings;
extern const aq_conduit_profile_t aq_smp_profile;
