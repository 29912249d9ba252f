// SPDX-License-Identifier: BSD-3-Clause
// Gives the segments of gex_Segment_Attach huge pages, or all their pages at once. expose/segment.c
// calls it between the mapping of the segments and the attach of the conduits.
#include "segment_pages.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "../../other/base/memory/touch.h"
#include "../state/job.h"
#include "../progress/progress.h"

#define SHARED_PAGES "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
#define TELL_NS UINT64_C(2000000000)
#define GIGABYTE 1e9

// ---- huge pages ----

// The word in brackets, such as "advise" of "always within_size [advise] never"; "" if the kernel
// has no such file.
static void read_choice(char *word, size_t size)
{
    char line[128] = "";
    FILE *file = fopen(SHARED_PAGES, "re");
    word[0] = '\0';
    if (!file)
        return;
    const char *begin = fgets(line, sizeof line, file) ? strchr(line, '[') : NULL;
    if (begin)
        snprintf(word, size, "%.*s", (int)strcspn(begin + 1, "]"), begin + 1);
    (void)fclose(file);
}

static void tell_refused(const char *choice)
{
    if (aq_job.host.members[0].gex_jobrank != aq_job.rank)
        return;
    if (*choice)
        aq_log_warn(
            "GASNET_USE_HUGEPAGES=1: this kernel gives shared memory no huge pages (" SHARED_PAGES
            " is '%s') and has no free ones for these segments in its pool, so the segments have "
            "small ones; have the administrator write 'advise' to that file, or reserve pages of 2 "
            "MiB (sysctl vm.nr_hugepages)",
            choice);
    else
        aq_log_warn("GASNET_USE_HUGEPAGES=1: this kernel has no huge pages for shared memory "
                    "(there is no " SHARED_PAGES
                    ") and no free ones for these segments in its pool, so the segments have small "
                    "ones; have the administrator reserve pages of 2 MiB (sysctl vm.nr_hugepages)");
}

void aq_segment_ask_huge_pages(void *const *here)
{
    char choice[32];
    if (!aq_settings_bool(AQ_SET_USE_HUGEPAGES) || aq_job.env.segment_pool >= 0)
        return;
    read_choice(choice, sizeof choice);
    if (!*choice || strcmp(choice, "never") == 0 || strcmp(choice, "deny") == 0) {
        tell_refused(choice);
        return;
    }
    for (uint32_t r = 0; r < aq_job.size; r++)
        if (here[r] && aq_job.segment_size[r] > 0)
            (void)madvise(here[r], aq_job.segment_size[r], MADV_HUGEPAGE);
}

// ---- all pages ----

typedef struct telling {
    uint64_t begin, next;
    unsigned processors;
} telling_t;

static void tell_progress(size_t done, size_t bytes, void *context)
{
    telling_t *telling = context;
    const uint64_t now = aq_clock_ns();
    if (now < telling->next)
        return;
    telling->next = now + TELL_NS;
    aq_log_notice("gex_Segment_Attach: %.1f of %.1f GB of the segment have their pages after %.0f "
                  "s, by %u processors",
                  (double)done / GIGABYTE, (double)bytes / GIGABYTE,
                  (double)(now - telling->begin) / 1e9, telling->processors);
}

static bool is_wanted(uintptr_t size)
{
    if (aq_settings_bool(AQ_SET_SEGMENT_TOUCH))
        return true;
    for (unsigned i = 0; i < aq_job.conduit_count; i++) {
        aq_conduit_t *conduit = aq_job.conduits[i];
        if (conduit->ops->memory.fills_segment && conduit->ops->memory.fills_segment(conduit, size))
            return true;
    }
    return false;
}

aq_status_t aq_segment_give_pages(void *segment, uintptr_t size)
{
    const uint64_t now = aq_clock_ns();
    telling_t telling = {now, now + TELL_NS, aq_progress_processors()};
    if (size == 0 || !is_wanted(size))
        return AQ_OK;
    const bool verbose = aq_settings_bool(AQ_SET_VERBOSE);
    const int error =
        aq_touch(segment, size, telling.processors, verbose ? tell_progress : NULL, &telling);
    if (error == 0)
        return AQ_OK;
    aq_log_error("gex_Segment_Attach: the segment of this rank (%lu bytes) cannot have all its "
                 "pages (%s): this host or container has not enough memory; ask for less, or start "
                 "fewer ranks on this host",
                 size, strerror(error));
    return AQ_ERR_RESOURCE;
}
