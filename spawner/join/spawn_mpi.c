// SPDX-License-Identifier: BSD-3-Clause
// The back end of spawners mpi and pmi, for a rank that mpirun started. MPI (or PMIx) carries the
// exchanges. The ranks of one host also share a boot page, for the exit word and the processors
// of waiting ranks. mpirun is the supervisor: it ends the job when a rank dies or leaves with a
// code other than 0.
#include "spawn_mpi.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/settings/exit_timeout.h"
#include "../../other/base/log/log.h"
#include "../../other/base/memory/memfile.h"
#include "../../other/base/system/own_process.h"
#include "../../other/mpi/mpi_library.h"
#include "../../other/base/settings/settings.h"
#include "../boot/boot_page.h"
#include "../shell/net_address.h"
#include "rank_report.h"
#include "spawn_watch.h"

enum {
    YIELDS = 200,     // tests of a collective MPI call before the pauses between tests get longer
    PAUSE_NS = 50000, // length of a longer pause
    LEAVE_NS = 200000000, // least time for all ranks to leave together
    OUTPUT_NS = 50000000, // for the launcher to forward output before it ends the job
    PART = 1024,          // bytes that a rank contributes to one collective call
    ADDRESS_BYTES = 64,   // of a host, as text
    NAME_BYTES = 64,      // of its name
    NAMES_BYTES = 1020,   // of the names of all others
};

// A process has one job, which lives as long as the process.
typedef struct mpi_boot {
    aq_boot_t boot; // first, so that a pointer to it is a pointer to this
    const aq_mpilib_table_t *mpi;
    aq_mpilib_comm_t *comm;
    // For the barrier at the end: some ranks may have abandoned a call on comm.
    aq_mpilib_comm_t *last;
    aq_boot_page_t *page;
    bool ours;   // this file initialized MPI
    bool leaves; // finalize was called
    // After this rank announced the end: time by which the others must arrive.
    _Atomic uint64_t leave_by;
    char peer[ADDRESS_BYTES];
    char other_hosts[NAMES_BYTES];
} mpi_boot_t;

static mpi_boot_t the_boot;

static mpi_boot_t *mine_of(aq_boot_t *boot)
{
    return (mpi_boot_t *)(void *)boot;
}

static aq_status_t log_error(const mpi_boot_t *self, const char *call, int error)
{
    char why[256];
    self->mpi->explain(error, why, sizeof why);
    aq_log_error("%s by %s failed: %s; see what mpirun reports", call, self->mpi->name, why);
    return AQ_ERR_RESOURCE;
}

// ---- collective calls ----

static bool job_ended(const mpi_boot_t *self)
{
    return self->page && atomic_load(&self->page->exit_word) != AQ_BOOT_RUNNING;
}

// MPI spins while it waits, and there may be more ranks than processors, so this file waits itself.
static void pause_between_tests(unsigned looks)
{
    if (looks < YIELDS)
        sched_yield();
    else
        aq_clock_sleep_ns(PAUSE_NS);
}

// A turn in MPI, which threads of the library may call at the same time.
static void turn_begin(void)
{
    if (aq_mpilib_turns)
        aq_mpilib_turns->enter();
    aq_mpilib_inside = true;
}

static void turn_end(void)
{
    aq_mpilib_inside = false;
    if (aq_mpilib_turns)
        aq_mpilib_turns->leave();
}

// Waits for a request. begun: what the call that made the request returned. If the job ends first,
// the call is abandoned: MPI keeps the request and its buffers, which therefore never belong to the
// caller.
static aq_status_t complete_call(mpi_boot_t *self, const char *call, int begun,
                                 aq_mpilib_request_t *request)
{
    bool done = false;
    for (unsigned looks = 0; !begun && !done; looks++) {
        turn_begin();
        begun = self->mpi->test(request, &done, NULL, NULL);
        turn_end();
        if (begun || done)
            break;
        if (looks >= YIELDS && job_ended(self))
            return AQ_ERR_PEER;
        if (!aq_page_meanwhile())
            pause_between_tests(looks);
    }
    if (begun && job_ended(self))
        return AQ_ERR_PEER;
    return begun ? log_error(self, call, begun) : AQ_OK;
}

static aq_status_t mpi_boot_barrier(aq_boot_t *boot)
{
    mpi_boot_t *self = mine_of(boot);
    aq_mpilib_request_t request;
    turn_begin();
    const int begun = self->mpi->barrier(self->comm, &request);
    turn_end();
    return complete_call(self, "a barrier", begun, &request);
}

static uint8_t *new_buffer(size_t bytes)
{
    uint8_t *buffer = malloc(bytes);
    if (!buffer)
        aq_log_error("no memory for an exchange of %zu bytes", bytes);
    return buffer;
}

// Copies a part of every rank to its place in all.
static void scatter_part(uint8_t *all, const uint8_t *packed, uint32_t size, size_t len,
                         size_t done, size_t part)
{
    for (uint32_t r = 0; r < size; r++)
        memcpy(all + r * len + done, packed + r * part, part);
}

static aq_status_t mpi_boot_exchange(aq_boot_t *boot, const void *mine, size_t len, void *all)
{
    mpi_boot_t *self = mine_of(boot);
    aq_mpilib_request_t request;
    aq_status_t status = AQ_OK;
    uint8_t *packed = new_buffer(((size_t)boot->size + 1) * PART);
    if (!packed)
        return AQ_ERR_RESOURCE;
    uint8_t *own = packed + (size_t)boot->size * PART;
    for (size_t done = 0, part; status == AQ_OK && done < len; done += part) {
        part = len - done < PART ? len - done : PART;
        memcpy(own, (const uint8_t *)mine + done, part);
        turn_begin();
        const int begun = self->mpi->exchange(self->comm, own, (int)part, packed, &request);
        turn_end();
        status = complete_call(self, "an exchange", begun, &request);
        if (status == AQ_OK)
            scatter_part(all, packed, boot->size, len, done, part);
    }
    if (status != AQ_ERR_PEER)
        free(packed);
    return status;
}

static aq_status_t mpi_boot_broadcast(aq_boot_t *boot, void *buf, size_t len, uint32_t root)
{
    mpi_boot_t *self = mine_of(boot);
    aq_mpilib_request_t request;
    if (root >= boot->size) {
        aq_log_error("broadcast from rank %" PRIu32 " in a job of %" PRIu32
                     " ranks; give a rank of the job",
                     root, boot->size);
        return AQ_ERR_ARG;
    }
    aq_status_t status = AQ_OK;
    uint8_t *own = new_buffer(PART);
    for (size_t done = 0, part; own && status == AQ_OK && done < len; done += part) {
        part = len - done < PART ? len - done : PART;
        memcpy(own, (uint8_t *)buf + done, part);
        turn_begin();
        const int begun = self->mpi->broadcast(self->comm, own, (int)part, root, &request);
        turn_end();
        status = complete_call(self, "a broadcast", begun, &request);
        if (status == AQ_OK)
            memcpy((uint8_t *)buf + done, own, part);
    }
    if (status != AQ_ERR_PEER)
        free(own);
    return own ? status : AQ_ERR_RESOURCE;
}

// ---- the end ----

static int mpi_boot_announce(aq_boot_t *boot, int code)
{
    uint64_t never = 0;
    atomic_compare_exchange_strong(&mine_of(boot)->leave_by, &never,
                                   aq_clock_ns() + aq_exit_timeout_ns(boot->size) +
                                       aq_exit_memory_ns(aq_exit_resident(getpid()) * boot->size));
    const int won = aq_page_announce(mine_of(boot)->page, (int32_t)boot->rank, code);
    aq_report_send(AQ_REPORT_ENDS, won);
    return won;
}

// A launcher that is told to end the job may lose what a rank has just printed.
static void wait_for_output(void)
{
    aq_clock_sleep_ns(OUTPUT_NS);
}

// mpirun ends the job when a rank leaves with a code other than 0 and without MPI_Finalize. A
// signal handler must not call MPI's own abort.
__attribute__((noreturn)) static void mpi_boot_abort(aq_boot_t *boot, int code)
{
    const mpi_boot_t *self = mine_of(boot);
    atomic_store(&self->page->abort_requested, 1);
    const bool all_leave = atomic_load(&self->page->state[boot->rank]) == AQ_RANK_FINALIZED;
    int won = mpi_boot_announce(boot, code);
    if (won == 0 && !all_leave)
        won = 1;
    aq_report_send(AQ_REPORT_ENDS, won);
    if (won && self->mpi->end_now) {
        wait_for_output();
        self->mpi->end_now(won);
    }
    _exit(won);
}

static bool job_aborted(const mpi_boot_t *self)
{
    return atomic_load(&self->page->abort_requested) != 0;
}

// MPI_Finalize waits for all ranks, so all ranks must have arrived first. Meanwhile other ranks may
// ask again for an answer that was lost.
static bool all_leave(mpi_boot_t *self)
{
    const uint64_t least = aq_clock_ns() + LEAVE_NS, limit = atomic_load(&self->leave_by);
    aq_mpilib_request_t request;
    bool done = false;
    int error = (self->mpi->leave ? self->mpi->leave : self->mpi->barrier)(self->last, &request);
    for (unsigned looks = 0; !error && !done && !job_aborted(self); looks++) {
        const uint64_t now = aq_clock_ns();
        if (now > limit && now > least)
            break;
        error = self->mpi->test(&request, &done, NULL, NULL);
        if (!done && !aq_page_meanwhile())
            pause_between_tests(looks);
    }
    return !error && done;
}

// Returns the announced code if it reports a failure, else code.
static int announced_or(const mpi_boot_t *self, int code)
{
    int32_t word = atomic_load(&self->page->exit_word);
    return word == AQ_BOOT_RUNNING || word == 1 ? code : word - 1;
}

static void mark_left(mpi_boot_t *self)
{
    atomic_store(&self->page->state[self->boot.rank], AQ_RANK_FINALIZED);
}

static void leave_mpi(mpi_boot_t *self)
{
    // A signal handler that interrupted MPI must not call it again.
    if (self->mpi->finished() || aq_mpilib_inside || !aq_settings_bool(AQ_SET_MPI_FINALIZE))
        return;
    if (all_leave(self)) {
        mark_left(self);
        const bool other_hosts = *self->peer != '\0';
        if (!other_hosts || !self->mpi->quit || !self->mpi->quit())
            (void)self->mpi->finish();
        return;
    }
    if (job_aborted(self)) // the rank that aborted has reported why
        mpi_boot_abort(&self->boot, 1);
    aq_log_error("some ranks do not leave the job, so mpirun has to end them; let them poll "
                 "(gasnet_AMPoll) more often, or raise GASNET_EXITTIMEOUT");
    fflush(NULL);
    if (*self->peer && self->mpi->end_job) { // there are other hosts
        wait_for_output();
        self->mpi->end_job(announced_or(self, 1), "some ranks do not leave the job");
    }
    mpi_boot_abort(&self->boot, 1);
}

// Tells the launcher that this process leaves, if finish has left that to a function of atexit: the
// process is about to end by _exit, which calls none.
static void tell_launcher(const mpi_boot_t *self)
{
    if (self->mpi->quit && self->mpi->finished())
        (void)self->mpi->quit();
}

static void mpi_boot_finalize(aq_boot_t *boot)
{
    mpi_boot_t *self = mine_of(boot);
    if (self->leaves)
        return;
    self->leaves = true;
    leave_mpi(self);
    tell_launcher(self);
    mark_left(self);
}

// A return from main, or exit(), ends the job like gasnet_exit: the other ranks, which may be about
// to return the same code, get time to leave too. Other spawners have a supervisor for that.
static void on_exit_of_process(int code, void *unused)
{
    (void)unused;
    mpi_boot_t *self = &the_boot;
    int won = code;
    if (!aq_own_process())
        return;
    bool ends_job = aq_settings_bool(AQ_SET_CATCH_EXIT);
    if (ends_job && self->boot.leave)
        self->boot.leave(code);
    if (!self->leaves)
        aq_report_send(AQ_REPORT_LEAVES, code);
    if (self->leaves || self->mpi->finished())
        return;
    fflush(NULL);
    if (ends_job)
        won = mpi_boot_announce(&self->boot, code);
    self->leaves = true;
    if (self->ours)
        leave_mpi(self);
    else if (code && ends_job)
        mpi_boot_abort(&self->boot, code); // other ranks may wait in MPI
    mark_left(self);
    if (won == code)
        return;
    tell_launcher(self);
    _exit(won);
}

// ---- hosts ----

// What a rank tells the others about where it runs.
typedef struct info {
    char host[96];               // see aq_page_machine
    char address[ADDRESS_BYTES]; // numeric; "": no address that others can use
    char name[NAME_BYTES];       // for people
    cpu_set_t processors;
    pid_t pid;
    aq_memfile_ticket_t page; // of the first rank of a host
} host_info_t;

static void fill_host_info(host_info_t *info)
{
    char addresses[1024];
    memset(info, 0, sizeof *info);
    aq_page_machine(info->host, sizeof info->host);
    info->pid = getpid();
    snprintf(info->name, sizeof info->name, "%s", aq_log_host());
    aq_net_own_addresses(addresses, sizeof addresses);
    snprintf(info->address, sizeof info->address, "%.*s", (int)strcspn(addresses, ","), addresses);
    if (sched_getaffinity(0, sizeof info->processors, &info->processors) != 0)
        CPU_ZERO(&info->processors);
}

// Numbers hosts by their first rank; *first is the first rank of this host.
static void number_hosts(const host_info_t *infos, uint32_t rank, uint32_t size,
                         uint32_t *host_of_rank, uint32_t *first)
{
    uint32_t hosts = 0;
    *first = rank;
    for (uint32_t r = 0; r < size; r++) {
        uint32_t same = r > 0 && strcmp(infos[r].host, infos[r - 1].host) == 0 ? r - 1 : 0;
        while (same < r && strcmp(infos[same].host, infos[r].host) != 0)
            same++;
        host_of_rank[r] = same < r ? host_of_rank[same] : hosts++;
    }
    for (uint32_t r = size; r-- > 0;)
        if (host_of_rank[r] == host_of_rank[rank])
            *first = r;
}

// mpirun may bind each rank to different processors; the ranks of a host share the union.
static uint32_t count_processors(const host_info_t *infos, const uint32_t *host_of_rank,
                                 uint32_t rank, uint32_t size)
{
    cpu_set_t all;
    CPU_ZERO(&all);
    for (uint32_t r = 0; r < size; r++)
        if (host_of_rank[r] == host_of_rank[rank])
            CPU_OR(&all, &all, &infos[r].processors);
    return (uint32_t)CPU_COUNT(&all);
}

static const char *address_elsewhere(const host_info_t *infos, const uint32_t *host_of_rank,
                                     uint32_t rank, uint32_t size)
{
    for (uint32_t r = 0; r < size; r++)
        if (host_of_rank[r] != host_of_rank[rank])
            return infos[r].address;
    return "";
}

// Lists the names of the other hosts, as far as there is room.
static void name_others(const host_info_t *infos, const uint32_t *host_of_rank, uint32_t rank,
                        uint32_t size, char names[NAMES_BYTES])
{
    size_t used = 0;
    for (uint32_t r = 0, hosts = 0; r < size; r++) {
        if (host_of_rank[r] != hosts)
            continue; // not the first rank of its host
        hosts++;
        if (host_of_rank[r] == host_of_rank[rank])
            continue;
        if (used + sizeof " ..." + NAME_BYTES > NAMES_BYTES) {
            snprintf(names + used, NAMES_BYTES - used, " ...");
            return;
        }
        used += (size_t)snprintf(names + used, NAMES_BYTES - used, "%s%.*s", used ? " " : "",
                                 NAME_BYTES - 1, infos[r].name);
    }
}

static aq_status_t make_page(uint32_t size, int *fd, aq_boot_page_t **page,
                             aq_memfile_ticket_t *ticket)
{
    void *addr;
    aq_status_t status = aq_memfile_create("gasnet-boot", aq_page_bytes(size), fd);
    if (status == AQ_OK)
        status = aq_memfile_map(*fd, 0, aq_page_bytes(size), &addr);
    if (status == AQ_OK)
        status = aq_page_init(addr, size);
    if (status != AQ_OK)
        return status;
    *page = addr;
    return aq_memfile_ticket(*fd, ticket);
}

static aq_status_t open_page(uint32_t size, const aq_memfile_ticket_t *ticket,
                             aq_boot_page_t **page)
{
    int fd;
    void *addr;
    aq_status_t status = aq_memfile_open(ticket, &fd);
    if (status != AQ_OK)
        return status;
    status = aq_memfile_map(fd, 0, aq_page_bytes(size), &addr);
    (void)close(fd);
    if (status == AQ_OK)
        *page = addr;
    return status;
}

// Shares the page of this host: its first rank makes the page and tells the others where it is.
static aq_status_t share_page(mpi_boot_t *self, host_info_t *infos, host_info_t *mine,
                              uint32_t first)
{
    aq_boot_t *boot = &self->boot;
    aq_boot_page_t *page = NULL;
    int fd = -1;
    aq_status_t status = AQ_OK;
    if (first == boot->rank)
        status = make_page(boot->size, &fd, &page, &mine->page);
    if (status == AQ_OK)
        status = mpi_boot_exchange(boot, mine, sizeof *mine, infos);
    if (status == AQ_OK && first != boot->rank)
        status = open_page(boot->size, &infos[first].page, &page);
    if (status == AQ_OK)
        status = mpi_boot_barrier(boot); // all have opened it
    if (fd >= 0)
        (void)close(fd);
    self->page = page;
    return status;
}

// Watches the launcher and the next rank of this host; the last rank watches the first.
static aq_status_t watch_others(const mpi_boot_t *self, const host_info_t *infos)
{
    const aq_boot_t *boot = &self->boot;
    aq_watch_t watch = {.page = self->page, .rank = boot->rank, .next = boot->rank};
    if (!self->mpi->lifeline)
        return AQ_OK;
    watch.lifeline = self->mpi->lifeline();
    if (self->mpi->end_job && !aq_mpilib_launched().own)
        watch.end_job = self->mpi->end_job;
    if (watch.end_job)
        do
            watch.next = (watch.next + 1) % boot->size;
        while (boot->host_of_rank[watch.next] != boot->host_of_rank[boot->rank]);
    watch.next_pid = infos[watch.next].pid;
    return aq_watch_start(&watch);
}

static aq_status_t find_hosts(mpi_boot_t *self)
{
    aq_boot_t *boot = &self->boot;
    host_info_t mine, *infos = calloc(boot->size, sizeof *infos);
    uint32_t first, *host_of_rank = calloc(boot->size, sizeof *host_of_rank);
    if (!infos || !host_of_rank) {
        aq_log_error("no memory for the hosts of %u ranks", boot->size);
        free(infos);
        free(host_of_rank);
        return AQ_ERR_RESOURCE;
    }
    fill_host_info(&mine);
    aq_status_t status = mpi_boot_exchange(boot, &mine, sizeof mine, infos);
    if (status == AQ_OK) {
        number_hosts(infos, boot->rank, boot->size, host_of_rank, &first);
        for (uint32_t r = 0; r < boot->size; r++)
            boot->exit_stays_here |= host_of_rank[r] != host_of_rank[boot->rank];
        boot->processors = count_processors(infos, host_of_rank, boot->rank, boot->size);
        snprintf(self->peer, sizeof self->peer, "%s",
                 address_elsewhere(infos, host_of_rank, boot->rank, boot->size));
        name_others(infos, host_of_rank, boot->rank, boot->size, self->other_hosts);
        status = share_page(self, infos, &mine, first);
    }
    boot->host_of_rank = host_of_rank;
    if (status == AQ_OK)
        status = watch_others(self, infos);
    boot->peer = self->peer;
    boot->other_hosts = self->other_hosts;
    free(infos);
    return status;
}

// ---- joining ----

static aq_mpilib_level_t wanted_level(const aq_mpilib_table_t *mpi)
{
    static const char *const words[] = {"SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE"};
    const char *word = aq_settings_text(AQ_SET_MPI_THREAD);
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i]) == 0)
            return (aq_mpilib_level_t)i;
    return aq_mpilib_one_thread ? AQ_MPILIB_SINGLE : mpi->level_for_threads;
}

static const char *starting; // the MPI that starts; NULL: none does

// An MPI may end the process when the mpirun of another one has started it, as MPICH 5 does.
static void tell_of_end(void)
{
    if (starting == NULL || !aq_own_process())
        return;
    const aq_mpilib_launch_t launch = aq_mpilib_launched();
    aq_log_error("%s has ended this program, which %s started, in MPI_Init; start the program with "
                 "the mpirun that belongs to the MPI it is linked with",
                 starting, launch.by ? launch.by : "no mpirun");
}

static int start_or_tell(const aq_mpilib_table_t *mpi)
{
    starting = mpi->name;
    (void)atexit(tell_of_end);
    const int error = mpi->start(wanted_level(mpi));
    starting = NULL;
    return error;
}

// Initializes MPI unless the client has done so.
static aq_status_t start_mpi(mpi_boot_t *self)
{
    if (self->mpi->finished()) {
        aq_log_error("MPI_Finalize was called before init, and MPI cannot be started a second "
                     "time; finalize MPI after gasnet_exit, or leave that to gasnet_exit");
        return AQ_ERR_CONFIG;
    }
    self->ours = !self->mpi->started();
    if (!self->ours)
        return AQ_OK;
    int error = start_or_tell(self->mpi);
    if (!error)
        return AQ_OK;
    char why[256];
    self->mpi->explain(error, why, sizeof why);
    aq_log_error("%s cannot start (%s); start the program by an mpirun that belongs to it, or "
                 "unset GASNET_SPAWNER",
                 self->mpi->name, why);
    return AQ_ERR_RESOURCE;
}

// A program that is linked with one MPI but started by the mpirun of another: each process would be
// a job of its own.
static aq_status_t check_size(const mpi_boot_t *self)
{
    aq_mpilib_launch_t launch = aq_mpilib_launched();
    char version[64];
    if (!launch.size || launch.size == self->boot.size)
        return AQ_OK;
    self->mpi->version(version, sizeof version);
    aq_log_error("%s started %u ranks, but %s in this program sees %u; start the program with the "
                 "mpirun that belongs to the MPI it is linked with",
                 launch.by, launch.size, version, self->boot.size);
    return AQ_ERR_CONFIG;
}

static const aq_boot_ops_t mpi_ops = {
    .exchange = mpi_boot_exchange,
    .barrier = mpi_boot_barrier,
    .broadcast = mpi_boot_broadcast,
    .announce_exit = mpi_boot_announce,
    .abort = mpi_boot_abort,
    .finalize = mpi_boot_finalize,
};

static aq_status_t join_job(mpi_boot_t *self)
{
    aq_boot_t *boot = &self->boot;
    int error = self->mpi->open(&self->comm, &boot->rank, &boot->size);
    if (!error)
        error = self->mpi->open(&self->last, &boot->rank, &boot->size);
    if (error)
        return log_error(self, "joining the job", error);
    aq_status_t status = check_size(self);
    if (status != AQ_OK)
        return status;
    aq_log_identity(boot->rank, boot->size);
    aq_report_open(boot->rank, boot->size);
    status = find_hosts(self);
    if (status != AQ_OK)
        return status;
    memcpy(boot->key, self->page->key, AQ_KEY_BYTES);
    boot->waiting_cpus = aq_page_waiting_cpus(self->page);
    boot->exit_word = &self->page->exit_word;
    return mpi_boot_broadcast(boot, boot->key, AQ_KEY_BYTES, 0);
}

// Finds the MPI of this process and starts it.
static aq_status_t find_mpi(mpi_boot_t *self)
{
    char why[2048];
    self->mpi = aq_mpilib_find_mpi(why, sizeof why);
    if (self->mpi)
        return start_mpi(self);
    aq_log_error("spawner mpi cannot be used: %s; or set GASNET_SPAWNER=fork, if each process that "
                 "mpirun started is to be a job of its own",
                 why);
    return AQ_ERR_ABSENT;
}

static aq_status_t find_pmi(mpi_boot_t *self)
{
    char why[2048];
    self->ours = true;
    self->mpi = aq_mpilib_start_pmi(why, sizeof why);
    if (self->mpi)
        return AQ_OK;
    aq_log_error("no launcher serves this process (%s); start the program by mpirun, prterun, srun "
                 "--mpi=pmix or srun --mpi=pmi2, or unset GASNET_SPAWNER, or set "
                 "GASNET_SPAWNER=fork, if each process is to be a job of its own",
                 why);
    return AQ_ERR_RESOURCE;
}

aq_status_t aq_boot_mpi_join(bool pmi, aq_boot_t **out)
{
    mpi_boot_t *self = &the_boot;
    aq_own_process_begin();
    *self = (mpi_boot_t){.boot = {.ops = &mpi_ops, .line_buffer = true, .tells_signals = true}};
    aq_status_t status = pmi ? find_pmi(self) : find_mpi(self);
    if (status == AQ_OK)
        status = join_job(self);
    if (status != AQ_OK)
        return status;
    (void)on_exit(on_exit_of_process, NULL);
    *out = &self->boot;
    return AQ_OK;
}
