// SPDX-License-Identifier: BSD-3-Clause
// The back end of spawners fork and ssh: all operations go through the boot page of the host.
#include "spawn_fork.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../other/base/log/log.h"
#include "../../other/base/memory/memfile.h"
#include "../../other/base/system/own_process.h"
#include "../../other/base/minmax.h"

#define CONTROL_NAME "GASNET_SPAWN_CONTROL"

// A process has one job, which lives as long as the process: see finalize in aq_boot_ops_t.
typedef struct fork_boot {
    aq_boot_t boot; // first, so that a pointer to it is a pointer to this
    aq_boot_page_t *page;
    uint32_t round; // exchanges so far; the same at all ranks
} fork_boot_t;

static fork_boot_t the_boot;

static fork_boot_t *mine_of(aq_boot_t *boot)
{
    return (fork_boot_t *)(void *)boot;
}

static aq_status_t fork_barrier(aq_boot_t *boot)
{
    const aq_page_step_t step = {.kind = AQ_STEP_BARRIER};
    return boot->size == 1 ? AQ_OK : aq_page_barrier(mine_of(boot)->page, &step);
}

// Copies one chunk of every rank that is there from the exchange buffer, where the chunks are
// packed, to its place in all.
static void scatter_chunk(const aq_boot_t *boot, uint8_t *all, const uint8_t *slots, size_t len,
                          size_t done, size_t part)
{
    const uint32_t present = aq_boot_present(boot);
    memset(all + present * len, 0, boot->absent * len);
    if (part == len) {
        memcpy(all, slots, present * len);
        return;
    }
    for (uint32_t r = 0; r < present; r++)
        memcpy(all + r * len + done, slots + r * part, part);
}

// One barrier per chunk is enough: a rank writes to a buffer again two rounds later, after a
// barrier that the other ranks entered only after they had read the buffer.
static aq_status_t fork_exchange(aq_boot_t *boot, const void *mine, size_t len, void *all)
{
    fork_boot_t *self = mine_of(boot);
    if (boot->size == 1) {
        if (len > 0)
            memmove(all, mine, len);
        return AQ_OK;
    }
    for (size_t done = 0; done < len;) {
        size_t part = aq_min(len - done, AQ_SLOT_BYTES);
        const aq_page_step_t step = {
            .kind = AQ_STEP_EXCHANGE, .part = (uint32_t)part, .round = self->round++};
        uint8_t *slots = aq_page_slots(self->page, step.round);
        memcpy(slots + boot->rank * part, (const uint8_t *)mine + done, part);
        aq_status_t status = aq_page_barrier(self->page, &step);
        if (status != AQ_OK)
            return status;
        scatter_chunk(boot, all, slots, len, done, part);
        done += part;
    }
    return AQ_OK;
}

static aq_status_t fork_broadcast(aq_boot_t *boot, void *buf, size_t len, uint32_t root)
{
    fork_boot_t *self = mine_of(boot);
    if (root >= boot->size) {
        aq_log_error("broadcast from rank %" PRIu32 " in a job of %" PRIu32
                     " ranks; give a rank of the job",
                     root, boot->size);
        return AQ_ERR_ARG;
    }
    size_t capacity = (size_t)boot->size * AQ_SLOT_BYTES;
    for (size_t done = 0; done < len && boot->size > 1;) {
        size_t part = aq_min(len - done, capacity);
        const aq_page_step_t step = {.kind = AQ_STEP_BROADCAST,
                                     .part = (uint32_t)part,
                                     .root = root,
                                     .round = self->round++};
        uint8_t *slots = aq_page_slots(self->page, step.round);
        if (boot->rank == root)
            memcpy(slots, (uint8_t *)buf + done, part);
        aq_status_t status = aq_page_barrier(self->page, &step);
        if (status != AQ_OK)
            return status;
        if (boot->rank != root)
            memcpy((uint8_t *)buf + done, slots, part);
        done += part;
    }
    return AQ_OK;
}

static aq_status_t fork_grow(aq_boot_t *boot, uint32_t count)
{
    fork_boot_t *self = mine_of(boot);
    const aq_page_step_t step = {.kind = AQ_STEP_GROW, .part = count, .round = self->round};
    aq_status_t status = aq_page_barrier(self->page, &step);
    if (status == AQ_OK)
        boot->absent -= count;
    return status;
}

static int fork_announce_exit(aq_boot_t *boot, int code)
{
    return aq_page_announce(mine_of(boot)->page, (int32_t)boot->rank, code);
}

__attribute__((noreturn)) static void fork_abort(aq_boot_t *boot, int code)
{
    aq_boot_page_t *page = mine_of(boot)->page;
    // The code first: the supervisor ends all ranks as soon as it sees that an abort is asked for.
    int won = aq_page_announce(page, (int32_t)boot->rank, code);
    atomic_store(&page->abort_requested, 1);
    if (page->supervisor > 0) // again, because the exit may have been announced before
        (void)kill(page->supervisor, AQ_WAKE_SIGNAL);
    aq_page_wake_relay(page);
    _exit(won);
}

static void fork_finalize(aq_boot_t *boot)
{
    atomic_store(&mine_of(boot)->page->state[boot->rank], AQ_RANK_FINALIZED);
}

static const aq_boot_ops_t fork_ops = {
    .exchange = fork_exchange,
    .barrier = fork_barrier,
    .broadcast = fork_broadcast,
    .grow = fork_grow,
    .announce_exit = fork_announce_exit,
    .abort = fork_abort,
    .finalize = fork_finalize,
};

static aq_boot_t *fill_boot(aq_boot_page_t *page, uint32_t rank)
{
    the_boot = (fork_boot_t){
        .boot = {.ops = &fork_ops,
                 .rank = rank,
                 .size = page->ranks.size,
                 .absent = page->ranks.size - page->ranks.present,
                 .first = page->ranks.first,
                 .host_of_rank = aq_page_hosts(page),
                 .processors = page->processors,
                 .memory = page->memory,
                 .waiting_cpus = aq_page_waiting_cpus(page),
                 .bound = aq_page_bound(page)[rank] != 0,
                 .peer = page->peer,
                 .watched = page->supervisor > 0,
                 .line_buffer = page->line_buffer != 0,
                 .exit_word = &page->exit_word,
                 .kept = aq_page_kept(page),
                 .kept_left = (size_t)page->ranks.size * AQ_KEPT_BYTES,
                 .keeps = rank == page->ranks.keeper,
                 .rank_file = aq_page_rank_files(page)[rank]},
        .page = page,
        .round = page->ranks.round,
    };
    memcpy(the_boot.boot.key, page->key, AQ_KEY_BYTES);
    return &the_boot.boot;
}

static void note_exit(int code, void *process)
{
    if (aq_own_process())
        atomic_store(&((aq_page_process_t *)process)->exited, 1 + (code & 0xff));
}

// Publishes this process, so that the supervisor forwards signals to it and takes its exit code,
// even if a wrapper stands between.
static void note_process(aq_boot_page_t *page, uint32_t rank)
{
    aq_page_process_t *process = &aq_page_processes(page)[rank];
    atomic_store(&process->space, aq_page_process_space());
    atomic_store(&process->number, getpid());
    if (page->supervisor > 0)
        (void)on_exit(note_exit, process);
}

aq_status_t aq_boot_fork_adopt(aq_boot_page_t *page, uint32_t rank, aq_boot_t **out)
{
    aq_own_process_begin();
    aq_log_identity(rank, page->ranks.present);
    if (page->supervisor > 0)
        aq_page_divert_faults(page, 1);
    uint32_t state = AQ_RANK_STARTING;
    if (!atomic_compare_exchange_strong(&page->state[rank], &state, AQ_RANK_RUNNING)) {
        aq_log_error("another program of this job has already been rank %" PRIu32
                     "; start one GASNet program in each rank of the launcher",
                     rank);
        return AQ_ERR_PEER;
    }
    note_process(page, rank);
    // The supervisor first counts the absent rank and then reads members, so at least one side sees
    // the other.
    atomic_fetch_add(&page->members, 1);
    if (atomic_load(&page->absent) > 0) {
        aq_log_error("another rank has ended without joining the job, so it cannot start; "
                     "every rank must run a GASNet program that calls init");
        return AQ_ERR_PEER;
    }
    *out = fill_boot(page, rank);
    return AQ_OK;
}

aq_status_t aq_boot_fork_singleton(aq_boot_t **out)
{
    static aq_boot_page_t *page;
    size_t bytes = aq_page_bytes(1);
    if (page != NULL) {
        memset(page, 0, bytes);
    } else {
        void *addr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (addr == MAP_FAILED) {
            aq_log_error("no memory for the boot page (%s); raise the limit of memory (ulimit -v)",
                         strerror(errno));
            return AQ_ERR_RESOURCE;
        }
        page = addr;
    }
    aq_status_t status = aq_page_init(page, 1);
    return status == AQ_OK ? aq_boot_fork_adopt(page, 0, out) : status;
}

// ---- joining after exec ----

typedef struct control {
    uint64_t fd, rank, inode;
} control_t;

// Reads digits up to the character `end`. False: other characters, or a number above max.
static bool take_number(const char **text, char end, uint64_t max, uint64_t *out)
{
    const char *s = *text;
    uint64_t value = 0;
    if (*s < '0' || *s > '9')
        return false;
    for (; *s >= '0' && *s <= '9'; s++) {
        uint64_t digit = (uint64_t)(*s - '0');
        if (value > (max - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (*s != end)
        return false;
    *text = end == '\0' ? s : s + 1;
    *out = value;
    return true;
}

static bool parse_control(const char *text, control_t *out)
{
    if (strncmp(text, "fork:", 5) != 0)
        return false;
    text += 5;
    return take_number(&text, ':', INT32_MAX, &out->fd) &&
           take_number(&text, ':', AQ_JOB_RANKS_MAX - 1, &out->rank) &&
           take_number(&text, '\0', UINT64_MAX, &out->inode);
}

// Whether the descriptor refers to the file that the launcher made.
static bool is_boot_file(const control_t *control, size_t *bytes)
{
    struct stat st;
    if (fstat((int)control->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_ino != control->inode)
        return false;
    *bytes = (size_t)st.st_size;
    return *bytes >= aq_page_bytes(1) && *bytes <= aq_page_bytes(AQ_JOB_RANKS_MAX);
}

static bool is_boot_page(const aq_boot_page_t *page, size_t bytes, uint64_t rank)
{
    return page->magic == AQ_PAGE_MAGIC && page->ranks.size >= 1 &&
           page->ranks.size <= AQ_JOB_RANKS_MAX && aq_page_bytes(page->ranks.size) == bytes &&
           rank < page->ranks.size;
}

// The page and the rank that the control variable names, for aq_boot_fork_join; NULL: not found
// yet.
static aq_boot_page_t *named_page;
static control_t named;

// Finds page and rank. Returns NULL, or why that fails; "": already logged.
static const char *find_page(const char *text)
{
    size_t bytes;
    void *addr;
    if (!parse_control(text, &named))
        return "is not of the form fork:descriptor:rank:inode";
    if (!is_boot_file(&named, &bytes))
        return "its descriptor is not the boot page of a running job (left over from another job, "
               "or closed by a program between launcher and this one)";
    if (aq_memfile_map((int)named.fd, 0, bytes, &addr) != AQ_OK)
        return "";
    if (!is_boot_page(addr, bytes, named.rank)) {
        aq_memfile_unmap(addr, bytes);
        return "the boot page comes from another version of the launcher";
    }
    named_page = addr;
    return NULL;
}

void aq_boot_fork_begin(void)
{
    const char *text = getenv(CONTROL_NAME);
    if (text == NULL || find_page(text) != NULL)
        return; // aq_boot_fork_join reports the fault
    aq_log_identity((uint32_t)named.rank, named_page->ranks.present);
    aq_page_divert_faults(named_page, 1);
}

aq_status_t aq_boot_fork_join(const char *text, aq_boot_t **out)
{
    const char *why = named_page == NULL ? find_page(text) : NULL;
    if (why != NULL && *why != '\0')
        aq_log_error(CONTROL_NAME "='%s': %s; this variable is the launcher's: unset it to run "
                                  "without a launcher",
                     text, why);
    if (why != NULL)
        return AQ_ERR_CONFIG;
    (void)close((int)named.fd);
    (void)unsetenv(CONTROL_NAME);
    // With a wrapper (a shell, a debugger) between, the supervisor is not the parent: this process
    // then dies with the wrapper.
    if (getppid() != named_page->supervisor)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    return aq_boot_fork_adopt(named_page, (uint32_t)named.rank, out);
}
