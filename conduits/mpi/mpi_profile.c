// SPDX-License-Identifier: BSD-3-Clause
// The settings of conduit mpi, and how its jobs start; other/base/settings/profile.c lists it.
#include "mpi_profile.h"

// One row a variable. Clients and the manual quote the help: keep it true when behaviour changes.
const aq_setting_t aq_mpi_rows[MPI_SET_COUNT] = {
    [MPI_SET_SPAWNER] = {"GASNET_MPI_SPAWNER", AQ_TYPE_CHOICE, AQ_MPI_SPAWNER, 0, 0,
                         AQ_SPAWNER_CHOICES,
                         "As GASNET_SPAWNER, for conduit mpi only, where it takes precedence. "
                         "configure --with-mpi-spawner sets the default, which launchers follow "
                         "unless GASNET_SPAWNER is set. auto: mpi."},
    [MPI_SET_RMA] = {"GASNET_MPI_RMA", AQ_TYPE_CHOICE, "auto", 0, 0, "auto 0 1",
                     "Whether conduit mpi uses the one-sided calls of MPI-3 for put and get. 0: it "
                     "uses active messages; 1: it uses one-sided calls, or the job stops; auto: it "
                     "uses one-sided calls if a get completes while its target does not call MPI, "
                     "which is measured when segments are attached, otherwise active messages."},
    [MPI_SET_SHARED_MAXSIZE] =
        {"GASNET_MPI_SHARED_MAXSIZE", AQ_TYPE_INT, "0", 0, 1e6, NULL,
         "Largest number of ranks on a host that conduit mpi joins by shared windows of MPI. One "
         "window carries their messages. Another holds their segments, which are then reached by "
         "load and store, unless GASNET_MPI_RMA is 0. 0: all ranks of the host; 1: no shared "
         "windows."},
    [MPI_SET_NETWORKDEPTH] =
        {"GASNET_NETWORKDEPTH", AQ_TYPE_INT, "4", 1, 4096, NULL,
         "Half the number of requests that a process of conduit mpi may have outstanding to each "
         "peer, unless AMMPI_CREDITS_PP gives that number. The value at rank 0 counts."},
    [MPI_SET_AMMPI_CREDITS_PP] =
        {"AMMPI_CREDITS_PP", AQ_TYPE_INT, "0", 0, 4096, NULL,
         "Requests that a process of conduit mpi may have outstanding to each peer; at most 256 to "
         "all peers together. 0: twice GASNET_NETWORKDEPTH. The value at rank 0 counts."},
    [MPI_SET_AMMPI_CREDITS_SLACK] =
        {"AMMPI_CREDITS_SLACK", AQ_TYPE_INT, "-1", -1, 4096, NULL,
         "Credits of AMMPI_CREDITS_PP that a receiver keeps, for requests without a reply, until "
         "it can return them with another message. -1: three quarters of them. The value at rank 0 "
         "counts."},
};

const aq_setting_group_t aq_mpi_settings = {"conduit mpi", aq_mpi_rows, MPI_SET_COUNT};

const aq_conduit_profile_t aq_mpi_profile = {
    .name = "mpi",
    .settings = &aq_mpi_settings,
    .spawner = &aq_mpi_rows[MPI_SET_SPAWNER],
    .spawners = "mpi",
    .first_spawner = "mpi",
    .needs_mpi = true,
};
