// Conduit udp in a job of two ranks, of which only this one exists: for tests that play the other.
#ifndef AQ_UDP_ALONE_H
#define AQ_UDP_ALONE_H

#include "../../conduits/udp/udp_state.h"

// Loads the settings from the environment and opens the conduit as rank 0 of 2 on one host, without
// waiting for the other rank, which seems to have the address of this one. Sets env->boot; env
// stays the caller's and has to live as long as the conduit. NULL: it did not open.
udp_conduit_t *udp_open_alone(aq_conduit_env_t *env);

#endif
