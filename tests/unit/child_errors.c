// SPDX-License-Identifier: BSD-3-Clause
#include "child_errors.h"

#include "unit_test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE = 65536 };

static char *read_all(int fd)
{
    char *text = NULL;
    size_t length = 0;
    ssize_t n;
    do {
        text = realloc(text, length + PIECE + 1);
        assert_non_null(text);
        n = read(fd, text + length, PIECE);
        assert_true(n >= 0);
        length += (size_t)n;
    } while (n > 0);
    text[length] = '\0';
    return text;
}

char *child_errors(void (*body)(void))
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        body();
        _exit(0);
    }
    close(ends[1]);
    char *text = read_all(ends[0]);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return text;
}
