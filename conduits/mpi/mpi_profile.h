// SPDX-License-Identifier: BSD-3-Clause
// The variables that only conduit mpi reads.
#pragma once

#include "../../other/base/settings/profile.h"

typedef enum aq_mpi_setting_id {
    MPI_SET_SPAWNER,
    MPI_SET_RMA,
    MPI_SET_SHARED_MAXSIZE,
    MPI_SET_NETWORKDEPTH,
    MPI_SET_AMMPI_CREDITS_PP,
    MPI_SET_AMMPI_CREDITS_SLACK,
    MPI_SET_COUNT
} aq_mpi_setting_id_t;

// In the order of the ids.
extern const aq_setting_t aq_mpi_rows[MPI_SET_COUNT];

extern const aq_setting_group_t aq_mpi_settings;
extern const aq_conduit_profile_t aq_mpi_profile;

static inline const aq_setting_t *aq_mpi_setting(aq_mpi_setting_id_t id)
{
    return &aq_mpi_rows[id];
}
