// SPDX-License-Identifier: BSD-3-Clause
// The timers of the tools: a tick is a nanosecond of clock.h, so that no calibration is needed.
#include <sys/time.h>
#include <time.h>

#include "../base/clock.h"
#include "gasnet_tools.h"

enum { NS_PER_S = 1000000000, SAMPLES = 1000 };

gasnett_tick_t gasnett_ticks_now(void)
{
    return aq_clock_ns();
}

double gasnett_tick_granularityus(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t start = aq_clock_ns();
        uint64_t next;
        while ((next = aq_clock_ns()) == start) {
        }
        if (next - start < least)
            least = next - start;
    }
    return (double)least / 1e3;
}

double gasnett_tick_overheadus(void)
{
    uint64_t start = aq_clock_ns();
    for (int i = 0; i < SAMPLES; i++)
        aq_clock_ns();
    return (double)(aq_clock_ns() - start) / (SAMPLES + 1) / 1e3;
}

uint64_t gasnett_gettimeofday_us(void)
{
    struct timeval now;
    gettimeofday(&now, NULL);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_usec;
}

int gasnett_nsleep(uint64_t ns_delay)
{
    struct timespec delay = {.tv_sec = (time_t)(ns_delay / NS_PER_S),
                             .tv_nsec = (long)(ns_delay % NS_PER_S)};
    return ns_delay ? nanosleep(&delay, NULL) : 0;
}
