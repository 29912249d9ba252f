// SPDX-License-Identifier: BSD-3-Clause
// Reserved segments of neighbours, mapped in this process, so that puts and gets to them are
// inline.
//
//     owner       a sparse file of the size of the segment; Allocate makes its pages, Free takes
//                 them away
//     neighbour   maps all of the file, with userfaultfd: an access to a page that is not there
//                 is a fault (SIGBUS), and makes no page
//
// Without userfaultfd, or without room in the address space, the segments go by messages.
#pragma once

#include <stddef.h>

#include "../../other/base/log/status.h"

// The file of this process's reserved segment; -1: there is none, since no process of this
// neighbourhood could map it. Set by aq_reserved_map_share.
extern int aq_reserved_file;

// Makes the reserved segment of this process, size bytes at base without access, a file that
// neighbours map, and maps theirs; records these with aq_team_map. Logs once what cannot be mapped.
// Collective over the job; blocks.
aq_status_t aq_reserved_map_share(void *base, size_t size);

// Makes the pages of this part of the segment, filled with zeros, and gives this process access. Or
// takes access and pages away. Return 0 or errno; after an error the part is as before.
int aq_reserved_map_allocate(void *addr, size_t size, size_t offset);
int aq_reserved_map_free(void *addr, size_t size, size_t offset);
