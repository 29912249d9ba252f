// SPDX-License-Identifier: BSD-3-Clause
// Opens each file that the user names and hands it to its parser (view_csv.c, view_trace_read.c);
// gasnet_view calls nothing else to read.
#include "view_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "../../base/log/log.h"
#include "../../base/system/own_file.h"
#include "view_csv.h"
#include "view_trace_read.h"

// Reads a file into the matrix or trace; index: of the file. False: errbuf has the reason.
typedef bool (*file_read_t)(FILE *stream, const char *const *files, uint32_t index, void *to,
                            char *errbuf, size_t errbuf_size);

// setting: the one that names such files. Logs faults.
static bool files_load(const char *setting, const char *const *files, int count, file_read_t take,
                       void *to)
{
    char why[1024];
    bool read = true;
    for (int i = 0; i < count && read; i++) {
        FILE *stream = fopen(files[i], "re");
        read = stream && take(stream, files, (uint32_t)i, to, why, sizeof why);
        if (!stream)
            snprintf(why, sizeof why, "%s: cannot be read: %s; name the file of %s", files[i],
                     strerror(errno), setting);
        else
            (void)fclose(stream);
    }
    if (!read)
        aq_log_error("%s", why);
    return read;
}

static bool matrix_read(FILE *stream, const char *const *files, uint32_t index, void *to,
                        char *errbuf, size_t errbuf_size)
{
    aq_view_matrix_t *matrix = to;
    matrix->files = files;
    return aq_view_csv_read(stream, index, matrix, errbuf, errbuf_size);
}

bool aq_view_load_matrix(aq_view_matrix_t *matrix, const char *const *files, int count,
                         int64_t snapshot)
{
    char why[1024];
    if (!files_load("GASNET_TRAFFIC", files, count, matrix_read, matrix))
        return false;
    if (aq_view_matrix_finish(matrix, snapshot, why, sizeof why))
        return true;
    aq_log_error("%s", why);
    return false;
}

static bool trace_read(FILE *stream, const char *const *files, uint32_t index, void *to,
                       char *errbuf, size_t errbuf_size)
{
    return aq_view_trace_read(stream, files[index], to, errbuf, errbuf_size);
}

bool aq_view_load_trace(aq_view_trace_t *trace, const char *const *files, int count)
{
    if (!files_load("GASNET_TRACE", files, count, trace_read, trace))
        return false;
    if (aq_view_trace_finish(trace))
        return true;
    aq_log_error("out of memory for the events of the trace");
    return false;
}

static bool is_output(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

FILE *aq_view_create(const char *path)
{
    if (is_output(path))
        return stdout;
    const int file = aq_own_file_open(path, O_CREAT | O_TRUNC, 0666);
    FILE *stream = file >= 0 ? fdopen(file, "w") : NULL;
    if (!stream)
        aq_log_error("%s: cannot be written: %s; name a file in a folder that exists, to which "
                     "this user may write",
                     path, aq_own_file_error(errno));
    return stream;
}

bool aq_view_close(FILE *stream, const char *path)
{
    const bool failed = ferror(stream) != 0;
    if ((is_output(path) ? fflush(stream) : fclose(stream)) == 0 && !failed)
        return true;
    aq_log_error("%s: cannot be written: %s; make room there, or name another file",
                 is_output(path) ? "standard output" : path, strerror(errno));
    return false;
}
