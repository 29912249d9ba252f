// SPDX-License-Identifier: BSD-3-Clause
// Checks every part of a path before opening, and the opened file again. Statistics, traces and the
// output files of the programs go through here.
#include "own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Whether an entry of that owner in the folder may be another user's doing: the folder is sticky
// and writable, and the owner is neither this user nor the folder's.
static bool is_foreign(const char *folder, uid_t owner)
{
    struct stat st;
    return owner != geteuid() && stat(folder, &st) == 0 && (st.st_mode & S_ISVTX) != 0 &&
           (st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && owner != st.st_uid;
}

// The folder of the first `length` bytes of a path.
static void folder_of(const char *path, size_t length, char folder[PATH_MAX])
{
    while (length > 0 && path[length - 1] != '/')
        length--;
    snprintf(folder, PATH_MAX, "%.*s", length == 0 ? 1 : (int)length, length == 0 ? "." : path);
}

// Whether the first `length` bytes of a path name a symbolic link. *foreign: whether that, or
// whatever stands at the end of the path, is another user's.
static bool is_link(const char *path, size_t length, bool *foreign)
{
    char part[PATH_MAX], folder[PATH_MAX];
    struct stat st;
    snprintf(part, sizeof part, "%.*s", (int)length, path);
    if (lstat(part, &st) != 0 || (!S_ISLNK(st.st_mode) && path[length] != '\0'))
        return false;
    folder_of(path, length, folder);
    *foreign |= is_foreign(folder, st.st_uid);
    return S_ISLNK(st.st_mode);
}

// Whether a symbolic link on the path, or its last part, belongs to another user; *last: whether
// the last part is a link.
static bool is_foreign_path(const char *path, bool *last)
{
    const size_t length = strlen(path);
    bool foreign = false;
    for (size_t at = 1; at < length; at++)
        if (path[at] == '/' && path[at - 1] != '/')
            (void)is_link(path, at, &foreign);
    *last = is_link(path, length, &foreign);
    return foreign;
}

// Whether the open file is this user's own, by the folder in which it really is, behind links.
static bool is_own(int fd)
{
    char name[64], real[PATH_MAX], folder[PATH_MAX];
    struct stat st;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(name, real, sizeof real - 1);
    if (length <= 0 || real[0] != '/' || fstat(fd, &st) != 0)
        return true; // a pipe or socket that was open already
    real[length] = '\0';
    folder_of(real, (size_t)length, folder);
    return !is_foreign(folder, st.st_uid);
}

static int empty(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? ftruncate(fd, 0) : 0;
}

// The check and the open do not race: open does not follow a link that another user puts there in
// between (O_NOFOLLOW), and no other user can replace an own link in a sticky folder.
int aq_own_file_open(const char *path, int flags, mode_t mode)
{
    bool last = false;
    int error = EPERM;
    if (is_foreign_path(path, &last)) {
        errno = EPERM;
        return -1;
    }
    const int fd =
        open(path, O_WRONLY | O_CLOEXEC | (flags & ~O_TRUNC) | (last ? 0 : O_NOFOLLOW), mode);
    if (fd < 0)
        return -1;
    if (is_own(fd))
        error = (flags & O_TRUNC) != 0 && empty(fd) != 0 ? errno : 0;
    if (error == 0)
        return fd;
    (void)close(fd);
    errno = error;
    return -1;
}

// A device such as /dev/stdout must not become a file.
static bool is_taken(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

int aq_own_file_make(const char *path, char **temporary)
{
    *temporary = NULL;
    if (is_taken(path)) {
        errno = EEXIST;
        return -1;
    }
    if (asprintf(temporary, "%s.XXXXXX", path) < 0) {
        *temporary = NULL;
        errno = ENOMEM;
        return -1;
    }
    const mode_t mask = umask(0);
    (void)umask(mask);
    const int fd = mkostemp(*temporary, O_CLOEXEC);
    if (fd >= 0 && fchmod(fd, 0666 & ~mask) == 0)
        return fd;
    const int error = errno;
    if (fd >= 0) {
        (void)close(fd);
        (void)unlink(*temporary);
    }
    free(*temporary);
    *temporary = NULL;
    errno = error;
    return -1;
}

int aq_own_file_place(char *temporary, const char *path, int fine)
{
    const int error = fine && rename(temporary, path) != 0 ? errno : 0;
    if (!fine || error != 0)
        (void)unlink(temporary);
    free(temporary);
    return error;
}

const char *aq_own_file_error(int error)
{
    if (error == EEXIST)
        return "there is a device or a pipe";
    return error == EPERM ? "there is a file, a pipe or a symbolic link of another user"
                          : strerror(error);
}
