// Messages to the user. One sentence a message, on standard error, in one write, with who says it:
//
//     *** GASNet: rank 3 of 8 on host n17: GASNET_PSHM_NODES: 'x' is not a whole number; ...
//
// Before the rank is known (launcher, early init) the name of the program stands in its place.
#ifndef AQ_LOG_H
#define AQ_LOG_H

#include <stdbool.h>
#include <stdint.h>

#define AQ_PRINTF(fmt_index, first_arg) __attribute__((format(printf, fmt_index, first_arg)))

// Tells the log who speaks: rank of size (job ranks). Called once, when they are known.
void aq_log_identity(uint32_t rank, uint32_t size);

// Tells the log the name of the program that speaks while the rank is not known. The text is kept,
// not copied.
void aq_log_program(const char *name);

// A fault. Always printed (but see aq_log_divert). A trailing newline is added.
void aq_log_error(const char *fmt, ...) AQ_PRINTF(1, 2);

// What the user has asked for, and is no fault. Always printed, at once.
void aq_log_notice(const char *fmt, ...) AQ_PRINTF(1, 2);

// Hands faults to take, each as it stands behind the "*** GASNet: " of a line, in place of printing
// them; NULL: prints them again. Somebody then prints for many processes what was taken, with text
// behind it.
typedef void aq_log_take_t(const char *message);
void aq_log_divert(aq_log_take_t *take);
void aq_log_repeat(const char *message, const char *text);

// Something the user should know that does not stop the job. Silent with
// GASNET_QUIET (aq_log_quiet).
void aq_log_warn(const char *fmt, ...) AQ_PRINTF(1, 2);

// Detail on request: printed only after aq_log_verbose(true) (launcher -v, GASNET_SPAWN_VERBOSE).
void aq_log_info(const char *fmt, ...) AQ_PRINTF(1, 2);

void aq_log_quiet(bool on);
void aq_log_verbose(bool on);

// Whether this process is rank 0, or its rank is not known.
bool aq_log_is_first(void);

// Name of this host, as gethostname() gives it; never NULL; owned by the log.
const char *aq_log_host(void);

#endif
