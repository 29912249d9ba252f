// SPDX-License-Identifier: BSD-3-Clause
// How long the ranks of a job may take to exit once its end is announced.
#ifndef AQ_EXIT_TIMEOUT_H
#define AQ_EXIT_TIMEOUT_H

#include <stdint.h>

// Nanoseconds for a job of that many ranks: GASNET_EXITTIMEOUT, or computed from
// GASNET_EXITTIMEOUT_MIN, _FACTOR and _MAX. The settings must be loaded.
uint64_t aq_exit_timeout_ns(uint32_t ranks);

// The same after a signal to the launcher: GASNET_TERM_TIMEOUT after SIGTERM, so that programs can
// write a checkpoint; as above after others.
uint64_t aq_stop_timeout_ns(int sig, uint32_t ranks);

#endif
