// SPDX-License-Identifier: BSD-3-Clause
// The memory files of the ranks, which the supervisor keeps open, so that they outlive a rank and
// are found in one place.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../other/base/memory/memfile.h"
#include "../../other/observe/format/rank_file.h"
#include "supervisor_files.h"

// Writes for which rank the file is. False: the write failed.
static bool file_begin(const aq_supervised_t *job, uint32_t rank, int file)
{
    const struct {
        char magic[8];
        uint32_t version, starter_rank;
        int32_t starter;
    } begin = {.magic = AQ_RANK_FILE_MAGIC,
               .version = AQ_RANK_FILE_VERSION,
               .starter_rank = rank + 1,
               .starter = job->self};
    _Static_assert(offsetof(aq_rank_head_t, pid) == offsetof(__typeof__(begin), starter) + 4,
                   "the head of the file begins alike");
    return pwrite(file, &begin, sizeof begin, 0) == (ssize_t)sizeof begin;
}

// Names the launcher, which readers ask about ranks of other hosts. If the write fails, they see
// the ranks of this host only.
static void file_name_launcher(const aq_supervised_t *job, int file)
{
    const aq_supervise_part_t *part = job->options->part;
    if (!part)
        return;
    aq_shown_launcher_t launcher = {.pid = (int32_t)part->launcher};
    snprintf(launcher.host, sizeof launcher.host, "%s", part->launcher_host);
    (void)!pwrite(file, &launcher, offsetof(aq_shown_launcher_t, other_hosts),
                  offsetof(aq_rank_head_t, launcher));
}

void aq_supervised_make_file(aq_supervised_t *job, uint32_t place)
{
    const uint32_t rank = aq_supervised_rank(job, place);
    int file;
    if (!job->keeps_files ||
        aq_memfile_try_create(AQ_RANK_FILE_NAME, aq_rank_head_bytes(), &file) != 0)
        return;
    if (!file_begin(job, rank, file)) {
        (void)close(file);
        return;
    }
    file_name_launcher(job, file);
    job->ranks[place].file = file;
    aq_page_rank_files(job->page)[rank] = file;
}
