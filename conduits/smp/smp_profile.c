// SPDX-License-Identifier: BSD-3-Clause
// The settings of conduit smp, and how its jobs start; other/base/settings/profile.c lists it.
#include "smp_profile.h"

// Clients and the manual quote the help: keep it true when behaviour changes.
static const aq_setting_t rows[] = {
    {"GASNET_SMP_SPAWNER", AQ_TYPE_CHOICE, AQ_SMP_SPAWNER, 0, 0, AQ_SPAWNER_CHOICES,
     "As GASNET_SPAWNER, for conduit smp only, where it takes precedence. configure "
     "--with-smp-spawner sets the default, which launchers follow unless GASNET_SPAWNER is set."},
};

const aq_setting_group_t aq_smp_settings = {"conduit smp", rows, 1};

const aq_conduit_profile_t aq_smp_profile = {
    .name = "smp",
    .settings = &aq_smp_settings,
    .spawner = &rows[0],
    .one_host = true,
    .one_layout = true,
    .spawners = AQ_SPAWNERS,
};
