// SPDX-License-Identifier: BSD-3-Clause
// The pools of huge pages that the kernel keeps, one for each size of page.
#pragma once

#include <stddef.h>

#define AQ_HUGE_PAGE_SIZES 8 // more than any processor has

// Writes the sizes of pages, in bytes, the largest first, and returns how many there are, at most
// AQ_HUGE_PAGE_SIZES; 0 if the kernel has no such pools. A pool may be empty. Linux:
// Documentation/admin-guide/mm/hugetlbpage.rst.
unsigned aq_huge_page_sizes(size_t *sizes);
