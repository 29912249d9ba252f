// SPDX-License-Identifier: BSD-3-Clause
// Reading a text file as a whole.
#pragma once

#include <stddef.h>

// Returns the contents of the file, *length bytes and a NUL; the caller frees them. NULL with errno
// set: EFBIG if there are more than `most` bytes, EISDIR for a folder. Does not block on pipes.
char *aq_text_file_read(const char *path, size_t most, size_t *length);
