#include "exit_timeout.h"

#include "settings.h"

#define LONGEST_S 1e8 // about three years: the product with 1e9 fits into 64 bits

uint64_t aq_exit_timeout_ns(uint32_t ranks)
{
    double seconds = aq_settings_real(AQ_SET_EXITTIMEOUT);
    if (seconds <= 0) { // unset or 0: compute it
        double most = aq_settings_real(AQ_SET_EXITTIMEOUT_MAX);
        seconds = aq_settings_real(AQ_SET_EXITTIMEOUT_MIN) +
                  ranks * aq_settings_real(AQ_SET_EXITTIMEOUT_FACTOR);
        seconds = seconds < most ? seconds : most;
    }
    return (uint64_t)((seconds < LONGEST_S ? seconds : LONGEST_S) * 1e9);
}
