// SPDX-License-Identifier: BSD-3-Clause
// Reading the files that list hosts.
#pragma once

#include <stddef.h>

// Returns the contents of the file, *length bytes and a NUL; the caller frees them. NULL: fault
// holds one sentence that begins with what. Does not block on pipes.
char *aq_hosts_load(const char *what, const char *path, size_t *length, char *fault, size_t size);
