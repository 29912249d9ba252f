// SPDX-License-Identifier: BSD-3-Clause
// Reading a text file as a whole, or its start.
#pragma once

#include <stddef.h>

// Returns the contents of the file, *length bytes and a NUL; the caller frees them. NULL with errno
// set: EFBIG if there are more than `most` bytes, EISDIR for a folder. Does not block on pipes.
char *aq_text_file_read(const char *path, size_t most, size_t *length);

// Reads the start of a file, such as one of /proc, into text[size], with a NUL at the end. Returns
// its bytes; 0: it cannot be read, or is empty.
size_t aq_text_file_start(const char *path, char *text, size_t size);
