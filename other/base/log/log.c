// SPDX-License-Identifier: BSD-3-Clause
// The library's end of a message: prefix, one line, one write. log_calls.c takes the arguments of a
// call; a module's messages arrive here through host.h.
#include "log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// The kernel keeps a write of up to PIPE_BUF bytes to a pipe in one piece: lines of several threads
// and of several ranks do not mix.
#define LINE_MAX_BYTES 4096
_Static_assert(LINE_MAX_BYTES <= PIPE_BUF, "a line must be written in one piece");

#define MARK "*** GASNet: "
#define CUT_MARK " [cut]"
#define STALL_MS 1000 // longest time that a full, non-blocking standard error may delay a message

// Size of the job in the upper half, rank in the lower, so that both change at once. 0: not known
// yet.
static _Atomic uint64_t aq_log_who;
static _Atomic(const char *) aq_log_program_name;
static _Atomic(aq_log_take_t *) aq_log_taker;
static atomic_bool aq_log_is_quiet;
static atomic_bool aq_log_is_verbose;

static char aq_log_host_name[256];
static pthread_once_t aq_log_host_once = PTHREAD_ONCE_INIT;

static void find_host(void)
{
    if (gethostname(aq_log_host_name, sizeof aq_log_host_name) != 0)
        strcpy(aq_log_host_name, "unknown");
    aq_log_host_name[sizeof aq_log_host_name - 1] = '\0';
}

const char *aq_log_host(void)
{
    pthread_once(&aq_log_host_once, find_host);
    return aq_log_host_name;
}

void aq_log_identity(uint32_t rank, uint32_t size)
{
    atomic_store(&aq_log_who, (uint64_t)size << 32 | rank);
}

bool aq_log_is_first(void)
{
    return (uint32_t)atomic_load(&aq_log_who) == 0;
}

void aq_log_program(const char *name)
{
    atomic_store(&aq_log_program_name, name);
}

void aq_log_quiet(bool on)
{
    atomic_store(&aq_log_is_quiet, on);
}

void aq_log_verbose(bool on)
{
    atomic_store(&aq_log_is_verbose, on);
}

static int format_prefix(char *line, size_t size)
{
    uint64_t who = atomic_load(&aq_log_who);
    if (who >> 32)
        return snprintf(line, size, MARK "rank %u of %u on host %s: ", (unsigned)who,
                        (unsigned)(who >> 32), aq_log_host());
    const char *program = atomic_load(&aq_log_program_name);
    if (!program)
        program = program_invocation_short_name;
    return snprintf(line, size, MARK "%.200s on host %s: ", program, aq_log_host());
}

// A message may contain a value of the user, which must not break the line or control the terminal.
static void replace_controls(char *line, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)line[i];
        if (c < 0x20 || c == 0x7f)
            line[i] = ' ';
    }
}

static void write_all(const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = write(STDERR_FILENO, data, length);
        if (n >= 0) {
            data += n;
            length -= (size_t)n;
        } else if (errno == EAGAIN) {
            struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
            if (poll(&ready, 1, STALL_MS) == 0)
                return;
        } else if (errno != EINTR) {
            return; // standard error is closed
        }
    }
}

// Truncates the line if necessary, with room for the newline.
static size_t end_line(char *line, size_t length)
{
    if (length >= LINE_MAX_BYTES - 1) {
        length = LINE_MAX_BYTES - 2;
        memcpy(line + length - strlen(CUT_MARK), CUT_MARK, strlen(CUT_MARK));
    }
    line[length] = '\0';
    replace_controls(line, length);
    return length;
}

static void line_write(char *line, size_t length)
{
    line[length++] = '\n';
    write_all(line, length);
}

// take: see aq_log_divert.
static void message_print(aq_log_take_t *take, const char *kind, const char *fmt, va_list args)
{
    int saved_errno = errno;
    char line[LINE_MAX_BYTES];
    const size_t size = sizeof line - 1;
    size_t length = (size_t)format_prefix(line, size);
    length += (size_t)snprintf(line + length, size - length, "%s", kind);
    int n = vsnprintf(line + length, size - length, fmt, args);
    length = end_line(line, length + (size_t)(n > 0 ? n : 0));
    if (take != NULL)
        take(line + strlen(MARK));
    else
        line_write(line, length);
    errno = saved_errno;
}

static void counts_print(const char *fmt, va_list args)
{
    char line[LINE_MAX_BYTES];
    int n = vsnprintf(line, sizeof line - 1, fmt, args);
    line_write(line, end_line(line, (size_t)(n > 0 ? n : 0)));
}

void aq_log_divert(aq_log_take_t *take)
{
    atomic_store(&aq_log_taker, take);
}

void aq_log_repeat(const char *message, const char *text)
{
    char line[LINE_MAX_BYTES];
    int n = snprintf(line, sizeof line - 1, MARK "%s%s", message, text);
    line_write(line, end_line(line, (size_t)(n > 0 ? n : 0)));
}

void aq_log_message(aq_log_kind_t kind, const char *fmt, va_list args)
{
    if (kind == AQ_LOG_COUNTS)
        counts_print(fmt, args);
    else if (kind == AQ_LOG_ERROR)
        message_print(atomic_load(&aq_log_taker), "", fmt, args);
    else if (kind == AQ_LOG_WARN && !atomic_load(&aq_log_is_quiet))
        message_print(NULL, "warning: ", fmt, args);
    else if (kind == AQ_LOG_NOTICE || (kind == AQ_LOG_INFO && atomic_load(&aq_log_is_verbose)))
        message_print(NULL, "", fmt, args);
}

int aq_log_end(int code)
{
    if ((fflush(stdout) == 0 && !ferror(stdout)) || code != 0)
        return code;
    aq_log_error("standard output cannot be written; check the disk or the pipe that it leads to");
    return 1;
}
