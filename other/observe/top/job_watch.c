// SPDX-License-Identifier: BSD-3-Clause
// One pass over /proc finds files and groups them to jobs; a second source, the launcher
// (job_remote.c), adds ranks of other hosts. The writers of gasnet_top read the result.
#include "job_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "process_table.h"

enum { LOOKS_APART_NS = 20000000, LOOKS = 40 };

// ---- finding ----

static aq_watched_rank_t *rank_with(const aq_watch_t *watch, ino_t inode)
{
    for (size_t i = 0; i < watch->count; i++)
        if (watch->all[i]->inode == inode)
            return watch->all[i];
    return NULL;
}

// A process that holds the file may be the rank, its starter, or another reader.
static void holder_note(aq_watched_rank_t *rank, pid_t pid)
{
    const pid_t inner = aq_process_inner(pid);
    if (inner == rank->seen.pid)
        rank->pid = pid;
    else if (inner && inner == rank->seen.starter)
        rank->starter = pid;
    // The descriptors of a rank with other rights are hidden.
    if (!rank->pid && rank->starter && rank->starter == rank->seen.starter)
        rank->pid = rank->seen.pid;
}

static void rank_free(aq_watched_rank_t *rank)
{
    close(rank->fd);
    free(rank->loops);
    free(rank);
}

// Takes fd. Returns NULL if memory is out.
static aq_watched_rank_t *file_add(aq_watch_t *watch, int fd, ino_t inode,
                                   const aq_seen_rank_t *seen)
{
    aq_watched_rank_t *rank = calloc(1, sizeof *rank);
    aq_watched_rank_t **all = realloc(watch->all, (watch->count + 1) * sizeof *all);
    if (all)
        watch->all = all;
    if (!rank || !all) {
        free(rank);
        close(fd);
        return NULL;
    }
    rank->fd = fd;
    rank->inode = inode;
    rank->seen = *seen;
    return watch->all[watch->count++] = rank;
}

static void version_note(aq_watch_t *watch, pid_t pid, uint32_t version)
{
    watch->other_versions = true;
    watch->version = version;
    watch->version_pid = pid;
}

// Takes fd. Returns NULL if it is not the file of a rank that has begun.
static aq_watched_rank_t *file_take(aq_watch_t *watch, pid_t pid, int fd, ino_t inode)
{
    static aq_seen_rank_t seen;
    uint32_t version = 0;
    const aq_read_result_t result = aq_rank_read(fd, &seen, &version);
    if (result == AQ_READ_OK)
        return file_add(watch, fd, inode, &seen);
    close(fd);
    if (result == AQ_READ_VERSION)
        version_note(watch, pid, version);
    return NULL;
}

static void file_visit(pid_t pid, int number, void *context)
{
    aq_watch_t *watch = context;
    struct stat st;
    const int fd = aq_process_open_file(pid, number);
    if (fd < 0) {
        watch->is_part |= errno == EMFILE || errno == ENFILE;
        return;
    }
    aq_watched_rank_t *rank = fstat(fd, &st) == 0 ? rank_with(watch, st.st_ino) : NULL;
    if (rank)
        close(fd);
    else
        rank = file_take(watch, pid, fd, st.st_ino);
    if (rank)
        holder_note(rank, pid);
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
        if (job->rank[i]->remote || process_is_there(job->rank[i]->pid) ||
            process_is_there(job->rank[i]->starter))
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

static bool jobs_list(aq_watch_t *watch)
{
    free(watch->jobs);
    if (watch->count > 0)
        qsort(watch->all, watch->count, sizeof *watch->all, by_job_and_rank);
    watch->jobs = calloc(watch->count + 1, sizeof *watch->jobs);
    if (!watch->jobs)
        return false;
    jobs_divide(watch);
    jobs_drop_ended(watch);
    return true;
}

bool aq_watch_find(aq_watch_t *watch)
{
    *watch = (aq_watch_t){.remote.fd = -1};
    aq_process_each_file(AQ_RANK_FILE_NAME, file_visit, watch);
    return jobs_list(watch);
}

void aq_watch_free(aq_watch_t *watch)
{
    for (size_t i = 0; i < watch->count; i++)
        rank_free(watch->all[i]);
    free(watch->all);
    free(watch->jobs);
    aq_remote_close(&watch->remote);
    *watch = (aq_watch_t){.remote.fd = -1};
}

// ---- other hosts ----

static aq_watched_rank_t *rank_in(const aq_watch_t *watch, uint64_t job, uint32_t rank)
{
    for (size_t i = 0; i < watch->count; i++)
        if (watch->all[i]->seen.job == job && watch->all[i]->seen.rank == rank)
            return watch->all[i];
    return NULL;
}

static void remote_note(aq_watched_rank_t *rank, const aq_remote_rank_t *sent)
{
    rank->remote = true;
    rank->remote_process = sent->process;
    rank->remote_cpu = sent->cpu;
}

// A rank that was not known before.
static void remote_add(aq_watch_t *watch, const aq_remote_rank_t *sent)
{
    static aq_seen_rank_t seen;
    uint32_t version;
    const int file = aq_remote_store(sent, -1);
    if (file < 0)
        return;
    if (aq_rank_read(file, &seen, &version) != AQ_READ_OK ||
        rank_in(watch, seen.job, seen.rank) != NULL) {
        close(file); // a rank of this host, of which the file itself is there
        return;
    }
    aq_watched_rank_t *rank = file_add(watch, file, 0, &seen);
    if (rank)
        remote_note(rank, sent);
}

static void remote_find_visit(const aq_remote_rank_t *sent, void *context)
{
    remote_add(context, sent);
}

static aq_watched_job_t *job_numbered(const aq_watch_t *watch, uint64_t number)
{
    for (size_t i = 0; i < watch->job_count; i++)
        if (watch->jobs[i].number == number)
            return &watch->jobs[i];
    return NULL;
}

// Through watch->remote, which is open.
static aq_watched_job_t *remote_find(aq_watch_t *watch)
{
    uint64_t number = 0;
    const bool seen = aq_remote_look(&watch->remote, remote_find_visit, watch, &number);
    aq_watched_job_t *job = seen && jobs_list(watch) ? job_numbered(watch, number) : NULL;
    if (job)
        job->remote = &watch->remote;
    else
        aq_remote_close(&watch->remote);
    return job;
}

aq_watched_job_t *aq_watch_launcher(aq_watch_t *watch, pid_t launcher, int wait_ms)
{
    return aq_remote_open(&watch->remote, launcher, wait_ms) ? remote_find(watch) : NULL;
}

const aq_seen_rank_t *aq_watched_guide(const aq_watched_job_t *job)
{
    for (uint32_t i = 0; i < job->found; i++)
        if (job->rank[i]->seen.launcher.pid)
            return &job->rank[i]->seen;
    return &job->rank[0]->seen;
}

static bool is_this_host(const char *name)
{
    char own[sizeof((aq_seen_rank_t *)0)->launcher.host] = "";
    (void)gethostname(own, sizeof own - 1); // a long one is cut, as the other one is
    return strcmp(own, name) == 0;
}

// Asks the launcher itself if it is on this host, because its helper here may be busy; else the
// helper.
static aq_watched_job_t *whole_job(aq_watch_t *watch, const aq_seen_rank_t *guide)
{
    if (is_this_host(guide->launcher.host))
        return aq_watch_launcher(watch, guide->launcher.pid, AQ_REMOTE_WAIT_MS);
    return aq_remote_open_job(&watch->remote, guide->job) ? remote_find(watch) : NULL;
}

aq_watched_job_t *aq_watch_extend(aq_watch_t *watch, aq_watched_job_t *job)
{
    const aq_seen_rank_t *guide = aq_watched_guide(job);
    const uint64_t number = job->number;
    if (job->found == job->ranks || !guide->launcher.pid)
        return job;
    aq_watched_job_t *whole = whole_job(watch, guide);
    if (whole && whole->number == number)
        return whole;
    aq_remote_close(&watch->remote); // another job's launcher has this process id by now
    return job_numbered(watch, number);
}

static void remote_read_visit(const aq_remote_rank_t *sent, void *context)
{
    const aq_watched_job_t *job = context;
    aq_watched_rank_t *rank = aq_watched_find(job, sent->head->rank);
    if (rank && rank->remote && sent->head->job == job->number &&
        aq_remote_store(sent, rank->fd) == rank->fd)
        remote_note(rank, sent);
}

// Ranks of a launcher that is gone are gone, too.
static void remote_read(aq_watched_job_t *job)
{
    uint64_t number;
    if (!job->remote || aq_remote_look(job->remote, remote_read_visit, job, &number))
        return;
    for (uint32_t i = 0; i < job->found; i++)
        if (job->rank[i]->remote)
            job->rank[i]->remote_process = 'X';
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
    memcpy(rank->own_before, rank->own, sizeof rank->own);
    memset(rank->counted, 0, sizeof rank->counted);
    if (!aq_rank_read_counts(rank->fd, &rank->seen, sum_visit, rank->counted) ||
        !aq_rank_read_own(rank->fd, &rank->seen, rank->own))
        rank->damaged = true;
}

static void loops_note(aq_watched_rank_t *rank)
{
    if (!rank->loops)
        rank->loops = calloc(AQ_SHOWN_THREADS, sizeof *rank->loops);
    for (unsigned i = 0; rank->loops && i < AQ_SHOWN_THREADS; i++)
        rank->loops[i] = i < rank->seen.threads ? rank->seen.thread[i].loops : 0;
}

// Reads state and processor time of the process; for a rank of another host, takes what that host
// has sent.
static void process_look(aq_watched_rank_t *rank)
{
    aq_process_t process = {.state = rank->remote_process, .cpu = rank->remote_cpu};
    const bool there = rank->remote || aq_process_look(rank->pid, &process);
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
        job->now = aq_clock_ns();
    }
    remote_read(job);
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

static bool loops_differ(const aq_seen_rank_t *before, const aq_seen_rank_t *after)
{
    for (unsigned i = 0; i < before->threads && i < after->threads; i++)
        if (before->thread[i].loops != after->thread[i].loops)
            return true;
    return false;
}

aq_stack_result_t aq_watched_refresh(const aq_watched_job_t *job, const aq_watched_rank_t *rank,
                                     bool stack)
{
    if (!job->remote)
        return AQ_STACK_UNREACHED;
    return aq_remote_look_at(job->remote, rank->seen.rank, stack, remote_read_visit,
                             (void *)(uintptr_t)job);
}

bool aq_watched_loops_now(const aq_watched_job_t *job, const aq_watched_rank_t *rank)
{
    static aq_seen_rank_t before, after;
    uint32_t version;
    bool loops = false;
    if (aq_rank_read(rank->fd, &before, &version) != AQ_READ_OK)
        return false;
    for (unsigned i = 0; i < LOOKS && !loops; i++) {
        aq_clock_sleep_ns(LOOKS_APART_NS);
        if (rank->remote && aq_watched_refresh(job, rank, false) != AQ_STACK_GIVEN)
            return false;
        loops =
            aq_rank_read(rank->fd, &after, &version) == AQ_READ_OK && loops_differ(&before, &after);
    }
    return loops;
}

aq_watched_rank_t *aq_watched_find(const aq_watched_job_t *job, uint32_t rank)
{
    for (uint32_t i = 0; i < job->found; i++)
        if (job->rank[i]->seen.rank == rank)
            return job->rank[i];
    return NULL;
}
