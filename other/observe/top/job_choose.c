// SPDX-License-Identifier: BSD-3-Clause
// Which job is meant, of those that were found.
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job_watch.h"
#include "../format/look_format.h"
#include "process_table.h"

static bool job_has_process(const aq_watched_job_t *job, pid_t pid)
{
    for (uint32_t i = 0; i < job->found; i++)
        if (job->rank[i]->pid == pid || job->rank[i]->starter == pid)
            return true;
    return false;
}

static bool job_is_below(const aq_watched_job_t *job, pid_t pid)
{
    for (uint32_t i = 0; i < job->found; i++) {
        const aq_watched_rank_t *rank = job->rank[i];
        if (aq_process_is_above(pid, rank->starter ? rank->starter : rank->pid))
            return true;
    }
    return false;
}

static bool job_is_named(const aq_watched_job_t *job, const char *text)
{
    return strcmp(job->rank[0]->seen.program, text) == 0;
}

static void list_jobs(const aq_watch_t *watch, char *errbuf, size_t errbuf_size)
{
    size_t used = (size_t)snprintf(errbuf, errbuf_size,
                                   "name one of these jobs, by the process or by the "
                                   "program:");
    for (size_t i = 0; i < watch->job_count && used < errbuf_size; i++) {
        const aq_watched_rank_t *rank = watch->jobs[i].rank[0];
        used += (size_t)snprintf(
            errbuf + used, errbuf_size - used, "\n    %d  %s, %" PRIu32 " ranks",
            (int)(rank->starter ? rank->starter : rank->pid), rank->seen.program, rank->seen.ranks);
    }
}

static void explain_none(const aq_watch_t *watch, char *errbuf, size_t errbuf_size)
{
    if (watch->other_versions)
        snprintf(errbuf, errbuf_size,
                 "process %d shows its state in version %" PRIu32 " and this program reads version "
                 "%d: use the gasnet_top of the installation that the job uses",
                 (int)watch->version_pid, watch->version, AQ_RANK_FILE_VERSION);
    else
        snprintf(errbuf, errbuf_size,
                 "no job of this user runs on this host: start gasnet_top on a host of the job, as "
                 "the user of the job");
}

static bool is_of_other_user(pid_t pid, uid_t *user)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (stat(path, &st) != 0)
        return false;
    *user = st.st_uid;
    return geteuid() != 0 && st.st_uid != geteuid();
}

static void explain_process(const aq_watch_t *watch, pid_t pid, char *errbuf, size_t errbuf_size)
{
    aq_process_t process;
    uid_t user;
    if (!aq_process_look(pid, &process)) {
        snprintf(errbuf, errbuf_size,
                 "there is no process %d: the job has ended, or runs on another host; gasnet_top "
                 "without a number lists the jobs of this host",
                 (int)pid);
    } else if (is_of_other_user(pid, &user)) {
        const struct passwd *entry = getpwuid(user);
        snprintf(errbuf, errbuf_size,
                 "process %d belongs to user %s: start gasnet_top as this user", (int)pid,
                 entry ? entry->pw_name : "(no name)");
    } else if (watch->other_versions && aq_process_is_above(pid, watch->version_pid)) {
        explain_none(watch, errbuf, errbuf_size);
    } else {
        snprintf(errbuf, errbuf_size,
                 "process %d (%s) has no rank of a job on this host: give the launcher or a rank; "
                 "gasnet_top without a number lists the jobs of this host",
                 (int)pid, process.name);
    }
}

// The only one of so many jobs that fit; of several none is meant. Returns whether any fits.
static bool choose_only(const aq_watch_t *watch, unsigned count, aq_watched_job_t **found,
                        char *errbuf, size_t errbuf_size)
{
    if (count == 1)
        return true;
    *found = NULL;
    if (count)
        list_jobs(watch, errbuf, errbuf_size);
    return count > 0;
}

static aq_watched_job_t *choose_process(aq_watch_t *watch, pid_t pid, char *errbuf,
                                        size_t errbuf_size)
{
    aq_watched_job_t *below = NULL;
    unsigned count = 0;
    for (size_t i = 0; i < watch->job_count; i++) {
        if (job_has_process(&watch->jobs[i], pid))
            return &watch->jobs[i];
        if (!job_is_below(&watch->jobs[i], pid))
            continue;
        below = &watch->jobs[i];
        count++;
    }
    if (!choose_only(watch, count, &below, errbuf, errbuf_size))
        explain_process(watch, pid, errbuf, errbuf_size);
    return below;
}

static aq_watched_job_t *choose_name(aq_watch_t *watch, const char *name, char *errbuf,
                                     size_t errbuf_size)
{
    aq_watched_job_t *found = NULL;
    unsigned count = 0;
    for (size_t i = 0; i < watch->job_count; i++) {
        if (!job_is_named(&watch->jobs[i], name))
            continue;
        found = &watch->jobs[i];
        count++;
    }
    if (!choose_only(watch, count, &found, errbuf, errbuf_size))
        snprintf(errbuf, errbuf_size,
                 "no job of this user on this host runs a program %s: gasnet_top without a name "
                 "lists the jobs",
                 name);
    return found;
}

// ---- launchers whose ranks are all on other hosts ----

enum { LAUNCHERS_MAX = 64 };

// The processes that listen for readers (look_format.h): of this user, of root for all users.
static unsigned launchers_list(pid_t launchers[LAUNCHERS_MAX])
{
    char line[512];
    unsigned count = 0;
    FILE *table = fopen("/proc/net/unix", "re");
    while (table && count < LAUNCHERS_MAX && fgets(line, sizeof line, table)) {
        const char *name = strstr(line, "@" AQ_LOOK_SOCKET);
        const long pid = name ? strtol(name + sizeof "@" AQ_LOOK_SOCKET - 1, NULL, 10) : 0;
        const bool known = count > 0 && launchers[count - 1] == pid;
        uid_t user;
        if (pid > 0 && pid <= INT32_MAX && !known && // each connection has a line, too
            !is_of_other_user((pid_t)pid, &user))
            launchers[count++] = (pid_t)pid;
    }
    if (table)
        fclose(table);
    return count;
}

// The number of launchers of this user whose jobs run that program; name NULL: any. *found: one of
// them. They are listed in errbuf.
static unsigned launchers_match(aq_watch_t *watch, const char *name, pid_t *found, char *errbuf,
                                size_t errbuf_size)
{
    pid_t launchers[LAUNCHERS_MAX];
    const unsigned all = launchers_list(launchers);
    unsigned count = 0;
    size_t used = (size_t)snprintf(errbuf, errbuf_size, "name one of these launchers:");
    for (unsigned i = 0; i < all && used < errbuf_size; i++) {
        const aq_watched_job_t *job = aq_watch_launcher(watch, launchers[i], 0);
        const bool matches = job && (!name || job_is_named(job, name));
        aq_remote_close(&watch->remote);
        if (!matches || (count > 0 && launchers[i] == *found))
            continue;
        *found = launchers[i];
        count++;
        used += (size_t)snprintf(errbuf + used, errbuf_size - used, " %d", (int)*found);
    }
    return count;
}

static aq_watched_job_t *choose_launcher(aq_watch_t *watch, const char *name, char *errbuf,
                                         size_t errbuf_size)
{
    pid_t found = 0;
    const unsigned count = launchers_match(watch, name, &found, errbuf, errbuf_size);
    if (count > 1)
        return NULL;
    aq_watched_job_t *job = count ? aq_watch_launcher(watch, found, AQ_REMOTE_WAIT_MS) : NULL;
    if (!job && name)
        return choose_name(watch, name, errbuf, errbuf_size);
    if (!job)
        explain_none(watch, errbuf, errbuf_size);
    return job;
}

// ---- all ----

static aq_watched_job_t *choose_here(aq_watch_t *watch, const char *text, char *errbuf,
                                     size_t errbuf_size)
{
    char *end = NULL;
    const long pid = text ? strtol(text, &end, 10) : 0;
    if (text && pid > 0 && pid <= INT32_MAX && *end == '\0') {
        aq_watched_job_t *job = aq_watch_launcher(watch, (pid_t)pid, AQ_REMOTE_WAIT_MS);
        return job ? job : choose_process(watch, (pid_t)pid, errbuf, errbuf_size);
    }
    if (watch->job_count == 0)
        return choose_launcher(watch, text, errbuf, errbuf_size);
    if (text)
        return choose_name(watch, text, errbuf, errbuf_size);
    if (watch->job_count == 1)
        return &watch->jobs[0];
    list_jobs(watch, errbuf, errbuf_size);
    return NULL;
}

aq_watched_job_t *aq_watch_choose(aq_watch_t *watch, const char *text, char *errbuf,
                                  size_t errbuf_size)
{
    aq_watched_job_t *job = choose_here(watch, text, errbuf, errbuf_size);
    return job && !job->remote ? aq_watch_extend(watch, job) : job;
}
