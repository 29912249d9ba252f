#include "hosts_load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX ((size_t)64 << 20)
#define PIECE ((size_t)64 * 1024)

// Appends one piece. Returns its bytes, 0 at the end of the file, or -1 with errno set.
static ssize_t append_piece(int fd, char **text, size_t *length)
{
    char *more = *length < FILE_MAX ? realloc(*text, *length + PIECE + 1) : NULL;
    if (more == NULL) {
        errno = EFBIG;
        return -1;
    }
    *text = more;
    ssize_t n = read(fd, more + *length, PIECE);
    *length += n > 0 ? (size_t)n : 0;
    more[*length] = '\0';
    return n;
}

// NULL with errno set.
static char *load_descriptor(int fd, size_t *length)
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
        n = append_piece(fd, &text, length);
    while (n > 0);
    if (n == 0)
        return text;
    int error = errno;
    free(text);
    errno = error;
    return NULL;
}

static char *load_path(const char *path, size_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    char *text = load_descriptor(fd, length);
    int error = errno;
    (void)close(fd);
    errno = error;
    return text;
}

char *aq_hosts_load(const char *what, const char *path, size_t *length, char *fault, size_t room)
{
    char *text = load_path(path, length);
    if (text == NULL)
        snprintf(fault, room, "%s: the file '%s' cannot be read: %s", what, path, strerror(errno));
    return text;
}
