// SPDX-License-Identifier: BSD-3-Clause
// Makes the memory file of the rank, or takes over that of its starter, and fills in the head:
// identity, stage, teams. client.c calls it at init; gasnet_top and the report read the file.
#include "rank_head.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/memory/memfile.h"
#include "../ground/fatal.h"
#include "../state/job.h"

static aq_rank_head_t *head;
static int file = -1;
static aq_lock_t team_lock;

// ---- the file ----

static void *head_map(int fd)
{
    const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *memory = mmap(NULL, aq_rank_head_bytes(), PROT_READ | PROT_WRITE, flags, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool is_of_this_rank(const aq_rank_head_t *found)
{
    return memcmp(found->magic, AQ_RANK_FILE_MAGIC, sizeof AQ_RANK_FILE_MAGIC) == 0 &&
           found->version == AQ_RANK_FILE_VERSION && found->starter_rank == 1 + aq_job.boot->rank &&
           found->pid == 0;
}

// Takes over the file that the starter of this rank has opened, if it is still that: a program
// between the launcher and this one may have closed the descriptor, and opened another file.
static bool take_file(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size != (off_t)aq_rank_head_bytes())
        return false;
    aq_rank_head_t *found = head_map(fd);
    if (!found)
        return false;
    if (!is_of_this_rank(found)) {
        munmap(found, aq_rank_head_bytes());
        return false;
    }
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    file = fd;
    head = found;
    return true;
}

static void make_file(void)
{
    if (aq_memfile_try_create(AQ_RANK_FILE_NAME, aq_rank_head_bytes(), &file) != 0)
        file = -1;
    head = head_map(file);
    if (!head && file >= 0) {
        close(file);
        file = -1;
        head = head_map(-1);
    }
    if (!head)
        aq_fatal("out of memory for the counters of this rank (%zu bytes)", aq_rank_head_bytes());
}

static void open_file(void)
{
    const int from_starter = aq_job.boot ? aq_job.boot->rank_file : 0;
    if (from_starter <= 0 || !take_file(from_starter))
        make_file();
    head->version = AQ_RANK_FILE_VERSION;
    head->record_bytes = sizeof(aq_peer_record_t);
    head->rank = aq_job.rank;
    head->ranks = aq_job.size;
    head->slots.first = aq_rank_head_bytes();
    memcpy(head->magic, AQ_RANK_FILE_MAGIC, sizeof AQ_RANK_FILE_MAGIC);
}

aq_rank_head_t *aq_rank_head(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!head)
        pthread_once(&once, open_file);
    return head;
}

int aq_rank_file(void)
{
    return file;
}

// ---- identity ----

static void show_conduits(void)
{
    for (unsigned i = 0; i < aq_job.conduit_count && i < AQ_SHOWN_CONDUITS; i++) {
        aq_shown_conduit_t *shown = &head->conduit[i];
        aq_conduit_t *conduit = aq_job.conduits[i];
        snprintf(shown->name, sizeof shown->name, "%s", conduit->ops->name);
        if (conduit->ops->report.network)
            conduit->ops->report.network(conduit, shown->network, sizeof shown->network);
    }
}

void aq_rank_file_start(int report_signal)
{
    aq_rank_head_t *mine = aq_rank_head();
    mine->rank = aq_job.rank;
    mine->ranks = aq_job.size;
    mine->job = aq_boot_number(aq_job.boot->key);
    mine->host = aq_job.boot->host_of_rank[aq_job.rank];
    mine->signal = (uint32_t)report_signal;
    mine->started = aq_clock_ns();
    mine->started_unix = (uint64_t)time(NULL);
    snprintf(mine->host_name, sizeof mine->host_name, "%s", aq_log_host());
    snprintf(mine->program, sizeof mine->program, "%s", program_invocation_short_name);
    if (aq_job.boot->other_hosts)
        snprintf(mine->launcher.other_hosts, sizeof mine->launcher.other_hosts, "%s",
                 aq_job.boot->other_hosts);
    show_conduits();
    atomic_thread_fence(memory_order_release);
    mine->pid = getpid();
    aq_rank_stage(AQ_STAGE_RUNNING);
}

void aq_rank_stage(aq_stage_t stage)
{
    if (!head)
        return;
    atomic_store_explicit(&head->stage_since, aq_clock_ns(), memory_order_relaxed);
    atomic_store_explicit(&head->stage, stage, memory_order_release);
}

// ---- teams ----

aq_shown_team_t *aq_rank_show_team(uint64_t id, uint32_t rank, uint32_t size)
{
    aq_shown_team_t *team = aq_rank_head()->team, *end = team + AQ_SHOWN_TEAMS;
    aq_lock_take(&team_lock);
    while (team < end && atomic_load_explicit(&team->used, memory_order_relaxed))
        team++;
    if (team < end) {
        team->id = id;
        team->rank = rank;
        team->size = size;
        atomic_store_explicit(&team->calls, 0, memory_order_relaxed);
        atomic_store_explicit(&team->last, 0, memory_order_relaxed);
        atomic_store_explicit(&team->used, (uint32_t)(AQ_SHOWN_TEAMS - (end - team)) + 1,
                              memory_order_release);
    }
    aq_lock_drop(&team_lock);
    return team < end ? team : NULL;
}

void aq_rank_hide_team(aq_shown_team_t *team)
{
    if (team)
        atomic_store_explicit(&team->used, 0, memory_order_release);
}
