// SPDX-License-Identifier: BSD-3-Clause
// The monotonic clock of the system, which needs no calibration: every timeout, wait and counter of
// time in the library reads it here.
#include "clock.h"

#include <errno.h>
#include <time.h>

#define NS_PER_S 1000000000u
#define LONGEST_S 1e8

uint64_t aq_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void aq_clock_sleep_ns(uint64_t ns)
{
    // An absolute deadline, so that signals which interrupt the sleep do not prolong it.
    uint64_t now = aq_clock_ns();
    uint64_t end = ns > INT64_MAX - now ? INT64_MAX : now + ns;
    struct timespec deadline = {.tv_sec = (time_t)(end / NS_PER_S),
                                .tv_nsec = (long)(end % NS_PER_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR) {
    }
}

uint64_t aq_clock_seconds_to_ns(double seconds)
{
    return (uint64_t)((seconds < LONGEST_S ? seconds : LONGEST_S) * NS_PER_S);
}
