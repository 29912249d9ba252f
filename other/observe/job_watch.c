#include "job_watch.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "process_table.h"

uint64_t aq_watched_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// ---- finding ----

static bool is_known(const aq_watch_t *watch, ino_t inode)
{
    for (size_t i = 0; i < watch->count; i++)
        if (watch->all[i]->inode == inode)
            return true;
    return false;
}

static void rank_free(aq_watched_rank_t *rank)
{
    close(rank->fd);
    free(rank->loops);
    free(rank);
}

// Takes fd.
static void file_add(aq_watch_t *watch, int fd, ino_t inode, const aq_seen_rank_t *seen)
{
    aq_watched_rank_t *rank = calloc(1, sizeof *rank);
    aq_watched_rank_t **all = realloc(watch->all, (watch->count + 1) * sizeof *all);
    if (all)
        watch->all = all;
    if (!rank || !all) {
        free(rank);
        close(fd);
        return;
    }
    rank->fd = fd;
    rank->inode = inode;
    rank->seen = *seen;
    watch->all[watch->count++] = rank;
}

static void file_visit(pid_t pid, int number, void *context)
{
    static aq_seen_rank_t seen;
    aq_watch_t *watch = context;
    uint32_t version = 0;
    struct stat st;
    const int fd = aq_process_open_file(pid, number);
    if (fd < 0)
        return;
    const bool is_new = fstat(fd, &st) == 0 && !is_known(watch, st.st_ino);
    const aq_read_result_t result = is_new ? aq_rank_read(fd, &seen, &version) : AQ_READ_NOT_YET;
    if (result == AQ_READ_OK) {
        file_add(watch, fd, st.st_ino, &seen);
        return;
    }
    close(fd);
    if (result == AQ_READ_VERSION) {
        watch->other_versions = true;
        watch->version = version;
        watch->version_pid = pid;
    }
}

static int by_job_and_rank(const void *a, const void *b)
{
    const aq_seen_rank_t *x = &(*(aq_watched_rank_t *const *)a)->seen;
    const aq_seen_rank_t *y = &(*(aq_watched_rank_t *const *)b)->seen;
    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

// The ranks are sorted: those of a job follow each other.
static void jobs_divide(aq_watch_t *watch)
{
    aq_watched_job_t *job = watch->jobs - 1;
    for (size_t i = 0; i < watch->count; i++) {
        const aq_seen_rank_t *seen = &watch->all[i]->seen;
        if (i == 0 || seen->job != job->number)
            *++job = (aq_watched_job_t){
                .number = seen->job, .ranks = seen->ranks, .rank = &watch->all[i]};
        job->found++;
    }
    watch->job_count = (size_t)(job + 1 - watch->jobs);
}

static bool process_is_there(pid_t pid)
{
    aq_process_t process;
    return pid > 0 && aq_process_look(pid, &process) && process.state != 'X';
}

// Another reader may still hold the files of a job that has ended.
static bool job_is_over(const aq_watched_job_t *job)
{
    for (uint32_t i = 0; i < job->found; i++)
        if (process_is_there(job->rank[i]->seen.pid) ||
            process_is_there(job->rank[i]->seen.starter))
            return false;
    return true;
}

static void jobs_drop_ended(aq_watch_t *watch)
{
    size_t kept = 0;
    for (size_t i = 0; i < watch->job_count; i++)
        if (!job_is_over(&watch->jobs[i]))
            watch->jobs[kept++] = watch->jobs[i];
    watch->job_count = kept;
}

bool aq_watch_find(aq_watch_t *watch)
{
    *watch = (aq_watch_t){0};
    aq_process_each_file(AQ_RANK_FILE_NAME, file_visit, watch);
    qsort(watch->all, watch->count, sizeof *watch->all, by_job_and_rank);
    watch->jobs = calloc(watch->count + 1, sizeof *watch->jobs);
    if (!watch->jobs)
        return false;
    jobs_divide(watch);
    jobs_drop_ended(watch);
    return true;
}

void aq_watch_free(aq_watch_t *watch)
{
    for (size_t i = 0; i < watch->count; i++)
        rank_free(watch->all[i]);
    free(watch->all);
    free(watch->jobs);
    *watch = (aq_watch_t){0};
}

// ---- choosing ----

static bool job_has_process(const aq_watched_job_t *job, pid_t pid)
{
    for (uint32_t i = 0; i < job->found; i++)
        if (job->rank[i]->seen.pid == pid || job->rank[i]->seen.starter == pid)
            return true;
    return false;
}

static bool job_is_below(const aq_watched_job_t *job, pid_t pid)
{
    for (uint32_t i = 0; i < job->found; i++) {
        const aq_seen_rank_t *seen = &job->rank[i]->seen;
        if (aq_process_is_above(pid, seen->starter ? seen->starter : seen->pid))
            return true;
    }
    return false;
}

static bool job_is_named(const aq_watched_job_t *job, const char *text)
{
    return strcmp(job->rank[0]->seen.program, text) == 0;
}

static void list_jobs(const aq_watch_t *watch, char *why, size_t room)
{
    size_t used = (size_t)snprintf(why, room,
                                   "name one of these jobs, by the process or by the "
                                   "program:");
    for (size_t i = 0; i < watch->job_count && used < room; i++) {
        const aq_seen_rank_t *seen = &watch->jobs[i].rank[0]->seen;
        used += (size_t)snprintf(why + used, room - used, "\n    %d  %s, %" PRIu32 " ranks",
                                 (int)(seen->starter ? seen->starter : seen->pid), seen->program,
                                 seen->ranks);
    }
}

static void explain_none(const aq_watch_t *watch, char *why, size_t room)
{
    if (watch->other_versions)
        snprintf(why, room,
                 "process %d shows its state in version %" PRIu32 " and this program reads version "
                 "%d: use the gasnet_top of the installation that the job uses",
                 (int)watch->version_pid, watch->version, AQ_RANK_FILE_VERSION);
    else
        snprintf(why, room,
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

static void explain_process(const aq_watch_t *watch, pid_t pid, char *why, size_t room)
{
    aq_process_t process;
    uid_t user;
    if (!aq_process_look(pid, &process)) {
        snprintf(why, room,
                 "there is no process %d: the job has ended, or runs on another host; gasnet_top "
                 "without a number lists the jobs of this host",
                 (int)pid);
    } else if (is_of_other_user(pid, &user)) {
        const struct passwd *entry = getpwuid(user);
        snprintf(why, room, "process %d belongs to user %s: start gasnet_top as this user",
                 (int)pid, entry ? entry->pw_name : "(no name)");
    } else if (watch->other_versions && aq_process_is_above(pid, watch->version_pid)) {
        explain_none(watch, why, room);
    } else {
        snprintf(why, room,
                 "process %d (%s) has no rank of a job on this host: give the launcher or a rank; "
                 "gasnet_top without a number lists the jobs of this host",
                 (int)pid, process.name);
    }
}

// Of several jobs below one process none is meant.
static aq_watched_job_t *choose_process(aq_watch_t *watch, pid_t pid, char *why, size_t room)
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
    if (count == 1)
        return below;
    if (count)
        list_jobs(watch, why, room);
    else
        explain_process(watch, pid, why, room);
    return NULL;
}

static aq_watched_job_t *choose_name(aq_watch_t *watch, const char *name, char *why, size_t room)
{
    aq_watched_job_t *found = NULL;
    unsigned count = 0;
    for (size_t i = 0; i < watch->job_count; i++) {
        if (!job_is_named(&watch->jobs[i], name))
            continue;
        found = &watch->jobs[i];
        count++;
    }
    if (count == 1)
        return found;
    if (count)
        list_jobs(watch, why, room);
    else
        snprintf(why, room,
                 "no job of this user on this host runs a program %s: gasnet_top without a name "
                 "lists the jobs",
                 name);
    return NULL;
}

aq_watched_job_t *aq_watch_choose(aq_watch_t *watch, const char *text, char *why, size_t room)
{
    char *end = NULL;
    const long pid = text ? strtol(text, &end, 10) : 0;
    if (text && pid > 0 && pid <= INT32_MAX && *end == '\0')
        return choose_process(watch, (pid_t)pid, why, room);
    if (text)
        return choose_name(watch, text, why, room);
    if (watch->job_count == 1)
        return &watch->jobs[0];
    if (watch->job_count == 0)
        explain_none(watch, why, room);
    else
        list_jobs(watch, why, room);
    return NULL;
}

// ---- reading ----

static void sum_visit(uint32_t to, const uint64_t sum[AQ_PEER_COUNTS], void *context)
{
    uint64_t *all = context;
    (void)to;
    for (unsigned i = 0; i < AQ_PEER_COUNTS; i++)
        all[i] += sum[i];
}

static void counts_read(aq_watched_rank_t *rank)
{
    memcpy(rank->counted_before, rank->counted, sizeof rank->counted);
    memset(rank->counted, 0, sizeof rank->counted);
    if (!aq_rank_read_counts(rank->fd, &rank->seen, sum_visit, rank->counted))
        rank->damaged = true;
}

static void loops_note(aq_watched_rank_t *rank)
{
    if (!rank->loops)
        rank->loops = calloc(AQ_SHOWN_THREADS, sizeof *rank->loops);
    for (unsigned i = 0; rank->loops && i < AQ_SHOWN_THREADS; i++)
        rank->loops[i] = i < rank->seen.threads ? rank->seen.thread[i].loops : 0;
}

// The process number may be that of another process by now, which is not below the starter.
static void process_look(aq_watched_rank_t *rank)
{
    aq_process_t process;
    const bool there = aq_process_look(rank->seen.pid, &process);
    rank->process = there ? process.state : 'X';
    rank->cpu_before = rank->cpu;
    rank->cpu = process.cpu;
}

static void rank_read(aq_watched_rank_t *rank, bool counts)
{
    static aq_seen_rank_t seen;
    uint32_t version;
    loops_note(rank);
    rank->damaged = aq_rank_read(rank->fd, &seen, &version) != AQ_READ_OK ||
                    seen.job != rank->seen.job || seen.rank != rank->seen.rank;
    if (!rank->damaged)
        rank->seen = seen;
    process_look(rank);
    if (counts)
        counts_read(rank);
}

void aq_watched_read(aq_watched_job_t *job, bool counts)
{
    if (counts) {
        job->before = job->now;
        job->now = aq_watched_clock();
    }
    for (uint32_t i = 0; i < job->found; i++)
        rank_read(job->rank[i], counts);
}

bool aq_watched_is_looping(const aq_watched_rank_t *rank)
{
    for (unsigned i = 0; rank->loops && i < rank->seen.threads; i++)
        if (rank->seen.thread[i].loops != rank->loops[i])
            return true;
    return false;
}

aq_watched_rank_t *aq_watched_find(const aq_watched_job_t *job, uint32_t rank)
{
    for (uint32_t i = 0; i < job->found; i++)
        if (job->rank[i]->seen.rank == rank)
            return job->rank[i];
    return NULL;
}
