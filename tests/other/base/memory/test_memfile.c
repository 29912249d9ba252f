// SPDX-License-Identifier: BSD-3-Clause
// Shared memory without a name: create it, pass it to another process, and map it; and the messages
// about faults.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../../other/base/memory/memfile.h"

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static int create_memfile(size_t size)
{
    int fd = -1;
    assert_int_equal(aq_memfile_create("test", size, &fd), AQ_OK);
    assert_true(fd >= 0);
    return fd;
}

static size_t count_open_files(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

// Messages to standard error are captured between begin_capture and end_capture.
static int saved_stderr;
static FILE *captured;

static void begin_capture(void)
{
    captured = tmpfile();
    assert_non_null(captured);
    saved_stderr = dup(STDERR_FILENO);
    assert_true(saved_stderr >= 0);
    dup2(fileno(captured), STDERR_FILENO);
}

static void end_capture(char *text, size_t size)
{
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    rewind(captured);
    text[fread(text, 1, size - 1, captured)] = '\0';
    fclose(captured);
}

// Ends the capture, and checks that exactly one line was logged, which contains each of these
// words.
static void end_capture_with(const char *word, const char *other)
{
    char text[8192];
    end_capture(text, sizeof text);
    assert_non_null(strstr(text, word));
    assert_non_null(strstr(text, other));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void wait_for_success(pid_t child)
{
    int status;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_create(void **state)
{
    (void)state;
    struct stat st;
    int fd = create_memfile(12345);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 12345);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(fd);
}

static void test_create_is_sparse(void **state)
{
    (void)state;
    struct stat st;
    int fd = create_memfile((size_t)1 << 40);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_blocks, 0);
    close(fd);
}

static void test_create_impossible_size(void **state)
{
    (void)state;
    const size_t sizes[] = {0, SIZE_MAX, (size_t)INT64_MAX + 1};
    size_t before = count_open_files();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int fd = -5;
        begin_capture();
        aq_status_t status = aq_memfile_create("odd", sizes[i], &fd);
        end_capture_with("'odd'", "not a possible size");
        assert_int_equal(status, AQ_ERR_ARG);
        assert_int_equal(fd, -5);
    }
    assert_int_equal(count_open_files(), before);
}

static void test_create_without_descriptors(void **state)
{
    (void)state;
    struct rlimit old;
    int fd = -5;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    begin_capture();
    struct rlimit none = {.rlim_cur = 0, .rlim_max = old.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    aq_status_t status = aq_memfile_create("many", page_bytes(), &fd);
    setrlimit(RLIMIT_NOFILE, &old);
    end_capture_with("'many'", "ulimit -n");
    assert_int_equal(status, AQ_ERR_RESOURCE);
    assert_int_equal(fd, -5);
}

// A size beyond the limit on files makes ftruncate fail, and the descriptor that exists by then
// must be closed.
static void test_create_beyond_file_limit(void **state)
{
    (void)state;
    struct rlimit old;
    int fd = -5;
    size_t before = count_open_files();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    begin_capture();
    struct rlimit small = {.rlim_cur = 1 << 20, .rlim_max = old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    aq_status_t status = aq_memfile_create("large", 1 << 21, &fd);
    setrlimit(RLIMIT_FSIZE, &old);
    sigset_t pending;
    assert_int_equal(sigpending(&pending), 0);
    assert_false(sigismember(&pending, SIGXFSZ));
    end_capture_with("'large'", "ulimit -f");
    assert_int_equal(status, AQ_ERR_RESOURCE);
    assert_int_equal(fd, -5);
    assert_int_equal(count_open_files(), before);
}

static void test_ticket(void **state)
{
    (void)state;
    struct stat st;
    aq_memfile_ticket_t ticket;
    int fd = create_memfile(page_bytes());
    assert_int_equal(aq_memfile_ticket(fd, &ticket), AQ_OK);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(ticket.pid, getpid());
    assert_int_equal(ticket.fd, fd);
    assert_true(ticket.inode == st.st_ino);

    begin_capture(); // before close(fd): the file of the capture must not get the same number
    close(fd);
    aq_status_t status = aq_memfile_ticket(fd, &ticket);
    end_capture_with("descriptor", "must not close");
    assert_int_equal(status, AQ_ERR_RESOURCE);
}

static void test_open_own(void **state)
{
    (void)state;
    struct stat mine, again;
    aq_memfile_ticket_t ticket;
    int fd = create_memfile(page_bytes()), other = -1;
    assert_int_equal(aq_memfile_ticket(fd, &ticket), AQ_OK);
    assert_int_equal(aq_memfile_open(&ticket, &other), AQ_OK);
    assert_int_not_equal(fd, other);
    assert_int_equal(fstat(fd, &mine), 0);
    assert_int_equal(fstat(other, &again), 0);
    assert_true(mine.st_ino == again.st_ino && mine.st_dev == again.st_dev);
    assert_int_equal(fcntl(other, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(fd);
    void *p;
    // The second descriptor is valid without the first.
    assert_int_equal(aq_memfile_map(other, 0, page_bytes(), &p), AQ_OK);
    aq_memfile_unmap(p, page_bytes());
    close(other);
}

// Runs in a child without the inherited descriptor: opens the memory by ticket, checks the parent's
// text, and answers. Returns 0, or the number of the check that failed.
static int answer_through_ticket(const aq_memfile_ticket_t *ticket, int inherited)
{
    int fd;
    void *p;
    close(inherited);
    if (aq_memfile_open(ticket, &fd) != AQ_OK)
        return 1;
    if (!(fcntl(fd, F_GETFD) & FD_CLOEXEC))
        return 2;
    if (aq_memfile_map(fd, page_bytes(), page_bytes(), &p) != AQ_OK)
        return 3;
    if (strcmp(p, "question") != 0)
        return 4;
    strcpy(p, "answer");
    aq_memfile_unmap(p, page_bytes());
    close(fd);
    return 0;
}

static void test_open_from_child(void **state)
{
    (void)state;
    aq_memfile_ticket_t ticket;
    void *p;
    int fd = create_memfile(2 * page_bytes());
    assert_int_equal(aq_memfile_map(fd, page_bytes(), page_bytes(), &p), AQ_OK);
    assert_int_equal(aq_memfile_ticket(fd, &ticket), AQ_OK);
    strcpy(p, "question");
    pid_t child = fork();
    if (child == 0) {
        munmap(p, page_bytes());
        _exit(answer_through_ticket(&ticket, fd));
    }
    wait_for_success(child);
    assert_string_equal(p, "answer");
    aq_memfile_unmap(p, page_bytes());
    close(fd);
}

static aq_status_t open_captured(const aq_memfile_ticket_t *ticket, const char *word,
                                 const char *other)
{
    int fd = -5;
    size_t before = count_open_files();
    begin_capture();
    aq_status_t status = aq_memfile_open(ticket, &fd);
    end_capture_with(word, other);
    assert_int_equal(fd, -5);
    assert_int_equal(count_open_files(), before);
    return status;
}

static void test_open_wrong_file(void **state)
{
    (void)state;
    aq_memfile_ticket_t ticket;
    int fd = create_memfile(page_bytes());
    assert_int_equal(aq_memfile_ticket(fd, &ticket), AQ_OK);
    ticket.inode++;
    assert_int_equal(open_captured(&ticket, "another file", "--pid=host"), AQ_ERR_PEER);

    // A pipe has the descriptor's number by now.
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(aq_memfile_ticket(ends[0], &ticket), AQ_OK);
    assert_int_equal(open_captured(&ticket, "another file", "--pid=host"), AQ_ERR_PEER);
    close(ends[0]);
    close(ends[1]);
    close(fd);
}

static void test_open_wrong_file_of_other(void **state)
{
    (void)state;
    aq_memfile_ticket_t ticket;
    int fd = create_memfile(page_bytes());
    assert_int_equal(aq_memfile_ticket(fd, &ticket), AQ_OK);
    ticket.inode++;
    pid_t child = fork();
    if (child == 0)
        _exit(open_captured(&ticket, "another file", "process") == AQ_ERR_PEER ? 0 : 1);
    wait_for_success(child);
    close(fd);
}

static void test_open_of_ended_process(void **state)
{
    (void)state;
    int fd = create_memfile(page_bytes());
    aq_memfile_ticket_t ticket;
    assert_int_equal(aq_memfile_ticket(fd, &ticket), AQ_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    wait_for_success(child);
    ticket.pid = child;
    assert_int_equal(open_captured(&ticket, "process", "hidepid"), AQ_ERR_RESOURCE);
    close(fd);
}

static void test_open_of_closed_descriptor(void **state)
{
    (void)state;
    int fd = create_memfile(page_bytes());
    aq_memfile_ticket_t ticket;
    assert_int_equal(aq_memfile_ticket(fd, &ticket), AQ_OK);
    int out = -5;
    begin_capture(); // before close(fd): the file of the capture must not get the same number
    close(fd);
    aq_status_t status = aq_memfile_open(&ticket, &out);
    end_capture_with("cannot be opened", "process");
    assert_int_equal(status, AQ_ERR_RESOURCE);
    assert_int_equal(out, -5);
}

static void test_map_refused(void **state)
{
    (void)state;
    void *p = &p;
    begin_capture();
    aq_status_t status = aq_memfile_map(-1, 0, page_bytes(), &p);
    end_capture_with("cannot be mapped", "GASNET_MAX_SEGSIZE");
    assert_int_equal(status, AQ_ERR_RESOURCE);
    assert_ptr_equal(p, &p);
}

static void test_map_offset(void **state)
{
    (void)state;
    char *whole, *second;
    int fd = create_memfile(2 * page_bytes());
    assert_int_equal(aq_memfile_map(fd, 0, 2 * page_bytes(), (void **)&whole), AQ_OK);
    assert_int_equal(aq_memfile_map(fd, page_bytes(), page_bytes(), (void **)&second), AQ_OK);
    whole[page_bytes()] = 7;
    assert_int_equal(second[0], 7);
    second[1] = 8;
    assert_int_equal(whole[page_bytes() + 1], 8);
    aq_memfile_unmap(second, page_bytes());
    aq_memfile_unmap(whole, 2 * page_bytes());
    aq_memfile_unmap(NULL, page_bytes());
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_create_is_sparse),
        cmocka_unit_test(test_create_impossible_size),
        cmocka_unit_test(test_create_without_descriptors),
        cmocka_unit_test(test_create_beyond_file_limit),
        cmocka_unit_test(test_ticket),
        cmocka_unit_test(test_open_own),
        cmocka_unit_test(test_open_from_child),
        cmocka_unit_test(test_open_wrong_file),
        cmocka_unit_test(test_open_wrong_file_of_other),
        cmocka_unit_test(test_open_of_ended_process),
        cmocka_unit_test(test_open_of_closed_descriptor),
        cmocka_unit_test(test_map_refused),
        cmocka_unit_test(test_map_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
