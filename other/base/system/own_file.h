// SPDX-License-Identifier: BSD-3-Clause
// Files that the user names and this process writes. In a folder to which everybody may write
// (/tmp), another user may have put a file or link of that name. These functions apply the rules of
// the kernel's fs.protected_symlinks, protected_regular and protected_fifos, which not every host
// enables.
#pragma once

#include <sys/types.h>

// As open for writing, close on exec, with O_CREAT, O_APPEND, O_TRUNC and O_NONBLOCK as flags. In a
// sticky folder that others may write to, only files, pipes and symbolic links are taken that
// belong to this user or to the owner of the folder. Returns a descriptor, or -1 with errno; EPERM:
// there is something of another user. Any thread.
int aq_own_file_open(const char *path, int flags, mode_t mode);

// Makes a file beside that path, which aq_own_file_place gives its name. *temporary: its name until
// then, to be freed. Returns a descriptor, or -1 with errno; EEXIST: a device or a pipe is there.
int aq_own_file_make(const char *path, char **temporary);
// Renames the file to the path, replacing what is there, even a symbolic link; removes the file if
// `fine` is 0. Frees temporary. Returns 0 or errno.
int aq_own_file_place(char *temporary, const char *path, int fine);

// The meaning of an errno of these functions, as part of a sentence.
const char *aq_own_file_error(int error);
