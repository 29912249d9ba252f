// SPDX-License-Identifier: BSD-3-Clause
// Computes the deadlines by which the core, the supervisor and the launcher end ranks that do not
// leave.
#include "exit_timeout.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "../clock.h"
#include "../minmax.h"
#include "../text_file.h"
#include "settings.h"

#define BYTES_PER_NS 2 // a fraction of what one idle processor frees

uint64_t aq_exit_timeout_ns(uint32_t ranks)
{
    double seconds = aq_settings_real(AQ_SET_EXITTIMEOUT);
    if (seconds <= 0) { // unset or 0: compute it
        double most = aq_settings_real(AQ_SET_EXITTIMEOUT_MAX);
        seconds = aq_settings_real(AQ_SET_EXITTIMEOUT_MIN) +
                  ranks * aq_settings_real(AQ_SET_EXITTIMEOUT_FACTOR);
        seconds = seconds < most ? seconds : most;
    }
    return aq_clock_seconds_to_ns(seconds);
}

uint64_t aq_stop_timeout_ns(int sig, uint32_t ranks)
{
    return sig == SIGTERM ? aq_clock_seconds_to_ns(aq_settings_real(AQ_SET_TERM_TIMEOUT))
                          : aq_exit_timeout_ns(ranks);
}

uint64_t aq_exit_memory_ns(uint64_t bytes)
{
    struct sysinfo host;
    const uint64_t all = sysinfo(&host) == 0 ? (uint64_t)host.totalram * host.mem_unit : 0;
    return aq_min(bytes, all) / BYTES_PER_NS;
}

// The resident pages are the second number of /proc/N/statm.
uint64_t aq_exit_resident(pid_t process)
{
    char path[48], text[64];
    snprintf(path, sizeof path, "/proc/%ld/statm", (long)process);
    const char *second = aq_text_file_start(path, text, sizeof text) > 0 ? strchr(text, ' ') : NULL;
    return second ? strtoull(second, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
