// SPDX-License-Identifier: BSD-3-Clause
// Giving memory its pages: all of them, by any number of threads, and contents stay.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../../other/base/memory/touch.h"
#include "../../../../other/base/minmax.h"
#include "../../../../other/base/system/quiet_thread.h"

enum { PAGE = 4096, PAGES = 25 * 1024 + 3, PIECES = 4 };

static unsigned begun; // threads

// Replaces that of the library.
int aq_quiet_thread_create(pthread_t *thread, void *(*run)(void *), void *arg)
{
    begun++;
    return pthread_create(thread, NULL, run, arg);
}

static char *map_file(size_t pages, size_t file_pages)
{
    int fd = memfd_create("test_touch", MFD_CLOEXEC);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)(file_pages * PAGE)) == 0);
    char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(memory != MAP_FAILED);
    close(fd);
    return memory;
}

static size_t count_there(char *memory)
{
    static unsigned char there[PAGES];
    size_t count = 0;
    assert_int_equal(mincore(memory, (size_t)PAGES * PAGE, there), 0);
    for (size_t i = 0; i < PAGES; i++)
        count += there[i] & 1;
    return count;
}

static void note_progress(size_t done, size_t bytes, void *context)
{
    size_t *last = context;
    assert_true(done >= *last && done <= bytes && bytes == (size_t)PAGES * PAGE);
    *last = done;
}

static void touch_by(unsigned threads)
{
    size_t last = 0;
    char *memory = map_file(PAGES, PAGES);
    for (size_t i = 0; i < PAGES; i += 1000)
        memory[i * PAGE + i % PAGE] = (char)(i / 1000 + 1);
    assert_int_equal(count_there(memory), (PAGES + 999) / 1000);
    begun = 0;
    assert_int_equal(aq_touch(memory, (size_t)PAGES * PAGE, threads, note_progress, &last), 0);
    assert_int_equal(begun, aq_min(threads, PIECES) - 1); // this thread takes pieces, too
    assert_int_equal(count_there(memory), PAGES);
    for (size_t i = 0; i < PAGES; i += 1000)
        assert_int_equal(memory[i * PAGE + i % PAGE], (char)(i / 1000 + 1));
    if (threads == 1)
        assert_true(last > 0);
    munmap(memory, (size_t)PAGES * PAGE);
}

static void test_all(void **state)
{
    (void)state;
    const unsigned threads[] = {1, 2, 3, 64, 1000};
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++)
        touch_by(threads[i]);
}

static void test_nothing(void **state)
{
    (void)state;
    assert_int_equal(aq_touch(NULL, 0, 4, NULL, NULL), 0);
}

// The end of the file is as memory that is not there.
static void test_absent(void **state)
{
    (void)state;
    char *memory = map_file(PAGES, PAGES / 2);
    assert_int_equal(aq_touch(memory, (size_t)PAGES * PAGE, 2, NULL, NULL), EFAULT);
    munmap(memory, (size_t)PAGES * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
