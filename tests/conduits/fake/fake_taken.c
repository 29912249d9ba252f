// SPDX-License-Identifier: BSD-3-Clause
// A module that brings a setting whose name the library has already: the library refuses the
// module, with a sentence that names both owners.
#include "../../../core/conduit.h"
#include "../../../other/base/settings/profile.h"

__attribute__((visibility("default"))) extern const aq_conduit_ops_t aq_conduit_module;

static const aq_setting_t rows[] = {
    {"GASNET_SPIN_US", AQ_TYPE_INT, "1", 0, 9, NULL, "Not what the library means by that name."},
};
static const aq_setting_group_t settings = {"conduit taken", rows, 1};
static const aq_conduit_profile_t profile = {
    .name = "taken", .settings = &settings, .spawners = "fork"};

const aq_conduit_ops_t aq_conduit_module = {
    .name = "taken", .abi = AQ_CONDUIT_ABI, .profile = &profile};
