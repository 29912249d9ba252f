// SPDX-License-Identifier: BSD-3-Clause
#include "exit_timeout.h"

#include <signal.h>

#include "clock.h"
#include "settings.h"

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
