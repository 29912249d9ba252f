// SPDX-License-Identifier: BSD-3-Clause
// Whether other users could have put code where a program would execute it.
//
// Trusted are root, this user, and those whose code runs in this process anyway: the owner of the
// file that this function is in (the library, or a program), its group if that can write to it,
// those who can change the folders above that file, and the owner of the root folder, who is root
// by another number in some containers. A group that is the user's alone, by number, is trusted
// like the user.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

// Whether the file, and all folders above it that are not above this code, too, belong to trusted
// users, and no others can write to them; others may write to a sticky folder (/tmp), which
// protects the files of its users. *real: the path without symbolic links, which must be used from
// then on. False: errbuf has a sentence without a full stop, which names the file or folder and the
// remedy. Any thread.
bool aq_trust_file(const char *path, char real[PATH_MAX], char *errbuf, size_t errbuf_size);
