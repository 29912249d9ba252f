// SPDX-License-Identifier: BSD-3-Clause
// The answer of this host to a look at its ranks (other/observe/format/look_format.h).
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/observe/format/look_format.h"
#include "../../other/observe/top/process_table.h"
#include "../../other/observe/top/rank_reader.h"
#include "../../other/observe/top/rank_signal.h"
#include "helper_look.h"
#include "../tree/node_tree.h"

static bool line_is_zero(const uint8_t *line)
{
    static const uint8_t zero[AQ_LOOK_LINE];
    return memcmp(line, zero, sizeof zero) == 0;
}

static void put_head(aq_bytes_t *bytes, const uint8_t *head)
{
    uint8_t map[AQ_LOOK_MAP] = {0};
    for (unsigned i = 0; i < AQ_LOOK_LINES; i++)
        if (!line_is_zero(head + i * (size_t)AQ_LOOK_LINE))
            map[i / 8] |= (uint8_t)(1u << i % 8);
    aq_put_raw(bytes, map, sizeof map);
    for (unsigned i = 0; i < AQ_LOOK_LINES; i++)
        if (map[i / 8] >> i % 8 & 1)
            aq_put_raw(bytes, head + i * (size_t)AQ_LOOK_LINE, AQ_LOOK_LINE);
}

// Counts of ranks on their way into the frame, behind their number.
typedef struct counts {
    aq_bytes_t bytes;
    uint32_t ranks;
} counts_t;

static void counts_visit(uint32_t to, const uint64_t sum[AQ_PEER_COUNTS], void *context)
{
    counts_t *counts = context;
    counts->ranks++;
    aq_put_u32(&counts->bytes, to);
    for (unsigned i = 0; i < AQ_PEER_COUNTS; i++)
        aq_put_u64(&counts->bytes, sum[i]);
}

static void put_counts(aq_bytes_t *bytes, int fd, const aq_seen_rank_t *seen)
{
    counts_t counts = {0};
    (void)aq_rank_read_counts(fd, seen, counts_visit, &counts);
    aq_put_u32(bytes, counts.ranks);
    if (counts.ranks > 0)
        aq_put_raw(bytes, counts.bytes.data, counts.bytes.used);
    aq_bytes_free(&counts.bytes);
}

static void put_own(aq_bytes_t *bytes, int fd, const aq_seen_rank_t *seen)
{
    uint64_t own[AQ_OWN_COUNTS];
    (void)aq_rank_read_own(fd, seen, own);
    for (unsigned i = 0; i < AQ_OWN_COUNTS; i++)
        aq_put_u64(bytes, own[i]);
}

static void put_rank(aq_bytes_t *bytes, int fd, const aq_seen_rank_t *seen)
{
    static uint8_t head[AQ_RANK_HEAD_BYTES];
    aq_process_t process;
    if (pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head)
        return;
    (void)aq_process_look(seen->pid, &process);
    aq_put_u8(bytes, (unsigned char)process.state);
    aq_put_u64(bytes, process.cpu);
    put_head(bytes, head);
    put_own(bytes, fd, seen);
    put_counts(bytes, fd, seen);
}

// ---- the files ----

// Ranks of this host that are looked for.
typedef struct search {
    uint64_t job;
    const aq_query_t *order;
    aq_bytes_t *out; // where they go
    int fd;          // of the last one that was found, which stays open; -1: none
} search_t;

static bool is_wanted(const search_t *search, pid_t holder, const aq_seen_rank_t *seen)
{
    return seen->job == search->job && seen->starter == holder &&
           (search->order->what == AQ_LOOK_ALL || seen->rank == search->order->rank);
}

// Ranks have their files open, too: each counts once, where its supervisor holds it.
static void file_visit(pid_t pid, int number, void *context)
{
    static aq_seen_rank_t seen;
    search_t *search = context;
    uint32_t version;
    const int fd = aq_process_open_file(pid, number);
    if (fd < 0)
        return;
    if (aq_rank_read(fd, &seen, &version) != AQ_READ_OK || !is_wanted(search, pid, &seen)) {
        (void)close(fd);
        return;
    }
    if (search->out)
        put_rank(search->out, fd, &seen);
    if (search->fd >= 0)
        (void)close(search->fd);
    search->fd = fd;
}

// The supervisor, a child of this process, holds the files. Those of the members (members.h) have
// supervisors of their own.
static void files_visit(const aq_helper_t *helper, search_t *search)
{
    if (helper->process.resume != NULL)
        aq_process_each_file(AQ_RANK_FILE_NAME, file_visit, search);
    else if (helper->ranks.supervisor > 0)
        (void)aq_process_each_file_of(helper->ranks.supervisor, AQ_RANK_FILE_NAME, file_visit,
                                      search);
}

// ---- answers ----

static size_t answer_begin(aq_bytes_t *out, uint32_t number, aq_stack_result_t result)
{
    const size_t begin = aq_frame_begin(out, AQ_MSG_REPLY);
    aq_put_u32(out, number);
    aq_put_u64(out, aq_clock_ns());
    aq_put_u8(out, result);
    return begin;
}

static void answer_ranks(aq_helper_t *helper, const aq_query_t *order)
{
    aq_bytes_t *out = &helper->parent.out;
    search_t search = {aq_boot_number(helper->node.spec.key), order, out, -1};
    const size_t begin = answer_begin(out, order->number, AQ_STACK_GIVEN);
    files_visit(helper, &search);
    aq_frame_end(out, begin);
    if (search.fd >= 0)
        (void)close(search.fd);
}

// Takes over fd.
static void answer_stack(aq_helper_t *helper, uint32_t number, int fd, aq_stack_result_t result)
{
    static aq_seen_rank_t seen;
    uint32_t version;
    aq_bytes_t *out = &helper->parent.out;
    const size_t begin = answer_begin(out, number, result);
    if (aq_rank_read(fd, &seen, &version) == AQ_READ_OK)
        put_rank(out, fd, &seen);
    aq_frame_end(out, begin);
    (void)close(fd);
}

// Only the host that has the rank answers.
static void answer_one(aq_helper_t *helper, const aq_query_t *order)
{
    search_t search = {aq_boot_number(helper->node.spec.key), order, NULL, -1};
    files_visit(helper, &search);
    if (search.fd >= 0)
        answer_stack(helper, order->number, search.fd, AQ_STACK_GIVEN);
}

// ---- stacks ----

static aq_helper_ask_t *free_ask(aq_helper_t *helper)
{
    for (unsigned i = 0; i < AQ_HELPER_ASKS; i++)
        if (helper->look.asks[i].fd < 0)
            return &helper->look.asks[i];
    return NULL;
}

// The process id in the file belongs to this PID namespace, and not to that of a container, if the
// process is a descendant of the rank's starter.
static aq_stack_result_t signal_rank(int fd, uint32_t *before)
{
    static aq_seen_rank_t seen;
    uint32_t version;
    if (aq_rank_read(fd, &seen, &version) != AQ_READ_OK ||
        !aq_process_is_above(seen.starter, seen.pid))
        return AQ_STACK_UNREACHED;
    return aq_rank_signal(fd, &seen, before);
}

static void ask_stack(aq_helper_t *helper, const aq_query_t *order)
{
    search_t search = {aq_boot_number(helper->node.spec.key), order, NULL, -1};
    files_visit(helper, &search);
    if (search.fd < 0)
        return; // another host has the rank
    aq_helper_ask_t *ask = free_ask(helper);
    uint32_t before = 0;
    const aq_stack_result_t result = ask ? signal_rank(search.fd, &before) : AQ_STACK_SILENT;
    if (result != AQ_STACK_GIVEN) {
        answer_stack(helper, order->number, search.fd, result);
        return;
    }
    const uint64_t now = aq_clock_ns();
    *ask = (aq_helper_ask_t){search.fd, order->number, before, now + AQ_STACK_WAIT_NS};
    helper->node.deadline = now + AQ_STACK_LOOK_NS;
}

// ---- readers on this host ----

// Passes a request on to the launcher, which answers it.
static void reader_query(aq_node_t *node, aq_look_reader_t *reader, aq_look_request_t what,
                         uint32_t rank)
{
    aq_helper_t *helper = aq_helper_of(node);
    reader->number = ++helper->look.count;
    aq_write_reader_query(&helper->parent.out,
                          &(aq_reader_query_t){node->self, reader->number, what, rank});
}

void aq_helper_look_listen(aq_helper_t *helper)
{
    struct sockaddr_un address;
    const socklen_t length = aq_look_job_address(aq_boot_number(helper->node.spec.key), &address);
    aq_readers_listen(&helper->look.readers, &address, length);
}

bool aq_helper_take_told(aq_helper_t *helper, const aq_frame_t *frame)
{
    aq_reader_reply_t told;
    if (!aq_read_reader_reply(frame->payload, &told))
        return false;
    const bool is_here = told.host == helper->node.self;
    aq_child_t *child = is_here ? NULL : aq_node_child_of(&helper->node, told.host);
    aq_look_reader_t *reader = is_here ? aq_readers_find(&helper->look.readers, told.tag) : NULL;
    if (reader != NULL)
        aq_reader_tell(reader, told.type, told.data, told.length);
    else if (child != NULL && aq_link_waiting(&child->link) <= AQ_LOOK_WAITING_MAX)
        aq_frame_copy(&child->link.out, frame);
    return true;
}

// ---- all ----

void aq_helper_look_start(aq_helper_t *helper)
{
    aq_readers_init(&helper->look.readers, reader_query);
    for (unsigned i = 0; i < AQ_HELPER_ASKS; i++)
        helper->look.asks[i].fd = -1;
}

// Returns whether the rank still has time to answer.
static bool ask_check(aq_helper_t *helper, aq_helper_ask_t *ask)
{
    aq_seen_stack_t stack;
    const bool answered = aq_rank_has_answered(ask->fd, ask->before, &stack);
    if (!answered && aq_clock_ns() < ask->until)
        return true;
    answer_stack(helper, ask->number, ask->fd, answered ? AQ_STACK_GIVEN : AQ_STACK_SILENT);
    ask->fd = -1;
    return false;
}

void aq_helper_check_asks(aq_helper_t *helper)
{
    bool waits = false;
    for (unsigned i = 0; i < AQ_HELPER_ASKS; i++)
        if (helper->look.asks[i].fd >= 0)
            waits |= ask_check(helper, &helper->look.asks[i]);
    helper->node.deadline = waits ? aq_clock_ns() + AQ_STACK_LOOK_NS : 0;
}

void aq_helper_look(aq_helper_t *helper, const aq_query_t *order)
{
    if (order->what == AQ_LOOK_ALL)
        answer_ranks(helper, order);
    else if (order->what == AQ_LOOK_STACK)
        ask_stack(helper, order);
    else
        answer_one(helper, order);
}
