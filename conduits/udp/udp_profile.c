#include "udp_profile.h"

// One row a variable. Clients and the manual quote the help: keep it true when behaviour changes.
const aq_setting_t aq_udp_rows[UDP_SET_COUNT] = {
    [UDP_SET_SPAWNER] = {"GASNET_UDP_SPAWNER", AQ_TYPE_CHOICE, "auto", 0, 0,
                         "auto fork ssh custom mpi pmi",
                         "As GASNET_SPAWNER, for conduit udp only, where it takes precedence."},
};

const aq_setting_group_t aq_udp_settings = {"conduit udp", aq_udp_rows, UDP_SET_COUNT};

const aq_conduit_profile_t aq_udp_profile = {
    .name = "udp",
    .settings = &aq_udp_settings,
    .spawner = &aq_udp_rows[UDP_SET_SPAWNER],
    .spawners = "fork ssh custom mpi pmi",
    .spawn_letters = true,
    .rank_argument = true,
};
