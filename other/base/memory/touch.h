// SPDX-License-Identifier: BSD-3-Clause
// Populates memory before its first use. Otherwise the kernel allocates and clears each page when
// it is touched first, one page at a time; here several threads share that work.
#pragma once

#include <stddef.h>

// Called by aq_touch while it works, in the calling thread: `done` of `bytes` have their pages.
typedef void aq_touch_told_t(size_t done, size_t bytes, void *context);

// Gives `bytes` from `start`, writable and both multiples of the page size, their pages; contents
// stay. `threads`, at least 1, counts the caller; with fewer if the system refuses some. Memory
// comes from where the threads run, so call it where the memory will be used (NUMA). `told` may be
// NULL. Blocks: some 0.1 to 0.4 s for each GB and processor. Returns 0, or errno: ENOMEM, EFAULT:
// the memory is not there; then part of the pages may have been given.
int aq_touch(void *start, size_t bytes, unsigned threads, aq_touch_told_t *told, void *context);
