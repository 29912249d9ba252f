// SPDX-License-Identifier: BSD-3-Clause
// Conduit udp as rank 0 of a job of two ranks, for tests that play the part of rank 1 themselves.
#ifndef AQ_UDP_HARNESS_H
#define AQ_UDP_HARNESS_H

#include "../../../../conduits/udp/link/udp_state.h"

// Loads the settings from the environment and opens the conduit as rank 0 of 2 on one host. Does
// not wait for rank 1, which appears to have the address of rank 0. Sets env->boot. The caller owns
// env, which must outlive the conduit. Returns NULL if the conduit does not open.
udp_conduit_t *udp_open_harness(aq_conduit_env_t *env);

#endif
