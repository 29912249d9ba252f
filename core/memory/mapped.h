// SPDX-License-Identifier: BSD-3-Clause
// Whether memory of this process exists.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Whether all these bytes are mapped and may be read, or written. A system call; the kernel may
// take pages for the memory. On kernels before Linux 5.14 only asks whether the bytes are mapped.
// Other threads may unmap the memory at any time. Any thread.
bool aq_mapped(const void *addr, size_t nbytes, bool written);
