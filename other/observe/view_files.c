#include "view_files.h"

#include <errno.h>
#include <string.h>

#include "../base/log.h"
#include "view_csv.h"
#include "view_trace_read.h"

static bool file_load(aq_view_matrix_t *matrix, uint32_t index, char *why, size_t room)
{
    FILE *stream = fopen(matrix->files[index], "re");
    if (!stream) {
        snprintf(why, room, "%s: cannot be read: %s; name the file of GASNET_TRAFFIC",
                 matrix->files[index], strerror(errno));
        return false;
    }
    const bool read = aq_view_csv_read(stream, index, matrix, why, room);
    (void)fclose(stream);
    return read;
}

bool aq_view_load_matrix(aq_view_matrix_t *matrix, const char *const *files, int count,
                         int64_t snapshot)
{
    char why[1024];
    bool read = true;
    matrix->files = files;
    for (int i = 0; i < count && read; i++)
        read = file_load(matrix, (uint32_t)i, why, sizeof why);
    if (read && aq_view_matrix_finish(matrix, snapshot, why, sizeof why))
        return true;
    aq_log_error("%s", why);
    return false;
}

bool aq_view_load_trace(aq_view_trace_t *trace, const char *const *files, int count)
{
    char why[1024];
    bool read = true;
    for (int i = 0; i < count && read; i++) {
        FILE *stream = fopen(files[i], "re");
        read = stream && aq_view_trace_read(stream, files[i], trace, why, sizeof why);
        if (!stream)
            snprintf(why, sizeof why, "%s: cannot be read: %s; name the file of GASNET_TRACE",
                     files[i], strerror(errno));
        else
            (void)fclose(stream);
    }
    if (read && aq_view_trace_finish(trace))
        return true;
    aq_log_error("%s", read ? "out of memory for the events of the trace" : why);
    return false;
}

static bool is_output(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

FILE *aq_view_create(const char *path)
{
    FILE *stream = is_output(path) ? stdout : fopen(path, "we");
    if (!stream)
        aq_log_error("%s: cannot be written: %s; name a file in a folder that exists, to which "
                     "this user may write",
                     path, strerror(errno));
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
