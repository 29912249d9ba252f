// SPDX-License-Identifier: BSD-3-Clause
// The tools for environment, time, bytes, host and fatal errors.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../other/tools/gasnet_tools.h"

#define NAME "GASNET_TEST_TOOLS"

// Runs `work` in a child process; returns the wait status of the child, and in `text` what it wrote
// to standard error.
static int status_of_child(void (*work)(void), char *text, size_t size)
{
    int ends[2];
    size_t at = 0;
    ssize_t more;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        work();
        _exit(0);
    }
    close(ends[1]);
    while ((more = read(ends[0], text + at, size - 1 - at)) > 0)
        at += (size_t)more;
    text[at] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void expect_abort(void (*work)(void), const char *message)
{
    char text[8192];
    int status = status_of_child(work, text, sizeof text);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, message));
}

static void expect_number(int64_t value, int is_mem_size, const char *text)
{
    char buf[40];
    assert_ptr_equal(gasnett_format_number(value, buf, sizeof buf, is_mem_size), buf);
    assert_string_equal(buf, text);
    assert_true(gasnett_parse_int(buf, is_mem_size) == value);
}

static void test_numbers(void **state)
{
    (void)state;
    expect_number(0, 0, "0");
    expect_number(-1024, 0, "-1024");
    expect_number(INT64_MIN, 0, "-9223372036854775808");
    expect_number(0, 1, "0 B");
    expect_number(1023, 1, "1023 B");
    expect_number(1536, 1, "1536 B");
    expect_number(65536, 1, "64 KB");
    expect_number(-3 * 1048576, 1, "-3 MB");
    expect_number(INT64_C(5) << 30, 1, "5 GB");
    expect_number(INT64_C(1) << 61, 1, "2097152 TB");
    char small[4];
    gasnett_format_number(123456, small, sizeof small, 0);
    assert_string_equal(small, "123");
}

static void test_parse(void **state)
{
    (void)state;
    assert_true(gasnett_parse_int("0x20", 0) == 32);
    assert_true(gasnett_parse_int("-7", 0) == -7);
    assert_true(gasnett_parse_int("3", 1024) == 3072);
    assert_true(gasnett_parse_int("3B", 1024) == 3);
    assert_true(gasnett_parse_int("1.5", 1024) == 1536);
    assert_true(gasnett_parse_int("1.5MB", 1) == 1572864);
    assert_true(gasnett_parse_int("2g", 1024) == INT64_C(2) << 30);
}

static void parse_word(void)
{
    gasnett_parse_int("many", 0);
}

static void parse_unit_of_number(void)
{
    gasnett_parse_int("4KB", 0);
}

static void parse_too_large(void)
{
    gasnett_parse_int("9223372036854775807", 1024);
}

static void parse_real_too_large(void)
{
    gasnett_parse_int("1e30", 1024);
}

static void test_parse_bad(void **state)
{
    (void)state;
    expect_abort(parse_word, "'many' is not a whole number");
    expect_abort(parse_unit_of_number, "'4KB' is not a whole number");
    expect_abort(parse_too_large, "is not a size");
    expect_abort(parse_real_too_large, "is not a size");
}

static void test_environment(void **state)
{
    (void)state;
    gasnett_unsetenv(NAME);
    assert_null(gasnett_getenv(NAME));
    assert_string_equal(gasnett_getenv_withdefault(NAME, "word"), "word");
    assert_null(gasnett_getenv_withdefault(NAME, NULL));
    assert_int_equal(gasnett_getenv_yesno_withdefault(NAME, 1), 1);
    assert_int_equal(gasnett_getenv_int_withdefault(NAME, 5, 1024), 5);
    assert_true(gasnett_getenv_dbl_withdefault(NAME, 0.5) == 0.5);
    gasnett_setenv(NAME, "0");
    assert_string_equal(gasnett_getenv(NAME), "0");
    assert_string_equal(gasnett_getenv_withdefault(NAME, "word"), "0");
    assert_int_equal(gasnett_getenv_yesno_withdefault(NAME, 1), 0);
    gasnett_setenv(NAME, "12");
    assert_int_equal(gasnett_getenv_int_withdefault(NAME, 5, 0), 12);
    assert_int_equal(gasnett_getenv_int_withdefault(NAME, 5, 1024), 12288);
    assert_true(gasnett_getenv_dbl_withdefault(NAME, 0.5) == 12);
    gasnett_setenv(NAME, "-3/8");
    assert_true(gasnett_getenv_dbl_withdefault(NAME, 0.5) == -0.375);
    gasnett_unsetenv(NAME);
}

static void bad_yesno(void)
{
    gasnett_setenv(NAME, "maybe");
    gasnett_getenv_yesno_withdefault(NAME, 1);
}

static void bad_int(void)
{
    gasnett_setenv(NAME, "1.5");
    gasnett_getenv_int_withdefault(NAME, 1, 0);
}

static void bad_fraction(void)
{
    gasnett_setenv(NAME, "1/0");
    gasnett_getenv_dbl_withdefault(NAME, 1);
}

static void test_environment_bad(void **state)
{
    (void)state;
    expect_abort(bad_yesno, NAME ": 'maybe'");
    expect_abort(bad_int, NAME ": '1.5'");
    expect_abort(bad_fraction, NAME ": '1/0'");
}

static void read_variables(void)
{
    gasnett_unsetenv("GASNET_VERBOSEENV");
    gasnett_getenv_int_withdefault("T_QUIET", 1, 0);
    gasnett_envstr_display("T_QUIET", "x", 0);
    gasnett_setenv("GASNET_VERBOSEENV", "1");
    gasnett_setenv("T_REAL", "0.5");
    for (int i = 0; i < 2; i++) {
        gasnett_getenv_int_withdefault("T_INT", 4096, 1);
        gasnett_getenv_yesno_withdefault("T_YES", 1);
        gasnett_getenv_withdefault("T_TEXT", "t");
        gasnett_getenv_dbl_withdefault("T_REAL", 1);
    }
    gasnett_envint_display("T_SHOWN", 7, 0, 0);
    if (!gasnett_verboseenv())
        abort();
}

static void test_verbose(void **state)
{
    char text[4096];
    (void)state;
    gasnett_unsetenv("GASNET_VERBOSEENV");
    assert_false(gasnett_verboseenv());
    assert_int_equal(status_of_child(read_variables, text, sizeof text), 0);
    assert_string_equal(text, "T_INT = 4 KB (default)\nT_YES = yes (default)\n"
                              "T_TEXT = t (default)\nT_REAL = 0.5\nT_SHOWN = 7\n");
}

static void on_alarm(int number)
{
    (void)number;
}

static void test_time(void **state)
{
    (void)state;
    gasnett_tick_t start = gasnett_ticks_now();
    assert_int_equal(gasnett_nsleep(2000000), 0);
    gasnett_tick_t end = gasnett_ticks_now();
    assert_true(gasnett_ticks_to_ns(end - start) >= 2000000);
    assert_true(gasnett_ticks_to_us(end - start) >= 2000);
    assert_true(end > GASNETT_TICK_MIN && end < GASNETT_TICK_MAX);
    assert_int_equal(gasnett_nsleep(0), 0);
    assert_true(gasnett_tick_granularityus() > 0);
    assert_true(gasnett_tick_overheadus() > 0);
    assert_true(gasnett_gettimeofday_us() > UINT64_C(1000000000000000)); // after 2001
}

static void test_sleep_interrupted(void **state)
{
    const struct itimerval soon = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    (void)state;
    gasnett_sighandlerfn_t before = gasnett_reghandler(SIGALRM, on_alarm);
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    errno = 0;
    assert_int_not_equal(gasnett_nsleep(UINT64_C(40000000000)), 0);
    assert_int_equal(errno, EINTR);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_ptr_equal(gasnett_reghandler(SIGALRM, before), on_alarm);
}

static void test_count0s(void **state)
{
    char from[80], to[80];
    (void)state;
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)(i * i % 5 == 0 ? 0 : i % 3 == 0 ? 0x80 : i);
    for (size_t start = 0; start < 8; start++)
        for (size_t length = 0; length < 64; length++) {
            size_t zeros = 0;
            for (size_t i = 0; i < length; i++)
                zeros += from[start + i] == 0;
            memset(to, 'x', sizeof to);
            assert_int_equal(gasnett_count0s(from + start, length), zeros);
            assert_int_equal(gasnett_count0s_copy(to + 8, from + start, length), zeros);
            assert_memory_equal(to + 8, from + start, length);
            assert_true(to[7] == 'x' && to[8 + length] == 'x');
        }
    for (int bit = 0; bit < 64; bit++)
        assert_int_equal(gasnett_count0s_uint64_t(UINT64_C(1) << bit), 7);
    assert_int_equal(gasnett_count0s_uint64_t(0), 8);
    assert_int_equal(gasnett_count0s_uint32_t(0x01008000), 2);
    assert_int_equal(gasnett_count0s_uintptr_t(1), sizeof(uintptr_t) - 1);
}

// A change of any byte, or of the length, changes the checksum.
static void test_checksum(void **state)
{
    unsigned char data[40] = {0};
    (void)state;
    for (int length = 0; length < 40; length++) {
        uint64_t sum = gasnett_checksum(data, length);
        assert_true(sum == gasnett_checksum(data, length));
        if (length > 0)
            assert_true(sum != gasnett_checksum(data, length - 1));
        for (int i = 0; i < length; i++) {
            data[i] = 1;
            assert_true(sum != gasnett_checksum(data, length));
            data[i] = 0;
        }
    }
}

static void test_host(void **state)
{
    char host[256], exe[4096];
    (void)state;
    assert_int_equal(gethostname(host, sizeof host), 0);
    assert_string_equal(gasnett_gethostname(), host);
    assert_non_null(realpath("/proc/self/exe", exe));
    assert_string_equal(gasnett_exe_name(), exe);
    assert_int_equal(gasnett_cpu_count(), sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(gasnett_getPhysMemSz(1) > 1 << 20);
    assert_int_equal(gasnett_isLittleEndian(), *(const char *)(const int[]){1});
    assert_int_equal(1 << GASNETT_PAGESHIFT, GASNETT_PAGESIZE);
}

static void test_version(void **state)
{
    char text[64];
    (void)state;
    snprintf(text, sizeof text, "%d.%d.%d", GASNETT_RELEASE_VERSION_MAJOR,
             GASNETT_RELEASE_VERSION_MINOR, GASNETT_RELEASE_VERSION_PATCH);
    assert_string_equal(gasnett_release_version_str(), text);
    assert_string_equal(gasnett_release_version_str(), PACKAGE_VERSION);
    assert_true(gasnett_release_version() >= UINT64_C(2026) * 1000000);
#ifdef AQ_DEBUG
    assert_non_null(strstr(gasnett_performance_warning_str(), "--enable-debug"));
#elif !defined(AQ_SANITIZER)
    assert_string_equal(gasnett_performance_warning_str(), "");
#endif
}

// Binds this thread to each processor in turn; numbers count modulo the number of processors. Some
// processors may be out of bounds for this process: those are skipped.
static void test_affinity(void **state)
{
    cpu_set_t before, now;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    int processors = gasnett_cpu_count(), bound = 0;
    for (int cpu = 0; cpu < processors && cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, &before) || gasnett_set_affinity(cpu + processors) != 0)
            continue;
        assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
        assert_int_equal(CPU_COUNT(&now), 1);
        assert_true(CPU_ISSET((size_t)cpu, &now));
        bound++;
    }
    assert_true(bound > 0);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void test_limits(void **state)
{
    struct rlimit limit, before;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_CORE, &before), 0);
    limit = before;
    limit.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_CORE, &limit), 0);
    gasnett_setenv("GASNET_MAXIMIZE_T_CORE", "no");
    assert_true(gasnett_maximize_rlimit(RLIMIT_CORE, "T_CORE"));
    assert_int_equal(getrlimit(RLIMIT_CORE, &limit), 0);
    assert_true(limit.rlim_cur == 0);
    gasnett_unsetenv("GASNET_MAXIMIZE_T_CORE");
    assert_true(gasnett_maximize_rlimit(RLIMIT_CORE, "T_CORE"));
    assert_int_equal(getrlimit(RLIMIT_CORE, &limit), 0);
    assert_true(limit.rlim_cur == before.rlim_max);
    assert_int_equal(setrlimit(RLIMIT_CORE, &before), 0);
    assert_false(gasnett_maximize_rlimit(-1, "T_CORE"));
    assert_true(gasnett_maximize_rlimits());
}

static void close_all(void)
{
    gasnett_flush_streams();
    gasnett_close_streams();
    gasnett_close_streams();
    printf("nobody sees this\n");
    fflush(stdout);
    fprintf(stderr, "nor this\n");
    if (open("/dev/null", O_RDONLY) <= STDERR_FILENO)
        abort();
    gasnett_killmyprocess(42);
}

static void flush_only(void)
{
    dup2(STDERR_FILENO, STDOUT_FILENO);
    printf("this is seen");
    gasnett_flush_streams();
    gasnett_killmyprocess(0);
}

static void test_streams(void **state)
{
    char text[8192];
    (void)state;
    assert_int_equal(status_of_child(flush_only, text, sizeof text), 0);
    assert_non_null(strstr(text, "this is seen"));
    int status = status_of_child(close_all, text, sizeof text);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
    assert_string_equal(text, "");
}

static void fail_here(void)
{
    gasnett_fatalerror("%d apples are missing", 3);
}

static void fail_in_lines(void)
{
    gasnett_fatalerror("%s", "pears are missing:\n  2 in the cellar\n\n\t1 \033[1m here\n");
}

static void fail_in_lines_nopos(void)
{
    gasnett_fatalerror_nopos("one\n%s\n\n", "two");
}

static void fail_in_no_line(void)
{
    gasnett_fatalerror_nopos("\n");
}

// Returns the text behind the prefix of a message.
static const char *skip_prefix(const char *line)
{
    assert_memory_equal(line, "*** GASNet: ", 12);
    const char *message = strstr(line + 12, ": ");
    assert_non_null(message);
    return message + 2;
}

// Checks that the text has exactly these lines; each may be followed by a place in parentheses.
static void assert_lines(const char *text, const char *const *lines)
{
    for (; *lines; lines++) {
        const char *line = skip_prefix(text), *end = strchr(line, '\n');
        assert_non_null(end);
        assert_memory_equal(line, *lines, strlen(*lines));
        assert_true(line[strlen(*lines)] == '\n' || line[strlen(*lines) + 1] == '(');
        text = end + 1;
    }
    assert_string_equal(text, "");
}

static void test_fatal_lines(void **state)
{
    static const char *const four[] = {"fatal: pears are missing:", "  2 in the cellar", "",
                                       " 1  [1m here", NULL};
    static const char *const two[] = {"fatal: one", "two", NULL};
    static const char *const one[] = {"fatal: ", NULL};
    char text[8192];
    (void)state;
    gasnett_unsetenv("GASNET_BACKTRACE");
    expect_abort(fail_in_lines, "missing: (in fail_in_lines at ");
    status_of_child(fail_in_lines, text, sizeof text);
    assert_lines(text, four);
    status_of_child(fail_in_lines_nopos, text, sizeof text);
    assert_lines(text, two);
    status_of_child(fail_in_no_line, text, sizeof text);
    assert_lines(text, one);
}

static void fail_with_backtrace(void)
{
    gasnett_setenv("GASNET_BACKTRACE", "1");
    gasnett_backtrace_init(NULL);
    gasnett_fatalerror_nopos("no place");
}

static void abort_with_backtrace(void)
{
    gasnett_setenv("GASNET_BACKTRACE", "1");
    gasnett_backtrace_init(gasnett_exe_name());
    abort();
}

static void test_fatal(void **state)
{
    char text[8192];
    (void)state;
    gasnett_unsetenv("GASNET_BACKTRACE");
    expect_abort(fail_here, "fatal: 3 apples are missing (in fail_here at ");
    status_of_child(fail_here, text, sizeof text);
    assert_null(strstr(text, "backtrace"));
    status_of_child(fail_with_backtrace, text, sizeof text);
    assert_non_null(strstr(text, "fatal: no place\n"));
    char *first = strstr(text, "backtrace of process");
    assert_non_null(first);
    assert_null(strstr(first + 1, "backtrace of process"));
    expect_abort(abort_with_backtrace, "backtrace of process");
}

static int user_calls, user_result;

static int user_backtrace(int fd)
{
    user_calls++;
    return write(fd, "mine\n", 5) == 5 ? user_result : 1;
}

gasnett_backtrace_type_t gasnett_backtrace_user = {"MINE", user_backtrace, 1};

// Checks how often the client's own backtrace function was called, and whether (others = 1) another
// type of backtrace was printed.
static void expect_backtraces(const char *types, int result, int calls, int others)
{
    char text[8192] = "";
    FILE *file = tmpfile();
    assert_non_null(file);
    if (types)
        gasnett_setenv("GASNET_BACKTRACE_TYPE", types);
    else
        gasnett_unsetenv("GASNET_BACKTRACE_TYPE");
    user_calls = 0;
    user_result = result;
    int failed = gasnett_print_backtrace(fileno(file));
    assert_int_equal(user_calls, calls);
    assert_int_equal(failed == 0, (calls && result == 0) || others);
    ssize_t size = pread(fileno(file), text, sizeof text - 1, 0);
    assert_int_equal(size > calls * 5, others);
    fclose(file);
}

static void test_backtrace(void **state)
{
    (void)state;
    expect_backtraces(NULL, 0, 1, 0);
    expect_backtraces(NULL, 1, 1, 1);
    expect_backtraces("MINE", 0, 1, 0);
    expect_backtraces("MINE", 1, 1, 0);
    expect_backtraces("EXECINFO", 0, 0, 1);
    expect_backtraces("EXECINFO, MINE", 0, 0, 1);
    expect_backtraces("NONE,MINE,EXECINFO", 1, 1, 1);
    // With this PATH no debugger is found.
    char *path = strdup(getenv("PATH"));
    gasnett_setenv("PATH", "/dev/null");
    expect_backtraces("GDB,MINE", 0, 1, 0);
    expect_backtraces("GDB", 0, 0, 0);
    gasnett_setenv("PATH", path);
    free(path);
    gasnett_unsetenv("GASNET_BACKTRACE_TYPE");
}

static int print_replacement(int fd)
{
    return write(fd, "replaced", 8) != 8;
}

static void fail_with_replaced_backtrace(void)
{
    gasnett_print_backtrace_ifenabled = print_replacement;
    gasnett_fatalerror_nopos("x");
}

static volatile int wait_flag;

static void end_freeze(int number)
{
    (void)number;
    wait_flag = 1;
}

static void freeze_until_alarm(void)
{
    const struct itimerval soon = {{0, 0}, {0, 50000}};
    gasnett_reghandler(SIGALRM, end_freeze);
    setitimer(ITIMER_REAL, &soon, NULL);
    gasnett_freezeForDebuggerErr(); // returns: GASNET_FREEZE_ON_ERROR is not set
    gasnett_freezeForDebuggerNow(&wait_flag, "wait_flag");
    _exit(wait_flag == 1 ? 11 : 1);
}

static void test_hooks(void **state)
{
    char text[4096];
    (void)state;
    expect_abort(fail_with_replaced_backtrace, "replaced");
    gasnett_unsetenv("GASNET_FREEZE_ON_ERROR");
    int status = status_of_child(freeze_until_alarm, text, sizeof text);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 11);
    assert_non_null(strstr(text, "set wait_flag=1"));
    char *place = gasnett_current_loc;
    assert_non_null(strstr(place, "test_hooks at "));
    assert_non_null(strstr(place, "test_tools.c:"));
    free(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_bad),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_environment_bad),
        cmocka_unit_test(test_verbose),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_sleep_interrupted),
        cmocka_unit_test(test_count0s),
        cmocka_unit_test(test_checksum),
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_affinity),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_fatal),
        cmocka_unit_test(test_fatal_lines),
        cmocka_unit_test(test_backtrace),
        cmocka_unit_test(test_hooks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
