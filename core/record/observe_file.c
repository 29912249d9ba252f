// SPDX-License-Identifier: BSD-3-Clause
// Opens the files to which ranks add what they have observed, and writes whole lines to them.
// trace_output.c, stats_file.c and traffic_file.c call it.
#include "observe_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../other/base/system/own_file.h"
#include "../../other/base/settings/settings_lists.h"
#include "../state/job.h"

enum { NAME_MAX = 4096, QUOTED_MAX = 1024 };

// ---- names ----

bool aq_observe_file_is_mine(const char *name, const char *ranks)
{
    uint32_t first = 0;
    if (strchr(name, '%'))
        return true;
    while (aq_settings_has_rank(ranks, aq_job.host.members[first].gex_jobrank) == 0)
        first++;
    return aq_job.host.my_index == first;
}

// The descriptor of this process that a name means; -1: none.
static int own_stream(const char *name)
{
    if (strcmp(name, "stdout") == 0)
        return STDOUT_FILENO;
    return strcmp(name, "stderr") == 0 || strcmp(name, "-") == 0 ? STDERR_FILENO : -1;
}

// Returns false if the path is too long.
static bool path_make(const char *name, char path[NAME_MAX])
{
    size_t used = 0;
    for (; *name && used < NAME_MAX; name++)
        used += (size_t)(*name == '%' ? snprintf(path + used, NAME_MAX - used, "%u", aq_job.rank)
                                      : snprintf(path + used, NAME_MAX - used, "%c", *name));
    return used < NAME_MAX;
}

// ---- opening ----

int aq_observe_file_write(int file, const char *text, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(file, text, length);
        if (written < 0 && errno != EINTR)
            return errno;
        text += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

// Refuses a pipe without a reader, and does not wait for one. -1: see errno. With make, the file is
// not opened for appending yet, so that hosts that make it at the same time write one title: all at
// its begin.
static int path_open(const char *path, bool make)
{
    return aq_own_file_open(path, O_CREAT | O_NONBLOCK | (make ? O_TRUNC : O_APPEND), 0666);
}

// As path_open. *is_stream: whether the file is a stream of this process.
static int name_open(const char *name, bool make, bool *is_stream)
{
    char path[NAME_MAX];
    const int stream = own_stream(name);
    *is_stream = stream >= 0;
    if (*is_stream)
        return fcntl(stream, F_DUPFD_CLOEXEC, 3);
    if (path_make(name, path))
        return path_open(path, make);
    errno = ENAMETOOLONG;
    return -1;
}

// Writes the title to a file that path_open has opened, and opens it for appending. Returns 0 or
// errno.
static int path_begin(int file, const char *title)
{
    const int error =
        lseek(file, 0, SEEK_CUR) == 0 ? aq_observe_file_write(file, title, strlen(title)) : 0;
    if (!error && fcntl(file, F_SETFL, O_APPEND | O_NONBLOCK) != 0)
        return errno;
    return error;
}

// Writes the title to a file that was opened, or warns that it was not. Returns the file or -1.
static int file_begin(const char *setting, const char *name, const char *title, bool make,
                      bool is_stream, int file)
{
    int error = file < 0 ? errno : 0;
    if (!error && make)
        error =
            is_stream ? aq_observe_file_write(file, title, strlen(title)) : path_begin(file, title);
    if (!error)
        return file;
    if (make)
        aq_log_warn("%s=%s: cannot write this file: %s; name a file in a folder that exists, to "
                    "which this user may write; the job goes on without it",
                    setting, name, aq_own_file_error(error));
    if (file >= 0)
        close(file);
    return -1;
}

int aq_observe_file_open(const char *setting, const char *name, const char *title, bool make)
{
    bool is_stream;
    const int file = name_open(name, make, &is_stream);
    return file_begin(setting, name, title, make, is_stream, file);
}

int aq_observe_path_open(const char *setting, const char *path, const char *title, bool make)
{
    return file_begin(setting, path, title, make, false, path_open(path, make));
}

// ---- lines ----

void aq_lines_add(aq_lines_t *lines, const char *fmt, ...)
{
    const size_t size = sizeof lines->text - lines->length;
    va_list args;
    va_start(args, fmt);
    const int length = vsnprintf(lines->text + lines->length, size, fmt, args);
    va_end(args);
    if (length > 0)
        lines->length += (size_t)length < size ? (size_t)length : size - 1;
}

void aq_lines_quote(aq_lines_t *lines, const char *text, size_t length)
{
    aq_lines_add(lines, "\"");
    for (size_t i = 0; i < length && i < QUOTED_MAX; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            aq_lines_add(lines, "\\%c", c);
        else if (c < ' ' || c >= 0x7f) // bytes that may be no UTF-8
            aq_lines_add(lines, "\\u%04x", c);
        else
            aq_lines_add(lines, "%c", c);
    }
    aq_lines_add(lines, "\"");
}

// Replaces the end of a regular file if the end is `from`. Opens the file again to read it, since
// the descriptor is for writing only.
static void end_replace(int file, const char *from, const char *to)
{
    const size_t length = strlen(from);
    char path[32], end[8] = "";
    struct stat st;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const int in = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (in < 0)
        return;
    if (fstat(in, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= (off_t)length &&
        pread(in, end, length, st.st_size - (off_t)length) == (ssize_t)length &&
        memcmp(end, from, length) == 0 && ftruncate(file, st.st_size - (off_t)length) == 0)
        (void)aq_observe_file_write(file, to, strlen(to));
    close(in);
}

#define ARRAY_OPEN ",\n" // the end of a file to which ranks add lines
#define ARRAY_CLOSED "\n]\n"

// how: F_UNLCK, or F_WRLCK, which waits for other ranks. Some file systems have no locks: there
// another rank may add lines behind the bracket of a rank that closes the array.
static void array_lock(int file, short how)
{
    struct flock lock = {.l_type = how, .l_whence = SEEK_SET};
    while (fcntl(file, F_OFD_SETLKW, &lock) != 0 && errno == EINTR)
        continue;
}

// Every rank that has written its last lines closes the array, and one that writes after it opens
// it again, so that it is closed when all are done.
static int array_write(const aq_lines_t *lines, bool last)
{
    array_lock(lines->file, F_WRLCK);
    end_replace(lines->file, ARRAY_CLOSED, ARRAY_OPEN);
    const int error = aq_observe_file_write(lines->file, lines->text, lines->length);
    if (last && !error)
        end_replace(lines->file, ARRAY_OPEN, ARRAY_CLOSED);
    array_lock(lines->file, F_UNLCK);
    return error;
}

static void lines_write(aq_lines_t *lines, bool last)
{
    if (!lines->error)
        lines->error = lines->array
                           ? array_write(lines, last)
                           : aq_observe_file_write(lines->file, lines->text, lines->length);
    lines->length = 0;
}

void aq_lines_end(aq_lines_t *lines)
{
    aq_lines_add(lines, "\n");
    if (lines->length + 2 * AQ_LONGEST_LINE_MAX > sizeof lines->text)
        lines_write(lines, false);
}

int aq_lines_flush(aq_lines_t *lines)
{
    lines_write(lines, true);
    return lines->error;
}
