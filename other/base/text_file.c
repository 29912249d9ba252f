// SPDX-License-Identifier: BSD-3-Clause
// Reads in pieces, because files in /proc and pipes have no size. Lists of hosts and the tuning of
// collectives are read so.
#include "text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE ((size_t)64 * 1024)

// Appends one piece. Returns its bytes, 0 at the end of the file, or -1 with errno set.
static ssize_t append_piece(int fd, char **text, size_t most, size_t *length)
{
    char *more = *length <= most ? realloc(*text, *length + PIECE + 1) : NULL;
    if (more == NULL) {
        errno = EFBIG;
        return -1;
    }
    *text = more;
    ssize_t n = TEMP_FAILURE_RETRY(read(fd, more + *length, PIECE));
    *length += n > 0 ? (size_t)n : 0;
    more[*length] = '\0';
    return n;
}

// NULL with errno set.
static char *read_descriptor(int fd, size_t most, size_t *length)
{
    struct stat st;
    char *text = NULL;
    ssize_t n;
    *length = 0;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return NULL;
    }
    do
        n = append_piece(fd, &text, most, length);
    while (n > 0);
    if (n == 0)
        return text;
    int error = errno;
    free(text);
    errno = error;
    return NULL;
}

char *aq_text_file_read(const char *path, size_t most, size_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    char *text = read_descriptor(fd, most, length);
    int error = errno;
    (void)close(fd);
    errno = error;
    return text;
}

size_t aq_text_file_start(const char *path, char *text, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd >= 0 ? read(fd, text, size - 1) : 0;
    if (fd >= 0)
        (void)close(fd);
    text[length > 0 ? length : 0] = '\0';
    return length > 0 ? (size_t)length : 0;
}
