#include "ibv_profile.h"

// One row a variable. Clients and the manual quote the help: keep it true when behaviour changes.
const aq_setting_t aq_ibv_rows[IBV_SET_COUNT] = {
    [IBV_SET_SPAWNER] = {"GASNET_IBV_SPAWNER", AQ_TYPE_CHOICE, "auto", 0, 0,
                         "auto fork ssh custom mpi pmi",
                         "As GASNET_SPAWNER, for conduit ibv only, where it takes precedence."},
};

const aq_setting_group_t aq_ibv_settings = {"conduit ibv", aq_ibv_rows, IBV_SET_COUNT};

const aq_conduit_profile_t aq_ibv_profile = {
    .name = "ibv",
    .settings = &aq_ibv_settings,
    .spawner = &aq_ibv_rows[IBV_SET_SPAWNER],
    .spawners = "fork ssh custom mpi pmi",
};
