// SPDX-License-Identifier: BSD-3-Clause
// Raises the soft limit by setrlimit. Supervisors, daemons and the launcher call it before they
// open a file per rank or host, and give children the old limit back.
#include "open_files.h"

#include <errno.h>

#include "../minmax.h"

bool aq_open_files_raise(rlim_t need, struct rlimit *before)
{
    (void)getrlimit(RLIMIT_NOFILE, before);
    if (before->rlim_cur >= need)
        return true;
    const struct rlimit raised = {aq_min(need, before->rlim_max), before->rlim_max};
    return setrlimit(RLIMIT_NOFILE, &raised) == 0 && raised.rlim_cur == need;
}

void aq_open_files_restore(const struct rlimit *before)
{
    const int error = errno;
    (void)setrlimit(RLIMIT_NOFILE, before);
    errno = error;
}
