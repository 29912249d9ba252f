// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a helper's host: page, supervisor, lines, input.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../other/base/log/log.h"
#include "../../other/base/memory/memfile.h"
#include "../../other/base/settings/settings.h"
#include "helper_ranks.h"
#include "../supervise/supervisor_job.h"
#include "../tree/node_watch.h"

#define EXIT_NO_START 1

// ---- the page ----

static bool list_ranks(aq_helper_t *helper, uint32_t place)
{
    const aq_spec_t *spec = &helper->node.spec;
    uint32_t count = 0;
    for (uint32_t r = 0; r < spec->size; r++)
        count += spec->host_of_rank[r] == place;
    helper->ranks.numbers = calloc((size_t)count + 1, sizeof *helper->ranks.numbers);
    if (helper->ranks.numbers == NULL)
        return false;
    for (uint32_t r = 0; r < spec->size; r++)
        if (spec->host_of_rank[r] == place)
            helper->ranks.numbers[helper->ranks.count++] = r;
    helper->ranks.page->ranks.keeper = helper->ranks.numbers[0];
    return count > 0;
}

// The number of ranks of this host that are below that rank.
static uint32_t ranks_below(const aq_helper_t *helper, uint32_t rank)
{
    uint32_t count = 0;
    while (count < helper->ranks.count && helper->ranks.numbers[count] < rank)
        count++;
    return count;
}

// Each host has a rank that is there at the start, so that it always contributes to a step.
static bool admit_first(aq_helper_t *helper)
{
    const aq_spec_t *spec = &helper->node.spec;
    atomic_store(&helper->ranks.page->ranks.present, spec->size - spec->reserve);
    helper->ranks.page->ranks.local = ranks_below(helper, spec->size - spec->reserve);
    return helper->ranks.page->ranks.local > 0;
}

bool aq_helper_admit(aq_helper_t *helper)
{
    const uint32_t present = atomic_load(&helper->ranks.page->ranks.present),
                   joined = helper->step.part;
    if (joined > helper->node.spec.size - present)
        return false;
    aq_page_admit(helper->ranks.page, &helper->step,
                  ranks_below(helper, present + joined) - ranks_below(helper, present));
    return true;
}

static bool make_page(aq_helper_t *helper)
{
    const aq_spec_t *spec = &helper->node.spec;
    size_t bytes = aq_page_bytes(spec->size);
    void *addr;
    if (aq_memfile_create("gasnet-boot", bytes, &helper->ranks.page_fd) != AQ_OK ||
        aq_memfile_map(helper->ranks.page_fd, 0, bytes, &addr) != AQ_OK)
        return false;
    helper->ranks.page = addr;
    if (aq_page_init(helper->ranks.page, spec->size) != AQ_OK)
        return false;
    memcpy(helper->ranks.page->key, spec->key, AQ_KEY_BYTES);
    memcpy(aq_page_own_hosts(helper->ranks.page),
           spec->machine_of_rank != NULL ? spec->machine_of_rank : spec->host_of_rank,
           spec->size * sizeof(uint32_t));
    helper->ranks.page->line_buffer =
        helper->process.resume != NULL ? isatty(STDOUT_FILENO) != 0 : spec->output.line_buffer;
    helper->ranks.page->relay = getpid();
    // Ranks that exec find the page by its descriptor.
    return helper->process.resume != NULL || fcntl(helper->ranks.page_fd, F_SETFD, 0) == 0;
}

// The page of the process that leads on this host.
static bool open_page(aq_helper_t *helper)
{
    const aq_page_place_t *place = &helper->process.place;
    const aq_memfile_ticket_t ticket = {(int32_t)place->pid, (int32_t)place->fd, place->inode};
    struct stat st;
    void *addr;
    if (aq_memfile_open(&ticket, &helper->ranks.page_fd) != AQ_OK ||
        fstat(helper->ranks.page_fd, &st) != 0 ||
        aq_memfile_map(helper->ranks.page_fd, 0, (size_t)st.st_size, &addr) != AQ_OK)
        return false;
    helper->ranks.page = addr;
    return true;
}

// Log lines of this process travel to the launcher like errors of a rank. The pipe does not block,
// because this process is its reader too.
static bool open_log_stream(aq_helper_t *helper)
{
    int own[2];
    if (pipe2(own, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    helper->output.streams[AQ_HELPER_OWN].fd = own[0];
    helper->ranks.own_errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    bool ok = dup2(own[1], STDERR_FILENO) >= 0;
    (void)close(own[1]);
    return ok;
}

bool aq_helper_prepare(aq_helper_t *helper)
{
    helper->input.fd = helper->ranks.page_fd = -1;
    for (int i = 0; i < AQ_HELPER_STREAMS; i++) {
        helper->output.lines[i].fd = -1;
        helper->output.streams[i] = (aq_stream_t){.fd = -1, .sink = &helper->output.lines[i]};
    }
    if (helper->process.attached)
        return open_page(helper);
    return (helper->process.resume != NULL || open_log_stream(helper)) && make_page(helper);
}

// ---- the supervisor ----

// Closes what belongs to the helper: if the supervisor kept a pipe open, its end would go
// unnoticed.
static void close_all_but_page(int page_fd)
{
    if (page_fd > 3)
        (void)close_range(3, (unsigned)page_fd - 1, 0);
    (void)close_range((unsigned)page_fd + 1, UINT_MAX, 0);
}

// Gives the forked child a name, and an end with its parent.
static void name_supervisor(pid_t parent)
{
    (void)prctl(PR_SET_NAME, "gasnet-ranks");
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_NO_START);
}

// Turns the forked child into a process of its own: standard streams, signals, environment.
static void detach_supervisor(const aq_helper_t *helper, const int fds[3])
{
    sigset_t none;
    for (int fd = 0; fd < 3; fd++)
        if (dup2(fds[fd], fd) < 0)
            _exit(EXIT_NO_START);
    close_all_but_page(helper->ranks.page_fd);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    environ = helper->node.spec.command.environment;
}

// The rank goes on in the memory, and with the descriptors and signals, of the process that was
// started; so only what belongs to the helper goes.
static void shed_helper(aq_helper_t *helper)
{
    aq_link_close(&helper->parent);
    aq_members_close(&helper->process.members);
    (void)close(helper->node.signals);
    (void)sigaction(SIGCHLD, &helper->process.on_child, NULL);
    (void)sigprocmask(SIG_SETMASK, &helper->process.mask, NULL);
}

// Loads the settings of the ranks and enters their working directory. False: logged.
static bool prepare_supervisor(const aq_spec_t *spec)
{
    if (aq_settings_load_logged() != AQ_OK)
        return false;
    if (spec->workers || chdir(spec->command.folder) == 0)
        return true;
    aq_log_error("the working directory %s: %s; make it on every host, or name another one with "
                 "GASNET_SSH_REMOTE_PATH",
                 spec->command.folder, strerror(errno));
    return false;
}

// Returns in the supervisor, with the code of its ranks, and with *boot set in a rank that was
// forked.
static int supervise_ranks(const aq_helper_t *helper, aq_boot_t **boot)
{
    const aq_spec_t *spec = &helper->node.spec;
    const bool own =
        helper->process.resume != NULL; // a process of a rendezvous supervises its own rank
    const uint32_t first = own ? 1 : helper->ranks.page->ranks.local;
    const aq_supervise_part_t part = {helper->ranks.page, helper->ranks.page_fd,
                                      own ? &helper->process.rank : helper->ranks.numbers,
                                      spec->launcher.pid, spec->launcher.host};
    const aq_supervise_options_t options = {.size = first,
                                            .reserve = own ? 0 : helper->ranks.count - first,
                                            .part = &part,
                                            .argv = own ? NULL : spec->command.argv,
                                            .label_lines = spec->output.label_lines,
                                            .cpus_per_rank = spec->cpus_per_rank};
    int code = EXIT_NO_START;
    aq_page_divert_faults(helper->ranks.page, first);
    if (own || prepare_supervisor(spec))
        (void)aq_supervise(&options, boot, &code);
    else
        aq_page_fail(helper->ranks.page, code);
    return code;
}

__attribute__((noreturn)) static void become_supervisor(const aq_helper_t *helper, const int fds[3])
{
    detach_supervisor(helper, fds);
    _exit(supervise_ranks(helper, NULL));
}

__attribute__((noreturn)) static void become_forking_supervisor(aq_helper_t *helper)
{
    aq_boot_t *boot = NULL;
    shed_helper(helper);
    int code = supervise_ranks(helper, &boot);
    if (boot != NULL)
        helper->process.resume(boot);
    _exit(code);
}

// Two workers on one machine share a host.
static bool is_elsewhere(const aq_helper_t *helper, uint32_t node)
{
    const aq_spec_t *spec = &helper->node.spec;
    uint32_t self = helper->node.self;
    if (spec->machine_of_rank == NULL || node >= spec->host_count)
        return node != self;
    return aq_spec_machine(spec, node) != aq_spec_machine(spec, self);
}

// Records the address of another host, if any is known.
static void note_peer(aq_helper_t *helper, const aq_go_t *go)
{
    char parent[AQ_ADDRESS_TEXT];
    const char *peer = "";
    aq_net_peer(helper->parent.fd, parent);
    if (!aq_net_is_loopback(parent))
        peer = parent;
    for (int i = 1; i >= 0; i--)
        if (go->peer[i].text[0] != '\0' && is_elsewhere(helper, go->peer[i].node))
            peer = go->peer[i].text;
    snprintf(helper->ranks.page->peer, sizeof helper->ranks.page->peer, "%s", peer);
}

static bool note_supervisor(aq_helper_t *helper, pid_t pid)
{
    helper->ranks.supervisor = pid;
    helper->ranks.started = true;
    return true;
}

static bool fork_supervisor(aq_helper_t *helper)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        name_supervisor(parent);
        become_forking_supervisor(helper);
    }
    return pid > 0 && note_supervisor(helper, pid);
}

static bool connect_supervisor(aq_helper_t *helper)
{
    int in[2], out[2], err[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
        return false;
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        return false;
    if (pid == 0) {
        name_supervisor(parent);
        const bool direct = helper->node.spec.direct;
        const int fds[3] = {in[0], direct ? STDOUT_FILENO : out[1],
                            direct ? helper->ranks.own_errors : err[1]};
        become_supervisor(helper, fds);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    (void)close(err[1]);
    (void)note_supervisor(helper, pid);
    helper->output.streams[AQ_HELPER_OUTPUT].fd = out[0];
    helper->output.streams[AQ_HELPER_ERRORS].fd = err[0];
    if (helper->ranks.numbers[0] == 0) {
        helper->input.fd = in[1];
        return fcntl(in[1], F_SETFL, O_NONBLOCK) == 0;
    }
    return close(in[1]) == 0;
}

static bool take_place(aq_helper_t *helper, const aq_go_t *go)
{
    if (!list_ranks(helper, aq_go_place(go, helper->node.self)) || !admit_first(helper))
        return false;
    note_peer(helper, go);
    return true;
}

bool aq_helper_start_ranks(aq_helper_t *helper, const aq_go_t *go)
{
    if (go != NULL && !take_place(helper, go))
        return false;
    return helper->process.resume != NULL ? fork_supervisor(helper) : connect_supervisor(helper);
}

// ---- lines ----

void aq_helper_pass_lines(aq_helper_t *helper)
{
    for (int i = 0; i < AQ_HELPER_STREAMS; i++) {
        aq_sink_t *lines = &helper->output.lines[i];
        if (lines->used == 0)
            continue; // the launcher makes lines of these bytes
        aq_write_output(&helper->output.held,
                        &(aq_output_t){.node = helper->node.self,
                                       .stream = (unsigned)i,
                                       .data = (const uint8_t *)lines->bytes + lines->start,
                                       .length = lines->used});
        lines->start = lines->used = 0;
    }
}

static void serve_stream(aq_node_t *node, void *item, short events)
{
    aq_stream_t *stream = item;
    (void)events;
    if (stream->fd >= 0)
        (void)aq_stream_copy(stream);
    aq_helper_pass_lines(aq_helper_of(node));
}

void aq_helper_drain(aq_helper_t *helper)
{
    for (int i = 0; i < AQ_HELPER_STREAMS; i++) {
        aq_stream_t *stream = &helper->output.streams[i];
        struct pollfd ready = {.fd = stream->fd, .events = POLLIN};
        while (stream->fd >= 0 && poll(&ready, 1, 0) > 0)
            if (!aq_stream_copy(stream))
                break;
        if (i != AQ_HELPER_OWN)
            aq_stream_end(stream);
    }
    aq_helper_pass_lines(helper);
}

// ---- input ----

static void end_input(aq_helper_t *helper)
{
    if (helper->input.fd >= 0)
        (void)close(helper->input.fd);
    helper->input.fd = -1;
    aq_bytes_free(&helper->input.bytes);
    helper->input.sent = 0;
}

// Rank 0 may have closed its input; incoming bytes then count as consumed.
static void write_input(aq_helper_t *helper)
{
    aq_bytes_t *bytes = &helper->input.bytes;
    size_t left = bytes->used - helper->input.sent;
    ssize_t n = helper->input.fd >= 0
                    ? write(helper->input.fd, bytes->data + helper->input.sent, left)
                    : (ssize_t)left;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        n = (ssize_t)left;
        end_input(helper);
    }
    aq_write_number(&helper->parent.out, AQ_MSG_TAKEN, (uint32_t)n);
    helper->input.sent += (size_t)n;
    if (helper->input.sent >= bytes->used) {
        bytes->used = helper->input.sent = 0;
        if (helper->input.ended)
            end_input(helper);
    }
}

void aq_helper_take_input(aq_helper_t *helper, const uint8_t *data, size_t length)
{
    helper->input.ended = helper->input.ended || length == 0;
    aq_put_raw(&helper->input.bytes, data, length);
    if (helper->input.bytes.used > 0)
        write_input(helper);
    else if (helper->input.ended)
        end_input(helper);
}

static void serve_input(aq_node_t *node, void *item, short events)
{
    (void)item;
    (void)events;
    if (aq_helper_of(node)->input.bytes.used > 0)
        write_input(aq_helper_of(node));
}

void aq_helper_watch_ranks(aq_helper_t *helper, bool blocked)
{
    aq_node_t *node = &helper->node;
    for (int i = 0; !blocked && i < AQ_HELPER_STREAMS; i++)
        if (helper->output.streams[i].fd >= 0)
            aq_node_watch(node, helper->output.streams[i].fd, POLLIN, serve_stream,
                          &helper->output.streams[i]);
    if (helper->input.fd >= 0 && helper->input.bytes.used > 0)
        aq_node_watch(node, helper->input.fd, POLLOUT, serve_input, helper);
}

// ---- requests of the ranks ----

static void contribute_step(aq_helper_t *helper)
{
    const aq_page_step_t *step = &helper->step;
    const uint8_t *slots = aq_page_slots(helper->ranks.page, step->round);
    aq_gathered_t part = {.step = {step->kind, step->part, step->root}};
    aq_bytes_t data = {0};
    for (uint32_t i = 0; i < helper->ranks.page->ranks.local; i++) {
        uint32_t rank = helper->ranks.numbers[i];
        if (step->kind == AQ_STEP_EXCHANGE)
            aq_gather_row(&data, rank, slots + (size_t)rank * step->part, step->part);
        else if (step->kind == AQ_STEP_BROADCAST && rank == step->root)
            aq_put_raw(&data, slots, step->part);
    }
    part.data = data.data;
    part.length = data.used;
    if (!helper->told.joined)
        aq_write_number(&helper->parent.out, AQ_MSG_JOINED, helper->node.self);
    helper->told.joined = true;
    if (data.failed || !aq_gather_add(&helper->node.gather, &part)) {
        aq_log_error("the ranks of the job disagree on a collective operation; every rank must "
                     "run the same program");
        aq_write_end(&helper->parent.out, AQ_MSG_EXIT, &(aq_end_t){true, 1});
    } else if (aq_gather_complete(&helper->node.gather)) {
        helper->node.ops->gathered(&helper->node);
    }
    aq_bytes_free(&data);
}

// Reports the exit word once, and again when a rank aborts.
static void report_exit(aq_helper_t *helper)
{
    int32_t word = atomic_load(&helper->ranks.page->exit_word);
    bool now = atomic_load(&helper->ranks.page->abort_requested) != 0;
    if (word == AQ_BOOT_RUNNING || (helper->told.exit && (!now || helper->told.abort)))
        return;
    aq_write_end(&helper->parent.out, AQ_MSG_EXIT, &(aq_end_t){now, (uint32_t)word - 1});
    helper->told.exit = true;
    helper->told.abort = now;
}

void aq_helper_check_page(aq_helper_t *helper)
{
    if (aq_page_gathered(helper->ranks.page, &helper->step))
        contribute_step(helper);
    if (!helper->told.left && atomic_load(&helper->ranks.page->absent) > 0) {
        helper->told.left = true;
        aq_write_number(&helper->parent.out, AQ_MSG_LEFT, helper->node.self);
    }
    report_exit(helper);
}
