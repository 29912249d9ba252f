// SPDX-License-Identifier: BSD-3-Clause
// Memory that is there before it is used: the kernel gives a page its memory, all zeros, when the
// page is used first, one page at a time. Several threads do that for large memory beforehand.
#ifndef AQ_TOUCH_H
#define AQ_TOUCH_H

#include <stddef.h>

// What aq_touch tells while it works: `done` of `bytes`. In the calling thread.
typedef void aq_touch_told_t(size_t done, size_t bytes, void *context);

// Gives `bytes` from `start`, writable and both multiples of the page size, their pages; contents
// stay. `threads`, at least 1, counts the caller; with fewer if the system refuses some. Memory
// comes from where the threads run, so call it where the memory will be used (NUMA). `told` may be
// NULL. Blocks: some 0.1 to 0.4 s for each GB and processor. Returns 0, or errno: ENOMEM, EFAULT:
// the memory is not there; then part of the pages may have been given.
int aq_touch(void *start, size_t bytes, unsigned threads, aq_touch_told_t *told, void *context);

#endif
