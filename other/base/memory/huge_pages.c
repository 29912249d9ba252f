// SPDX-License-Identifier: BSD-3-Clause
// Lists the folders of /sys/kernel/mm/hugepages. The core asks for them when it makes a segment of
// huge pages (core/memory/segment_pool.c).
#include "huge_pages.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define POOLS "/sys/kernel/mm/hugepages"

// Comparison function for qsort: the larger size first.
static int size_larger(const void *a, const void *b)
{
    const size_t left = *(const size_t *)a, right = *(const size_t *)b;
    return (left < right) - (left > right);
}

// The size of the pages of a pool by the name of its folder, such as "hugepages-2048kB", or 0.
static size_t pool_page_size(const char *folder)
{
    size_t kilobytes = 0;
    return sscanf(folder, "hugepages-%zukB", &kilobytes) == 1 ? kilobytes << 10 : 0;
}

unsigned aq_huge_page_sizes(size_t *sizes)
{
    unsigned count = 0;
    DIR *pools = opendir(POOLS);
    if (!pools)
        return 0;
    for (const struct dirent *pool; count < AQ_HUGE_PAGE_SIZES && (pool = readdir(pools));) {
        sizes[count] = pool_page_size(pool->d_name);
        count += sizes[count] > 0;
    }
    closedir(pools);
    qsort(sizes, count, sizeof *sizes, size_larger);
    return count;
}
