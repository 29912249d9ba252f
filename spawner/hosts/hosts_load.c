// SPDX-License-Identifier: BSD-3-Clause
// Reads a file that lists hosts, without blocking on a pipe, for the parsers of host files
// (hosts.c) and of the files of batch systems (hosts_find.c).
#include "hosts_load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../other/base/text_file.h"

#define FILE_MAX ((size_t)64 << 20)

char *aq_hosts_load(const char *what, const char *path, size_t *length, char *fault, size_t size)
{
    char *text = aq_text_file_read(path, FILE_MAX, length);
    if (text == NULL)
        snprintf(fault, size, "%s: the file '%s' cannot be read: %s", what, path, strerror(errno));
    return text;
}
