// SPDX-License-Identifier: BSD-3-Clause
// Messages to the user: one sentence each, on standard error, in one write, with a prefix that
// names the process:
//
//     *** GASNet: rank 3 of 8 on host n17: GASNET_PSHM_NODES: 'x' is not a whole number; ...
//
// Before the rank is known (launcher, early initialization) the prefix has the name of the program
// instead.
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#define AQ_PRINTF(fmt_index, first_arg) __attribute__((format(printf, fmt_index, first_arg)))

// Sets the rank and the size of the job for the prefix. Called once, when they are known.
void aq_log_identity(uint32_t rank, uint32_t size);

// Sets the program name for the prefix while the rank is not known. The text is kept, not copied.
void aq_log_program(const char *name);

// Reports a fault. Always printed (unless diverted, see aq_log_divert). Appends a newline.
void aq_log_error(const char *fmt, ...) AQ_PRINTF(1, 2);

// Prints something that the user requested and that is no fault. Always printed, at once.
void aq_log_notice(const char *fmt, ...) AQ_PRINTF(1, 2);

// Passes faults to take instead of printing them, without the prefix "*** GASNet: "; NULL ends
// this. Another process prints them with aq_log_repeat, once for many processes, with text
// appended.
typedef void aq_log_take_t(const char *message);
void aq_log_divert(aq_log_take_t *take);
void aq_log_repeat(const char *message, const char *text);

// Reports something that the user should know and that does not stop the job. Silent with
// GASNET_QUIET (aq_log_quiet).
void aq_log_warn(const char *fmt, ...) AQ_PRINTF(1, 2);

// Prints a detail, only after aq_log_verbose(true) (launcher -v, GASNET_SPAWN_VERBOSE).
void aq_log_info(const char *fmt, ...) AQ_PRINTF(1, 2);

// Prints a line of counters that the user requested (GASNET_STATS), in one write, as messages are,
// but without a prefix. Appends a newline.
void aq_log_counts(const char *fmt, ...) AQ_PRINTF(1, 2);

// The same with the arguments of one of the five above, for functions that forward a message.
typedef enum aq_log_kind {
    AQ_LOG_ERROR,
    AQ_LOG_NOTICE,
    AQ_LOG_WARN,
    AQ_LOG_INFO,
    AQ_LOG_COUNTS
} aq_log_kind_t;
void aq_log_message(aq_log_kind_t kind, const char *fmt, va_list args) AQ_PRINTF(2, 0);

void aq_log_quiet(bool on);
void aq_log_verbose(bool on);

// Ends a tool that has printed to standard output: returns its exit code. If the output cannot be
// written, logs that and returns 1 in place of 0.
int aq_log_end(int code);

// Whether this process is rank 0, or its rank is not known yet.
bool aq_log_is_first(void);

// Name of this host, from gethostname(); never NULL; owned by the log.
const char *aq_log_host(void);
