// SPDX-License-Identifier: BSD-3-Clause
// Monotonic time.
#pragma once

#include <stdint.h>

// Nanoseconds since an arbitrary start, monotonic; the same clock in all processes of a host. Does
// not block; takes about 20 ns.
uint64_t aq_clock_ns(void);

// Sleeps for at least ns nanoseconds.
void aq_clock_sleep_ns(uint64_t ns);

// Converts a setting in seconds (0 or more) to nanoseconds, at most about three years, so that sums
// with aq_clock_ns() do not overflow.
uint64_t aq_clock_seconds_to_ns(double seconds);
