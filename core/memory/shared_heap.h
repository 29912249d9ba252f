// SPDX-License-Identifier: BSD-3-Clause
// Memory of a process that its neighbours can map, so that they read or write it by one copy.
//
//     owner       maps a file without a name at the first allocation, and describes it in the
//                 scratch that the neighbourhood shares
//     neighbour   maps all of the file when it first looks for memory of the owner, and keeps it
//
// - The file has the size of GASNET_MSG_SHARED from the first moment, and never another one, so a
//   mapping is right as long as the process lives. The file is sparse: pages that were never
//   written take no memory. Pages of freed blocks stay, and are used again.
// - A neighbour trusts only the file itself: it asks the kernel for the size, and compares each
//   address with that.
// - A process that has no neighbours, or cannot make the file, has a heap in private memory.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Takes memory, aligned to 64 bytes and not initialized, or NULL: no room is left. Any thread; the
// first call blocks for a moment.
void *aq_shared_heap_take(size_t nbytes);

// Gives memory back. False, and nothing was done: it was not taken. Any thread; does not block.
bool aq_shared_heap_give(void *memory);

// Whether nbytes are in the heap of this process, and neighbours can map it. Any thread; does not
// block.
bool aq_shared_heap_holds(const void *memory, size_t nbytes);

// Returns where this process has mapped nbytes at an address of another job rank, or NULL: they are
// not in the heap of that rank, or this process cannot map it. Ends the job if only a part of them
// is in the heap. Any thread; the first call for a rank blocks for a moment.
char *aq_shared_heap_find(uint32_t jobrank, uint64_t address, size_t nbytes);
