// SPDX-License-Identifier: BSD-3-Clause
// The log writes each message as one whole line, whatever the sender and the content.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../../other/base/log/log.h"
#include "../../../unit/child_errors.h"
#include "../../../unit/assert_between.h"

#define THREADS 4
#define LINES 200

static void assert_output(void (*body)(void), const char *sender, const char *message)
{
    char expected[1024];
    snprintf(expected, sizeof expected, "*** GASNet: %s on host %s: %s\n", sender, aq_log_host(),
             message);
    char *text = child_errors(body);
    assert_string_equal(text, expected);
    free(text);
}

static void log_as_rank(void)
{
    aq_log_program("launcher");
    aq_log_identity(3, 8);
    aq_log_error("value %d is %s", 42, "odd");
}

static void log_as_last_rank(void)
{
    aq_log_identity(UINT32_MAX - 1, UINT32_MAX);
    aq_log_error("here");
}

static void log_as_program(void)
{
    aq_log_program("launcher");
    aq_log_error("no such file");
}

static void log_without_identity(void)
{
    aq_log_error("hello");
}

static void test_senders(void **state)
{
    (void)state;
    assert_output(log_as_rank, "rank 3 of 8", "value 42 is odd");
    assert_output(log_as_last_rank, "rank 4294967294 of 4294967295", "here");
    assert_output(log_as_program, "launcher", "no such file");
    assert_output(log_without_identity, program_invocation_short_name, "hello");
}

static void test_host_is_known(void **state)
{
    (void)state;
    char name[256] = "";
    assert_int_equal(gethostname(name, sizeof name - 1), 0);
    assert_string_equal(aq_log_host(), name);
}

static void log_two_warnings(void)
{
    aq_log_identity(0, 1);
    aq_log_warn("heard");
    aq_log_quiet(true);
    aq_log_warn("not heard");
}

static void log_error_when_quiet(void)
{
    aq_log_identity(0, 1);
    aq_log_quiet(true);
    aq_log_error("heard");
}

static void log_three_infos(void)
{
    aq_log_identity(0, 1);
    aq_log_info("not heard");
    aq_log_verbose(true);
    aq_log_info("heard");
    aq_log_verbose(false);
    aq_log_info("not heard either");
}

static void test_quiet_and_verbose(void **state)
{
    (void)state;
    assert_output(log_two_warnings, "rank 0 of 1", "warning: heard");
    assert_output(log_error_when_quiet, "rank 0 of 1", "heard");
    assert_output(log_three_infos, "rank 0 of 1", "heard");
}

// A pipe that keeps each write apart receives a line that is longer than what libraries of C
// collect for an unbuffered stream.
static void test_counts_are_one_write(void **state)
{
    (void)state;
    int ends[2];
    char text[1024];
    const int before = dup(STDERR_FILENO);
    assert_int_equal(pipe2(ends, O_DIRECT), 0);
    dup2(ends[1], STDERR_FILENO);
    aq_log_counts("net: %0500d in all", 42);
    dup2(before, STDERR_FILENO);
    const ssize_t length = read(ends[0], text, sizeof text);
    assert_int_equal(length, 5 + 500 + 8);
    assert_memory_equal(text, "net: 000", 8);
    assert_memory_equal(text + length - 11, "042 in all\n", 11);
    close(before);
    close(ends[0]);
    close(ends[1]);
}

static void repeat_with_addition(const char *message)
{
    aq_log_repeat(message, ", and more");
}

static void log_diverted(void)
{
    aq_log_identity(3, 8);
    aq_log_divert(repeat_with_addition);
    aq_log_error("value %d", 42);
    aq_log_divert(NULL);
}

// A diverted message is printed with the identity it was logged with, and with the addition.
static void test_divert(void **state)
{
    (void)state;
    assert_output(log_diverted, "rank 3 of 8", "value 42, and more");
}

static void log_control_characters(void)
{
    aq_log_identity(0, 1);
    aq_log_error("a\nb\tc\x1b[31md\x7f");
}

static void test_controls_are_blanked(void **state)
{
    (void)state;
    assert_output(log_control_characters, "rank 0 of 1", "a b c [31md ");
}

static void log_empty(void)
{
    aq_log_identity(0, 1);
    aq_log_error("%s", "");
}

static void test_empty_message(void **state)
{
    (void)state;
    assert_output(log_empty, "rank 0 of 1", "");
}

static void log_long(void)
{
    char text[10000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    aq_log_identity(0, 1);
    aq_log_error("%s", text);
}

static void test_long_message_is_cut(void **state)
{
    (void)state;
    const char *mark = " [cut]\n";
    char *text = child_errors(log_long);
    size_t length = strlen(text);
    assert_true(length <= 4096);
    assert_true(length > 4000);
    assert_string_equal(text + length - strlen(mark), mark);
    assert_ptr_equal(strchr(text, '\n'), text + length - 1);
    free(text);
}

// Messages of lengths around the limit, from which on messages are cut.
static size_t edge_length;

static void log_edge(void)
{
    aq_log_identity(0, 1);
    aq_log_error("%*s", (int)edge_length, "y");
}

static void test_edge_of_cut(void **state)
{
    (void)state;
    char prefix[512];
    int used =
        snprintf(prefix, sizeof prefix, "*** GASNet: rank 0 of 1 on host %s: ", aq_log_host());
    bool cut_before = false;
    for (edge_length = 4080 - (size_t)used; edge_length < 4110 - (size_t)used; edge_length++) {
        char *text = child_errors(log_edge);
        size_t length = strlen(text);
        bool cut = strstr(text, " [cut]\n") != NULL;
        assert_true(length <= 4096);
        assert_true(cut || length == (size_t)used + edge_length + 1);
        assert_true(cut || strcmp(text + length - 2, "y\n") == 0);
        assert_true(cut || !cut_before);
        cut_before = cut;
        free(text);
    }
    assert_true(cut_before);
}

static void log_and_check_errno(void)
{
    errno = EDOM;
    close(STDERR_FILENO);
    aq_log_error("into the void");
    if (errno != EDOM)
        _exit(1);
}

static void test_errno_survives(void **state)
{
    (void)state;
    char *text = child_errors(log_and_check_errno);
    assert_string_equal(text, "");
    free(text);
}

static void *log_many(void *arg)
{
    int thread = *(int *)arg;
    for (int i = 0; i < LINES; i++)
        aq_log_error("thread %d line %d %0*d end", thread, i, 300 + thread, 0);
    return NULL;
}

static void log_in_threads(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    aq_log_identity(1, 2);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, log_many, &numbers[i]) != 0)
            _exit(1);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void log_in_threads_without_blocking(void)
{
    fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
    log_in_threads();
}

// Every line is whole, the lines of each thread are in order, and none is lost.
static void check_lines(char *text)
{
    char prefix[512];
    snprintf(prefix, sizeof prefix, "*** GASNet: rank 1 of 2 on host %s: ", aq_log_host());
    int next[THREADS] = {0};
    int lines = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && *line; lines++) {
        int thread, number;
        assert_memory_equal(line, prefix, strlen(prefix));
        assert_int_equal(sscanf(line + strlen(prefix), "thread %d line %d", &thread, &number), 2);
        assert_between(thread, 0, THREADS - 1);
        assert_int_equal(number, next[thread]++);
        char expected[1024];
        snprintf(expected, sizeof expected, "thread %d line %d %0*d end", thread, number,
                 300 + thread, 0);
        assert_string_equal(line + strlen(prefix), expected);
    }
    assert_int_equal(lines, THREADS * LINES);
}

static void test_threads_do_not_mix(void **state)
{
    (void)state;
    char *text = child_errors(log_in_threads);
    check_lines(text);
    free(text);
    text = child_errors(log_in_threads_without_blocking);
    check_lines(text);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_senders),
        cmocka_unit_test(test_host_is_known),
        cmocka_unit_test(test_quiet_and_verbose),
        cmocka_unit_test(test_counts_are_one_write),
        cmocka_unit_test(test_divert),
        cmocka_unit_test(test_controls_are_blanked),
        cmocka_unit_test(test_empty_message),
        cmocka_unit_test(test_long_message_is_cut),
        cmocka_unit_test(test_edge_of_cut),
        cmocka_unit_test(test_errno_survives),
        cmocka_unit_test(test_threads_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
