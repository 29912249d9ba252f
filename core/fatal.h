// Faults that end the whole job, with a message and without leaving processes behind.
#ifndef AQ_FATAL_H
#define AQ_FATAL_H

#include "../other/base/log.h"

// Logs one sentence (with a backtrace where asked for) and ends the job with exit code 1. Any
// thread; does not return.
void aq_fatal(const char *fmt, ...) AQ_PRINTF(1, 2) __attribute__((noreturn, cold));
void aq_fatal_message(const char *fmt, va_list args) AQ_PRINTF(1, 0)
    __attribute__((noreturn, cold));

// Sets what aq_fatal calls to end the other ranks; until then it ends this process only.
void aq_fatal_end_job_with(void (*end)(int code));

// Checks of what the client passes, in debug builds only (configure --enable-debug). The condition
// is compiled, and costs nothing, in other builds. A macro since the message's arguments must not
// be evaluated when all is well.
#ifdef AQ_DEBUG
#define AQ_CHECKS 1
#else
#define AQ_CHECKS 0
#endif
#define AQ_CHECK(condition, ...)                                                                   \
    do {                                                                                           \
        if (AQ_CHECKS && __builtin_expect(!(condition), 0))                                        \
            aq_fatal(__VA_ARGS__);                                                                 \
    } while (0)

#endif
