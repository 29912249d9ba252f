// SPDX-License-Identifier: BSD-3-Clause
// A file that the hosts of a job share: each of them makes it, at the same time, and it has one
// title.
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../unit/unit_test.h"

#include "../../../core/record/observe_file.h"

enum { HOSTS = 2, ROUNDS = 3000 };

static const char title[] = "[\n";
static char path[] = "/tmp/test_observe_file.XXXXXX";
static pthread_barrier_t barrier;

static atomic_uint faults; // cmocka's assertions work in the first thread only

// Makes the file, and adds a line to it when all hosts have made it.
static void line_add(void)
{
    const int file = aq_observe_path_open("GASNET_TRACE", path, title, true);
    pthread_barrier_wait(&barrier);
    faults += file < 0 || aq_observe_file_write(file, "x\n", 2) != 0;
    close(file);
}

static void check(void)
{
    char text[64] = "";
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = read(file, text, sizeof text - 1);
    faults += length != 6 || strcmp(text, "[\nx\nx\n") != 0;
    close(file);
}

static void *host(void *checks)
{
    for (int i = 0; i < ROUNDS; i++) {
        line_add();
        pthread_barrier_wait(&barrier);
        if (checks)
            check();
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void test_two_hosts(void **state)
{
    (void)state;
    pthread_t other;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(pthread_barrier_init(&barrier, NULL, HOSTS), 0);
    assert_int_equal(pthread_create(&other, NULL, host, NULL), 0);
    host(path);
    assert_int_equal(pthread_join(other, NULL), 0);
    unlink(path);
    assert_int_equal(faults, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_hosts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
