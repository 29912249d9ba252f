// SPDX-License-Identifier: BSD-3-Clause
// The limit of open files. Most users have a low one that they may raise up to a second, hard
// limit.
#pragma once

#include <stdbool.h>
#include <sys/resource.h>

// Raises the limit of this process to `need` files, or as far as the hard limit allows
// (RLIM_INFINITY: always that far), and stores the former limits in *before, for
// aq_open_files_restore here or in a child. A limit that is high enough stays. True: `need` files
// may be open. Does not block.
bool aq_open_files_raise(rlim_t need, struct rlimit *before);

// Puts a limit back. Async-signal-safe; leaves errno alone.
void aq_open_files_restore(const struct rlimit *before);
