// SPDX-License-Identifier: BSD-3-Clause
// The calls that take the arguments of a message, in the library and in modules alike: each hands
// them to aq_log_message.
#include "log.h"

void aq_log_error(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    aq_log_message(AQ_LOG_ERROR, fmt, args);
    va_end(args);
}

void aq_log_notice(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    aq_log_message(AQ_LOG_NOTICE, fmt, args);
    va_end(args);
}

void aq_log_warn(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    aq_log_message(AQ_LOG_WARN, fmt, args);
    va_end(args);
}

void aq_log_info(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    aq_log_message(AQ_LOG_INFO, fmt, args);
    va_end(args);
}

void aq_log_counts(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    aq_log_message(AQ_LOG_COUNTS, fmt, args);
    va_end(args);
}
