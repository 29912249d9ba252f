// SPDX-License-Identifier: BSD-3-Clause
// The helper of a job, which a daemon forks.
#include "universe_fork.h"
#include "universe_coordinator.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../other/base/grow.h"
#include "../../other/base/system/open_files.h"
#include "../launch/helper.h"

// Restores what ranks must not inherit, and closes what belongs to the daemon: the link becomes
// descriptor 3, the pipe 4.
static bool shed_daemon(const aq_daemon_t *daemon, aq_link_t *link)
{
    int fd = fcntl(link->fd, F_DUPFD_CLOEXEC, 5),
        line = fcntl(daemon->jobs.lifeline[0], F_DUPFD_CLOEXEC, 5);
    if (fd < 0 || line < 0 || dup3(fd, 3, O_CLOEXEC) < 0 || dup3(line, 4, O_CLOEXEC) < 0)
        return false;
    (void)close_range(5, UINT_MAX, 0);
    link->fd = 3;
    aq_open_files_restore(&daemon->jobs.old_files);
    return setsid() >= 0;
}

__attribute__((noreturn)) static void become_helper(const aq_daemon_t *daemon, aq_link_t *link)
{
    uint8_t key[AQ_KEY_BYTES];
    memcpy(key, daemon->key, sizeof key);
    _exit(shed_daemon(daemon, link) ? aq_helper_serve(link, key, 4) : EXIT_FAILURE);
}

static bool note_guard(aq_daemon_t *daemon, pid_t pid)
{
    pid_t *guards =
        aq_grow(daemon->jobs.guards, daemon->jobs.count, &daemon->jobs.room, sizeof *guards);
    if (guards == NULL)
        return false;
    daemon->jobs.guards = guards;
    guards[daemon->jobs.count++] = pid;
    return true;
}

void aq_daemon_fork_helper(aq_daemon_t *daemon, aq_link_t *link)
{
    if (!note_guard(daemon, 0))
        return;
    pid_t pid = fork();
    if (pid == 0)
        become_helper(daemon, link);
    if (pid < 0)
        daemon->jobs.count--;
    else
        daemon->jobs.guards[daemon->jobs.count - 1] = pid;
    aq_daemon_tell_jobs(daemon);
}
