// SPDX-License-Identifier: BSD-3-Clause
// GASNet tools: timers, atomics, locks, environment and system helpers (README-tools, tools
// specification 1.20). gasnetex.h includes this header in the thread mode of the client. It also
// works without a job, linked with -lgasnet_tools-par and GASNETT_THREAD_SAFE defined, or with
// -lgasnet_tools-seq and GASNETT_THREAD_SINGLE. C11 and C++11.
//
// Section names in comments are those of README-tools. Unless a comment says otherwise, a call does
// not block, is allowed in any thread, before gex_Client_Init and in handlers, and the library owns
// the text that it returns.
#ifndef GASNET_TOOLS_H
#define GASNET_TOOLS_H
#define _INCLUDED_GASNET_TOOLS_H 1 // tells clients that this header is included

// Headers for the declarations below, and those that clients of GASNet use without including them.
#include <alloca.h>
#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>
#include <sys/select.h>
#include <sys/types.h>
#include <unistd.h>

#if defined(GASNETT_THREAD_SAFE) && defined(GASNETT_THREAD_SINGLE)
#error "define one of GASNETT_THREAD_SAFE and GASNETT_THREAD_SINGLE, not both"
#endif
#include "gasnet_config.h"
#include "gasnet_portable_platform.h"
#include "gasnet_tools_annotate.h"
#include "gasnet_tools_atomic.h"
#include "gasnet_tools_lock.h"

// Formats of size_t, as in <inttypes.h>, which clients of GASNet use.
#ifndef PRIuSZ
#define PRIuSZ "zu"
#endif
#ifndef PRIxSZ
#define PRIxSZ "zx"
#endif

#define GASNETT_SPEC_VERSION_MAJOR 1
#define GASNETT_SPEC_VERSION_MINOR 20
#define GASNETT_RELEASE_VERSION_MAJOR GASNET_RELEASE_VERSION_MAJOR
#define GASNETT_RELEASE_VERSION_MINOR GASNET_RELEASE_VERSION_MINOR
#define GASNETT_RELEASE_VERSION_PATCH GASNET_RELEASE_VERSION_PATCH
#if AQ_API_CONCURRENT
#define AQ_API_TOOLS_MODE "par"
#else
#define AQ_API_TOOLS_MODE "seq"
#endif
#ifdef GASNET_DEBUG
#define AQ_API_TOOLS_CHECKS "debug"
#else
#define AQ_API_TOOLS_CHECKS "nodebug"
#endif
// The configuration of this build as text, for people.
// clang-format off
#define GASNETT_CONFIG_STRING                                                                      \
    "RELEASE=" _STRINGIFY(GASNET_RELEASE_VERSION_MAJOR)                                            \
    "." _STRINGIFY(GASNET_RELEASE_VERSION_MINOR) "." _STRINGIFY(GASNET_RELEASE_VERSION_PATCH)      \
    ",SPEC=1.20,THREADMODEL=" AQ_API_TOOLS_MODE                                                    \
    ",PTR=" _STRINGIFY(__SIZEOF_POINTER__) "B," AQ_API_TOOLS_CHECKS
// clang-format on

#ifdef __cplusplus
extern "C" {
#endif

AQ_API_TOOLS const char *gasnett_release_version_str(void); // "2026.11.0"
// major * 1000000 + minor * 10000 + patch: grows with the version.
AQ_API_TOOLS uint64_t gasnett_release_version(void);
// One line for each property of this build that makes it much slower, or "".
AQ_API_TOOLS const char *gasnett_performance_warning_str(void);

// ---- "Timers", "Sleep" ----

// A tick is a nanosecond of the host's monotonic clock, which is the same in all its processes and
// threads.
typedef uint64_t gasnett_tick_t;
#define GASNETT_TICK_MIN ((gasnett_tick_t)0)
#define GASNETT_TICK_MAX UINT64_MAX
AQ_API_TOOLS gasnett_tick_t gasnett_ticks_now(void);
AQ_API_INLINE uint64_t gasnett_ticks_to_ns(gasnett_tick_t ticks)
{
    return ticks;
}
AQ_API_INLINE uint64_t gasnett_ticks_to_us(gasnett_tick_t ticks)
{
    return ticks / 1000;
}
// Aliases; undocumented, but clients use these names.
AQ_API_INLINE gasnett_tick_t gasneti_ticks_now(void)
{
    return gasnett_ticks_now();
}
AQ_API_INLINE uint64_t gasneti_ticks_to_ns(gasnett_tick_t ticks)
{
    return ticks;
}
AQ_API_INLINE uint64_t gasneti_ticks_to_us(gasnett_tick_t ticks)
{
    return ticks / 1000;
}
// Measures the microseconds between two different readings, and for one reading. May take a moment.
AQ_API_TOOLS double gasnett_tick_granularityus(void);
AQ_API_TOOLS double gasnett_tick_overheadus(void);
// Microseconds since 1970, from the system's real-time clock.
AQ_API_TOOLS uint64_t gasnett_gettimeofday_us(void);
// Sleeps for at least this time. Returns 0, or -1 with errno EINTR if a signal interrupts it.
AQ_API_TOOLS int gasnett_nsleep(uint64_t ns_delay);

// ---- "Environment utilities" ----

// With is_mem_size: bytes, in the largest unit that divides the value ("64 KB"), which
// gasnett_parse_int converts back. Returns buf; the text is truncated to bufsz bytes.
AQ_API_TOOLS char *gasnett_format_number(int64_t val, char *buf, size_t bufsz, int is_mem_size);
// mem_size_multiplier 0: a whole number, decimal or 0x; otherwise a size such as 1.5GB, in units of
// mem_size_multiplier bytes if it has no unit. Any other text ends the program.
AQ_API_TOOLS int64_t gasnett_parse_int(const char *str, uint64_t mem_size_multiplier);

AQ_API_TOOLS void gasnett_setenv(const char *key, const char *value); // copied; this process only
AQ_API_TOOLS void gasnett_unsetenv(const char *key);
AQ_API_TOOLS char *gasnett_getenv(const char *keyname); // NULL: not set
// The value of a variable, or the default. A value that is not legal ends the program with a
// message. With GASNET_VERBOSEENV the first call for each name prints the value. Must not be called
// while another thread changes the environment.
AQ_API_TOOLS char *gasnett_getenv_withdefault(const char *keyname, const char *defaultval);
AQ_API_TOOLS int gasnett_getenv_yesno_withdefault(const char *keyname, int defaultval);
AQ_API_TOOLS int64_t gasnett_getenv_int_withdefault(const char *keyname, int64_t defaultval,
                                                    uint64_t mem_size_multiplier);
AQ_API_TOOLS double gasnett_getenv_dbl_withdefault(const char *keyname, double defaultval);
// Whether this process prints settings: GASNET_VERBOSEENV is set, and the process is rank 0 or in
// no job.
AQ_API_TOOLS int gasnett_verboseenv(void);
// Print a setting on standard error if gasnett_verboseenv().
AQ_API_TOOLS void gasnett_envint_display(const char *key, int64_t val, int is_dflt,
                                         int is_mem_size);
AQ_API_TOOLS void gasnett_envstr_display(const char *key, const char *val, int is_dflt);
AQ_API_TOOLS void gasnett_envdbl_display(const char *key, double val, int is_dflt);

// ---- "Backtracing and debugger attach" ----

// Waits until *flag changes; a message asks the user to change it with a debugger.
AQ_API_TOOLS void gasnett_freezeForDebuggerNow(volatile int *flag, const char *flagsymname);
// As gasnett_freezeForDebuggerNow, if GASNET_FREEZE_ON_ERROR is set.
AQ_API_TOOLS void gasnett_freezeForDebuggerErr(void);

// From now on fatal signals print a backtrace if GASNET_BACKTRACE is set. exename is not used; it
// may be NULL. A job does the same at the start.
AQ_API_TOOLS void gasnett_backtrace_init(const char *exename);
// Prints the stack of this thread by the first way in GASNET_BACKTRACE_TYPE that works. Returns 0,
// or non-zero if none did.
AQ_API_TOOLS int gasnett_print_backtrace(int fd);
// Called at faults; may be replaced. Initially: gasnett_print_backtrace if GASNET_BACKTRACE is set.
AQ_API_TOOLS int (*gasnett_print_backtrace_ifenabled)(int fd);
typedef struct {
    const char *name;
    int (*fnp)(int fd); // returns 0 after printing; otherwise the next way is tried
    int threadsupport;
} gasnett_backtrace_type_t;
// The client's own way to print a stack; a client that has one defines this variable.
AQ_API_TOOLS gasnett_backtrace_type_t gasnett_backtrace_user;

#define GASNETT_CURRENT_FUNCTION __func__
AQ_API_TOOLS char *aq_api_current_loc(const char *function, const char *file, int line);
// "function at file:line"; the caller frees it.
#define gasnett_current_loc aq_api_current_loc(__func__, __FILE__, __LINE__)

// Print a message and, if requested, a backtrace, and call abort(). The first function includes the
// source position. Each line of a message gets the prefix of the library's messages.
#define gasnett_fatalerror(...) aq_api_fatalerror(__func__, __FILE__, __LINE__, __VA_ARGS__)
AQ_API_TOOLS void aq_api_fatalerror(const char *function, const char *file, int line,
                                    const char *msg, ...)
    __attribute__((__noreturn__, __format__(__printf__, 4, 5)));
AQ_API_TOOLS void gasnett_fatalerror_nopos(const char *msg, ...)
    __attribute__((__noreturn__, __format__(__printf__, 1, 2)));

// ---- "System properties" ----

#if defined(PLATFORM_ARCH_X86_64)
#define GASNETT_CACHE_LINE_BYTES 64
#else
#define GASNETT_CACHE_LINE_BYTES 128
#endif
#define GASNETT_PAGESIZE 4096
#define GASNETT_PAGESHIFT 12
AQ_API_TOOLS const char *gasnett_gethostname(void);
#define gasneti_gethostname gasnett_gethostname  // not in the specification, but used by clients
AQ_API_TOOLS const char *gasnett_exe_name(void); // a full path, or ""
AQ_API_TOOLS int gasnett_cpu_count(void);        // of this host; 0: not known
AQ_API_TOOLS uint64_t gasnett_getPhysMemSz(int failureIsFatal); // bytes; 0: not known
AQ_API_INLINE int gasnett_isLittleEndian(void)
{
#if defined(PLATFORM_ARCH_LITTLE_ENDIAN)
    return 1;
#else
    return 0;
#endif
}

// ---- "Trace/Stats support" ----

// GASNET_TRACE, GASNET_TRACEFILE and GASNET_STATSFILE ask for a trace and statistics; without them,
// and without a job, these do nothing. A message is cut after 899 bytes.
AQ_API_TOOLS int aq_api_trace_on; // which messages are written: bits of the first argument
AQ_API_TOOLS void aq_api_trace_note(int where, const char *file, int line, const char *format, ...)
    __attribute__((__format__(__printf__, 4, 5), __cold__));
AQ_API_TOOLS const char *aq_api_trace_getmask(int stats);
AQ_API_TOOLS void aq_api_trace_setmask(int stats, const char *mask);
AQ_API_TOOLS void aq_api_stats_dump(int reset);
#define AQ_API_TRACE_NOTE(where, ...)                                                              \
    (aq_api_trace_on & (where) ? aq_api_trace_note(where, __FILE__, __LINE__, __VA_ARGS__)         \
                               : (void)0)
#define GASNETT_TRACE_ENABLED ((aq_api_trace_on & 1) != 0)
// Letters as in GASNET_TRACEMASK and GASNET_STATSMASK. What a get returns is valid until the next
// call. A set may leave out events that the settings ask for, not add others.
#define GASNETT_TRACE_GETMASK() aq_api_trace_getmask(0)
#define GASNETT_STATS_GETMASK() aq_api_trace_getmask(1)
#define GASNETT_TRACE_SETMASK(newmask) aq_api_trace_setmask(0, newmask)
#define GASNETT_STATS_SETMASK(newmask) aq_api_trace_setmask(1, newmask)
#define GASNETT_TRACE_PRINTF(...) AQ_API_TRACE_NOTE(1, __VA_ARGS__)
#define GASNETT_TRACE_PRINTF_FORCE(...) AQ_API_TRACE_NOTE(2, __VA_ARGS__)
#define GASNETT_STATS_PRINTF(...) AQ_API_TRACE_NOTE(4, __VA_ARGS__)
#define GASNETT_STATS_PRINTF_FORCE(...) AQ_API_TRACE_NOTE(8, __VA_ARGS__)
// Adds the counters of this process to GASNET_STATSFILE; may block for the file system.
#define GASNETT_STATS_DUMP(reset) aq_api_stats_dump(reset)
// Not in the specification; programs that follow it use them nevertheless. A message has the line
// of its call.
#define GASNETT_TRACE_GETSOURCELINE(pfile, pline) ((void)(pfile), (void)(pline))
#define GASNETT_TRACE_SETSOURCELINE(file, line) ((void)0)
#define GASNETT_TRACE_FREEZESOURCELINE() ((void)0)
#define GASNETT_TRACE_UNFREEZESOURCELINE() ((void)0)
#define GASNETT_TRACE_GET_TRACELOCAL() 0
#define GASNETT_TRACE_SET_TRACELOCAL(newval) ((void)(newval))
static inline void _gasnett_trace_printf_noop(const char *format, ...)
    __attribute__((__unused__, __format__(__printf__, 1, 2)));
static inline void _gasnett_trace_printf_noop(const char *format, ...)
{
    (void)format;
}

// ---- "Miscellaneous tools" ----

#define GASNETT_SET_AFFINITY_SUPPORT 1
// Binds the calling thread to processor number rank, modulo the number of processors. Returns 0 on
// success.
AQ_API_TOOLS int gasnett_set_affinity(int rank);
AQ_API_TOOLS void gasnett_sched_yield(void);
AQ_API_TOOLS void gasnett_flush_streams(void); // standard output and error; may wait for a disk
// Redirects standard input, output and error to /dev/null. May be called again.
AQ_API_TOOLS void gasnett_close_streams(void);
// Ends this process at once, without atexit handlers and without flushing.
AQ_API_TOOLS void gasnett_killmyprocess(int exitcode) __attribute__((__noreturn__));

typedef void (*gasnett_sighandlerfn_t)(int);
// Installs a handler, or SIG_DFL or SIG_IGN; returns the previous one, or SIG_ERR.
AQ_API_TOOLS gasnett_sighandlerfn_t gasnett_reghandler(int sigtocatch, gasnett_sighandlerfn_t fp);

// Not cryptographic; the same on all hosts of one byte order.
AQ_API_TOOLS uint64_t gasnett_checksum(const void *p, int numbytes);
// The number of bytes that are 0.
AQ_API_INLINE int gasnett_count0s_uint64_t(uint64_t x)
{
    const uint64_t low7 = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t zeros = ~(((x & low7) + low7) | x | low7); // the top bit of each byte that is 0
    return (int)((zeros >> 7) * UINT64_C(0x0101010101010101) >> 56);
}
AQ_API_INLINE int gasnett_count0s_uint32_t(uint32_t x)
{
    return gasnett_count0s_uint64_t(UINT64_C(0xffffffff00000000) | x);
}
AQ_API_INLINE int gasnett_count0s_uintptr_t(uintptr_t x)
{
    return sizeof x == 4 ? gasnett_count0s_uint32_t((uint32_t)x) : gasnett_count0s_uint64_t(x);
}
AQ_API_TOOLS size_t gasnett_count0s(const void *p, size_t numbytes);
// As gasnett_count0s for src, while copying it to dst; they must not overlap.
AQ_API_TOOLS size_t gasnett_count0s_copy(void *GASNETT_RESTRICT dst,
                                         const void *GASNETT_RESTRICT src, size_t numbytes);

// Raise the soft limits for processor time and memory, or the limit res of <sys/resource.h>, to the
// hard limits, unless GASNET_MAXIMIZE_<lim_desc> is no. Non-zero on success.
AQ_API_TOOLS int gasnett_maximize_rlimits(void);
AQ_API_TOOLS int gasnett_maximize_rlimit(int res, const char *lim_desc);

#ifdef __cplusplus
}
#endif

#endif
