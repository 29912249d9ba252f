// SPDX-License-Identifier: BSD-3-Clause
// Speaks the reader's side of look_format.h: connects, sends a request, and checks and decodes the
// frames. job_watch.c stores the ranks that arrive as files of this host.
#include "job_remote.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../base/system/await.h"
#include "../../base/clock.h"
#include "../../base/system/local_socket.h"
#include "../format/look_format.h"
#include "process_table.h"

enum {
    LOOK_MS = 2000,
    ANSWER_MAX = 256 << 20,
    RECEIVE = 1 << 16,
    COUNTS_BYTES = 4 + 8 * AQ_PEER_COUNTS,
    RANKS_MAX = 1 << 20,
    PAGE = 4096,
};

// ---- the connection ----

static bool open_at(aq_remote_t *remote, const struct sockaddr_un *address, socklen_t length,
                    int wait_ms)
{
    *remote = (aq_remote_t){.fd = aq_local_connect(address, length, SOCK_STREAM, wait_ms)};
    if (remote->fd >= 0 && (geteuid() == 0 || aq_local_is_own_or_root(remote->fd)))
        return true;
    aq_remote_close(remote);
    return false;
}

// Any user can bind the name of another process's socket, so this checks which process listens
// there.
bool aq_remote_open(aq_remote_t *remote, pid_t launcher, int wait_ms)
{
    struct sockaddr_un address;
    const socklen_t length = aq_look_address(launcher, &address);
    if (!open_at(remote, &address, length, wait_ms))
        return false;
    if (aq_process_inner(aq_local_process(remote->fd)) == launcher)
        return true;
    aq_remote_close(remote);
    return false;
}

bool aq_remote_open_job(aq_remote_t *remote, uint64_t job)
{
    struct sockaddr_un address;
    const socklen_t length = aq_look_job_address(job, &address);
    return open_at(remote, &address, length, AQ_REMOTE_WAIT_MS);
}

void aq_remote_close(aq_remote_t *remote)
{
    if (remote->fd >= 0)
        close(remote->fd);
    free(remote->data);
    *remote = (aq_remote_t){.fd = -1};
}

static bool make_room(aq_remote_t *remote)
{
    if (remote->room - remote->used >= RECEIVE)
        return true;
    const size_t size = 2 * remote->room + RECEIVE;
    uint8_t *data = size <= 2 * (size_t)ANSWER_MAX ? realloc(remote->data, size) : NULL;
    if (!data)
        return false;
    remote->data = data;
    remote->room = size;
    return true;
}

// Reads once, waiting until the time `until`. Returns false if that has passed, even if the
// launcher still sends, or if the launcher is gone.
static bool receive(aq_remote_t *remote, uint64_t until)
{
    const uint64_t now = aq_clock_ns();
    if (now >= until || !make_room(remote) ||
        !aq_await(remote->fd, POLLIN, (int)((until - now) / 1000000) + 1))
        return false;
    const ssize_t got = read(remote->fd, remote->data + remote->used, RECEIVE);
    remote->used += got > 0 ? (size_t)got : 0;
    return got > 0;
}

// ---- the bytes ----

typedef struct view {
    const uint8_t *at;
    size_t left;
    bool bad;
} view_t;

static const uint8_t *take(view_t *view, size_t bytes)
{
    const uint8_t *at = view->at;
    if (view->left < bytes) {
        view->bad = true;
        view->left = 0;
        return NULL;
    }
    view->at += bytes;
    view->left -= bytes;
    return at;
}

static uint64_t number_at(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

static uint64_t take_number(view_t *view, unsigned bytes)
{
    const uint8_t *at = take(view, bytes);
    return at ? number_at(at, bytes) : 0;
}

static void take_head(view_t *view, aq_rank_head_t *head)
{
    const uint8_t *map = take(view, AQ_LOOK_MAP);
    memset(head, 0, sizeof *head);
    for (unsigned i = 0; map && i < AQ_LOOK_LINES; i++) {
        const uint8_t *line = map[i / 8] >> i % 8 & 1 ? take(view, AQ_LOOK_LINE) : NULL;
        if (line)
            memcpy((uint8_t *)head + i * (size_t)AQ_LOOK_LINE, line, AQ_LOOK_LINE);
    }
}

// To the clock of this host; 0 stays 0.
static uint64_t time_here(uint64_t then, uint64_t shift)
{
    return then ? then + shift : 0;
}

static void head_shift(aq_rank_head_t *head, uint64_t shift)
{
    head->started = time_here(head->started, shift);
    head->stage_since = time_here(head->stage_since, shift);
    for (unsigned i = 0; i < AQ_SHOWN_THREADS; i++) {
        aq_shown_thread_t *thread = &head->thread[i];
        thread->since = time_here(thread->since, shift);
        thread->polled = time_here(thread->polled, shift);
    }
}

static void take_ranks(view_t *view, uint64_t shift, aq_remote_visit_t visit, void *context)
{
    static aq_rank_head_t head;
    while (view->left && !view->bad) {
        aq_remote_rank_t rank = {.head = &head};
        rank.process = (char)take_number(view, 1);
        rank.cpu = take_number(view, 8);
        take_head(view, &head);
        head_shift(&head, shift);
        rank.own = take(view, (size_t)8 * AQ_OWN_COUNTS);
        rank.peers = (uint32_t)take_number(view, 4);
        rank.counts = take(view, (size_t)rank.peers * COUNTS_BYTES);
        if (!view->bad)
            visit(&rank, context);
    }
}

// ---- a look ----

typedef struct look {
    aq_remote_visit_t visit;
    void *context;
    uint32_t number;         // 0: not known yet
    uint32_t hosts, answers; // to expect; that have come
    uint64_t job;
    aq_stack_result_t result; // of the last answer
} look_t;

static void take_hosts(look_t *look, view_t *view)
{
    look->number = (uint32_t)take_number(view, 4);
    look->hosts = (uint32_t)take_number(view, 4);
    look->job = take_number(view, 8);
}

static void take_seen(look_t *look, view_t *view)
{
    const uint32_t number = (uint32_t)take_number(view, 4);
    const uint64_t there = take_number(view, 8);
    const unsigned result = (unsigned)take_number(view, 1);
    if (view->bad || number != look->number)
        return; // of an earlier look, which has timed out
    look->result = result < AQ_STACK_RESULTS ? (aq_stack_result_t)result : AQ_STACK_UNREACHED;
    take_ranks(view, aq_clock_ns() - there, look->visit, look->context);
    look->answers++;
}

// Takes the frames that are whole. Returns false if they are none.
static bool take_frames(aq_remote_t *remote, look_t *look)
{
    size_t at = 0;
    while (remote->used - at >= AQ_LOOK_FRAME_HEAD) {
        const uint8_t *frame = remote->data + at;
        const size_t length = (size_t)number_at(frame + 4, 4);
        if (length > ANSWER_MAX)
            return false;
        if (remote->used - at - AQ_LOOK_FRAME_HEAD < length)
            break;
        view_t view = {.at = frame + AQ_LOOK_FRAME_HEAD, .left = length};
        if (frame[0] == AQ_LOOK_HOSTS)
            take_hosts(look, &view);
        else if (frame[0] == AQ_LOOK_SEEN)
            take_seen(look, &view);
        at += AQ_LOOK_FRAME_HEAD + length;
    }
    memmove(remote->data, remote->data + at, remote->used - at);
    remote->used -= at;
    return true;
}

static bool send_request(const aq_remote_t *remote, aq_look_request_t what, uint32_t rank)
{
    const uint8_t request[AQ_LOOK_REQUEST] = {(uint8_t)what, (uint8_t)(rank >> 24),
                                              (uint8_t)(rank >> 16), (uint8_t)(rank >> 8),
                                              (uint8_t)rank};
    return send(remote->fd, request, sizeof request, MSG_NOSIGNAL) == (ssize_t)sizeof request;
}

// Returns false if the launcher is gone, or answers nothing.
static bool look_run(aq_remote_t *remote, aq_look_request_t what, uint32_t rank, look_t *look)
{
    const uint64_t until = aq_clock_ns() + (uint64_t)LOOK_MS * 1000000;
    if (remote->fd < 0 || !send_request(remote, what, rank))
        return false;
    while (!look->number || look->answers < look->hosts) {
        if (!receive(remote, until))
            return look->number != 0;
        if (!take_frames(remote, look))
            return false;
    }
    return true;
}

bool aq_remote_look(aq_remote_t *remote, aq_remote_visit_t visit, void *context, uint64_t *job)
{
    look_t look = {.visit = visit, .context = context};
    const bool fine = look_run(remote, AQ_LOOK_ALL, 0, &look);
    *job = look.job;
    return fine;
}

aq_stack_result_t aq_remote_look_at(aq_remote_t *remote, uint32_t rank, bool stack,
                                    aq_remote_visit_t visit, void *context)
{
    look_t look = {.visit = visit, .context = context};
    const bool fine = look_run(remote, stack ? AQ_LOOK_STACK : AQ_LOOK_ONE, rank, &look);
    return fine && look.answers > 0 ? look.result : AQ_STACK_UNREACHED;
}

// ---- files ----

static bool write_counts(const aq_remote_rank_t *rank, int file)
{
    aq_peer_record_t record;
    bool fine = true;
    for (uint32_t i = 0; i < rank->peers && fine; i++) {
        const uint8_t *at = rank->counts + (size_t)i * COUNTS_BYTES;
        const uint64_t to = number_at(at, 4);
        memset(&record, 0, sizeof record);
        for (unsigned c = 0; c < AQ_PEER_COUNTS; c++)
            record.endpoint0[c] = number_at(at + 4 + 8 * (size_t)c, 8);
        fine = to < rank->head->ranks &&
               pwrite(file, &record, sizeof record,
                      (off_t)(AQ_RANK_HEAD_BYTES + to * sizeof record)) == (ssize_t)sizeof record;
    }
    return fine;
}

static bool write_own(const aq_remote_rank_t *rank, int file)
{
    aq_own_record_t own = {0};
    for (unsigned c = 0; c < AQ_OWN_COUNTS; c++)
        own.count[c] = number_at(rank->own + 8 * (size_t)c, 8);
    return pwrite(file, &own, sizeof own,
                  (off_t)(AQ_RANK_HEAD_BYTES + aq_slot_own(rank->head->ranks))) ==
           (ssize_t)sizeof own;
}

int aq_remote_store(const aq_remote_rank_t *rank, int file)
{
    aq_rank_head_t *head = rank->head;
    const bool is_new = file < 0;
    if (head->ranks > RANKS_MAX)
        return -1;
    if (is_new)
        file = memfd_create("aqueduct-rank-copy", MFD_CLOEXEC);
    head->record_bytes = sizeof(aq_peer_record_t);
    head->slots.first = AQ_RANK_HEAD_BYTES;
    head->slots.bytes = (aq_slot_used(head->ranks) + PAGE - 1) / PAGE * PAGE;
    head->slots.used = 1;
    if (file >= 0 && ftruncate(file, (off_t)(head->slots.first + head->slots.bytes)) == 0 &&
        pwrite(file, head, sizeof *head, 0) == (ssize_t)sizeof *head && write_own(rank, file) &&
        write_counts(rank, file))
        return file;
    if (is_new && file >= 0)
        close(file);
    return -1;
}
