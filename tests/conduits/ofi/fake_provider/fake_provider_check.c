// SPDX-License-Identifier: BSD-3-Clause
// Checks the fake provider (fake_provider.c) with libfabric alone: two processes exchange messages,
// put, get and use atomics, once for each row of a table of FAKE_OFI. Other rows expect a fault.
//
//     FI_PROVIDER_PATH=<folder of libfake-fi.so> fake_provider_check [all|words...]
//
// Without an argument some rows run, with all every row, with words only theirs. Exit status 0 if
// all rows are as expected, else 1.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_provider_pair.h"

enum {
    MESSAGES = 300,
    ADDS = 100,
    SCRATCH = 1 << 20, // in the region: before it the target of peers, from it on our sources
    ROW_SECONDS = 60,
};

static const char *words; // FAKE_OFI of this row

static bool word_given(const char *word)
{
    return strstr(words, word) != NULL;
}

static pair_context_t *context_new(void)
{
    return calloc(1, sizeof(pair_context_t));
}

// Calls again until the provider takes the operation. It does not sleep meanwhile: a provider that
// refuses may have nothing to tell.
#define UNTIL_TAKEN(pair, call)                                                                    \
    do {                                                                                           \
        ssize_t result_;                                                                           \
        while ((result_ = (call)) == -FI_EAGAIN)                                                   \
            pair_progress(pair);                                                                   \
        pair_must(result_, #call);                                                                 \
    } while (0)

// ---- messages ----

static unsigned char seen[MESSAGES];
static unsigned expected, overtakes;

static size_t message_bytes(unsigned i)
{
    return 4 + (i * 37) % 4000;
}

static void message_check(pair_t *pair, const char *bytes, size_t length)
{
    unsigned i;
    (void)pair;
    memcpy(&i, bytes, sizeof i);
    if (i >= MESSAGES || seen[i]++ || length != message_bytes(i))
        pair_die("message %u is wrong, or came twice (%zu bytes)", i, length);
    for (size_t at = sizeof i; at < length; at++)
        if (bytes[at] != (char)(i + at))
            pair_die("byte %zu of message %u is wrong", at, i);
    overtakes += i != expected;
    expected = i + 1;
}

static size_t message_write(char *to, unsigned i)
{
    memcpy(to, &i, sizeof i);
    for (size_t at = sizeof i; at < message_bytes(i); at++)
        to[at] = (char)(i + at);
    return message_bytes(i);
}

static void message_send(pair_t *pair, unsigned i)
{
    char *source = pair->region + SCRATCH;
    const size_t bytes = message_write(source, i);
    const fi_addr_t to = pair->to[!pair->rank];
    if (bytes <= pair->info->tx_attr->inject_size) {
        UNTIL_TAKEN(pair, fi_inject(pair->endpoint, source, bytes, to));
        return;
    }
    pair_context_t *context = context_new();
    UNTIL_TAKEN(pair, fi_send(pair->endpoint, source, bytes, pair_desc(pair), to, context));
    pair_wait(pair, context);
    pair_must(-context->error, "the completion of fi_send");
    free(context);
}

static void messages_run(pair_t *pair)
{
    pair->message = message_check;
    pair_barrier(pair);
    for (unsigned i = 0; i < MESSAGES; i++) {
        message_send(pair, i);
        if (word_given("strict"))
            pair_barrier(pair);
    }
    while (pair->messages < MESSAGES)
        pair_poll(pair);
    pair_barrier(pair);
    if (!word_given("reorder") && overtakes)
        pair_die("%u messages came out of order", overtakes);
}

// ---- remote memory ----

static void put(pair_t *pair, size_t offset, size_t bytes)
{
    const int other = !pair->rank;
    const char *source = pair->region + SCRATCH + offset;
    const uint64_t to = pair->address[other] + offset;
    if (bytes <= pair->info->tx_attr->inject_size && !pair->delivery) {
        UNTIL_TAKEN(pair, fi_inject_write(pair->endpoint, source, bytes, pair->to[other], to,
                                          pair->key[other]));
        return;
    }
    pair_context_t *context = context_new();
    UNTIL_TAKEN(pair, fi_write(pair->endpoint, source, bytes, pair_desc(pair), pair->to[other], to,
                               pair->key[other], context));
    pair_wait(pair, context);
    pair_must(-context->error, "the completion of fi_write");
    free(context);
}

static void get(pair_t *pair, size_t offset, size_t bytes)
{
    const int other = !pair->rank;
    pair_context_t *context = context_new();
    UNTIL_TAKEN(pair,
                fi_read(pair->endpoint, pair->region + SCRATCH + offset, bytes, pair_desc(pair),
                        pair->to[other], pair->address[other] + offset, pair->key[other], context));
    pair_wait(pair, context);
    pair_must(-context->error, "the completion of fi_read");
    free(context);
}

static char byte_at(int rank, size_t at)
{
    return (char)(rank * 91 + at * 7 + 1);
}

static void bytes_check(const char *bytes, int rank, size_t start, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != byte_at(rank, start + i))
            pair_die("%s: byte %zu of %zu is wrong", what, i, count);
}

// Puts all sizes, then reads them back.
static void memory_run(pair_t *pair)
{
    static const size_t sizes[] = {1, 8, 64, 4096, 32768, 32769, 300000};
    size_t at = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; at += sizes[i++])
        if (sizes[i] <= pair->info->ep_attr->max_msg_size) {
            for (size_t j = 0; j < sizes[i]; j++)
                pair->region[SCRATCH + at + j] = byte_at(pair->rank, at + j);
            put(pair, at, sizes[i]);
            memset(pair->region + SCRATCH + at, 0, sizes[i]);
        }
    pair_barrier(pair);
    at = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; at += sizes[i++])
        if (sizes[i] <= pair->info->ep_attr->max_msg_size) {
            if (pair->delivery)
                bytes_check(pair->region + at, !pair->rank, at, sizes[i], "put");
            get(pair, at, sizes[i]);
            if (pair->delivery || !word_given("reorder"))
                bytes_check(pair->region + SCRATCH + at, pair->rank, at, sizes[i], "get");
        }
    pair_barrier(pair);
}

// ---- atomics ----

static uint64_t fetch(pair_t *pair, enum fi_op operation, uint64_t operand)
{
    uint64_t *source = (uint64_t *)(pair->region + SCRATCH), *result = source + 1;
    pair_context_t *context = context_new();
    *source = operand;
    UNTIL_TAKEN(pair, fi_fetch_atomic(pair->endpoint, source, 1, pair_desc(pair), result,
                                      pair_desc(pair), pair->to[0], pair->address[0], pair->key[0],
                                      FI_UINT64, operation, context));
    pair_wait(pair, context);
    pair_must(-context->error, "the completion of fi_fetch_atomic");
    free(context);
    return *result;
}

static uint64_t compare_swap(pair_t *pair, uint64_t old, uint64_t new)
{
    uint64_t *source = (uint64_t *)(pair->region + SCRATCH);
    pair_context_t *context = context_new();
    source[0] = new, source[1] = old;
    UNTIL_TAKEN(pair,
                fi_compare_atomic(pair->endpoint, source, 1, pair_desc(pair), source + 1,
                                  pair_desc(pair), source + 2, pair_desc(pair), pair->to[0],
                                  pair->address[0], pair->key[0], FI_UINT64, FI_CSWAP, context));
    pair_wait(pair, context);
    pair_must(-context->error, "the completion of fi_compare_atomic");
    free(context);
    return source[2];
}

static void add_plain(pair_t *pair)
{
    uint64_t *source = (uint64_t *)(pair->region + SCRATCH);
    pair_context_t *context = context_new();
    *source = 1;
    UNTIL_TAKEN(pair, fi_atomic(pair->endpoint, source, 1, pair_desc(pair), pair->to[0],
                                pair->address[0], pair->key[0], FI_UINT64, FI_SUM, context));
    pair_wait(pair, context);
    pair_must(-context->error, "the completion of fi_atomic");
    free(context);
}

static void add_by_swap(pair_t *pair)
{
    uint64_t old = fetch(pair, FI_ATOMIC_READ, 0), found;
    while ((found = compare_swap(pair, old, old + 1)) != old)
        old = found;
}

static void atomics_run(pair_t *pair)
{
    if (pair->rank == 0)
        memset(pair->region, 0, sizeof(uint64_t));
    pair_barrier(pair);
    for (int i = 0; i < ADDS; i++) {
        fetch(pair, FI_SUM, 1);
        add_plain(pair);
        add_by_swap(pair);
    }
    pair_barrier(pair);
    const uint64_t total = fetch(pair, FI_ATOMIC_READ, 0);
    if (total != 2 * 3 * ADDS)
        pair_die("atomics: the sum is %llu, not %d", (unsigned long long)total, 2 * 3 * ADDS);
    pair_barrier(pair);
}

// ---- one row ----

static uint64_t caps_of(const char *list)
{
    const bool efa = strstr(list, "as=efa");
    return FI_MSG | (strstr(list, "no-rma") ? 0 : FI_RMA) |
           (strstr(list, "no-atomic") || efa ? 0 : FI_ATOMIC);
}

static void pair_start(pair_t *pair, int rank, int link)
{
    const bool delivery = !word_given("no-delivery") && !word_given("as=cxi");
    if (!pair_open(pair, rank, link, caps_of(words), delivery))
        pair_die("libfabric finds no provider that fits");
}

static int all_run(int rank, int link)
{
    pair_t pair;
    pair_start(&pair, rank, link);
    pair_must(pair_post(&pair), "the first receives");
    messages_run(&pair);
    if (pair.info->caps & FI_RMA)
        memory_run(&pair);
    if (pair.info->caps & FI_ATOMIC)
        atomics_run(&pair);
    pair_close(&pair);
    return 0;
}

// The error of one operation that fails.
static int write_fails(int rank, int link)
{
    pair_t pair;
    pair_context_t *context = context_new();
    pair_start(&pair, rank, link);
    UNTIL_TAKEN(&pair, fi_write(pair.endpoint, pair.region, 8, pair_desc(&pair), pair.to[!rank],
                                pair.address[!rank], pair.key[!rank], context));
    pair_wait(&pair, context);
    return context->error == FI_EOPNOTSUPP ? 0 : 1;
}

static int inject_fails(int rank, int link)
{
    pair_t pair;
    pair_start(&pair, rank, link);
    return fi_inject(pair.endpoint, pair.region, 8, pair.to[!rank]) == -FI_EINVAL ? 0 : 1;
}

static int multi_fails(int rank, int link)
{
    pair_t pair;
    pair_start(&pair, rank, link);
    return pair.multi && pair_post(&pair) == -FI_EOPNOTSUPP ? 0 : 1;
}

// FAKE_OFI=lost=3: the fourth message is lost.
static int fourth_fails(int rank, int link)
{
    pair_t pair;
    int i = 0, error = 0;
    pair_start(&pair, rank, link);
    pair_must(pair_post(&pair), "the first receives");
    for (; i < 10 && !error; i++) {
        pair_context_t *context = context_new();
        UNTIL_TAKEN(&pair, fi_send(pair.endpoint, pair.region, 8, pair_desc(&pair), pair.to[!rank],
                                   context));
        pair_wait(&pair, context);
        error = context->error;
    }
    pair_barrier(&pair);
    return i == 4 && error == FI_ECONNRESET ? 0 : 1;
}

// A peer that ends: what waits for it fails.
static int peer_ends(int rank, int link)
{
    pair_t pair;
    pair_context_t *context = context_new();
    pair_start(&pair, rank, link);
    if (rank == 1)
        return 0;
    UNTIL_TAKEN(&pair, fi_read(pair.endpoint, pair.region, 8, pair_desc(&pair), pair.to[1],
                               pair.address[1], pair.key[1], context));
    pair_wait(&pair, context);
    return context->error == FI_ECONNRESET ? 0 : 1;
}

// Nobody posts a receive.
static int send_unexpected(int rank, int link)
{
    pair_t pair;
    pair_start(&pair, rank, link);
    pair_context_t *context = context_new();
    fi_send(pair.endpoint, pair.region, 8, pair_desc(&pair), pair.to[!rank], context);
    for (;;)
        pair_poll(&pair);
    return 1;
}

static int send_unregistered(int rank, int link)
{
    pair_t pair;
    static char memory[8];
    pair_start(&pair, rank, link);
    fi_send(pair.endpoint, memory, 8, pair_desc(&pair), pair.to[!rank], context_new());
    return 1;
}

static int context_changed(int rank, int link)
{
    pair_t pair;
    pair_context_t *context = context_new();
    pair_start(&pair, rank, link);
    fi_read(pair.endpoint, pair.region, 8, pair_desc(&pair), pair.to[rank], pair.address[rank],
            pair.key[rank], context);
    memset(context, 0, sizeof *context);
    for (;;)
        pair_poll(&pair);
    return 1;
}

static int unmapped_registered(int rank, int link)
{
    pair_t pair;
    struct fid_mr *region;
    pair_start(&pair, rank, link);
    void *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(memory, 8192);
    return fi_mr_reg(pair.domain, memory, 8192, FI_READ, 0, 99, 0, &region, NULL) == -FI_EFAULT ? 0
                                                                                                : 1;
}

static int region_again(int rank, int link)
{
    pair_t pair;
    struct fid_mr *region;
    pair_start(&pair, rank, link);
    fi_mr_reg(pair.domain, (char *)pair.region + 8, 8, FI_READ, 0, 99, 0, &region, NULL);
    return 1;
}

static int regions_too_long(int rank, int link)
{
    pair_t pair;
    struct fid_mr *region;
    pair_start(&pair, rank, link);
    char *memory = calloc(2, 8 << 20);
    fi_mr_reg(pair.domain, memory, 8 << 20, FI_READ, 0, 98, 0, &region, NULL); // not for peers
    fi_mr_reg(pair.domain, memory, 16 << 20, FI_REMOTE_READ, 0, 99, 0, &region, NULL);
    return 1;
}

static int regions_refused(int rank, int link)
{
    pair_t pair;
    struct fid_mr *region;
    pair_start(&pair, rank, link);
    char *memory = calloc(2, 8 << 20);
    return fi_mr_reg(pair.domain, memory, 16 << 20, FI_REMOTE_READ, 0, 99, 0, &region, NULL) ==
                   -FI_ENOMEM
               ? 0
               : 1;
}

static int region_closed(int rank, int link)
{
    pair_t pair;
    pair_start(&pair, rank, link);
    fi_read(pair.endpoint, pair.region, 8, pair_desc(&pair), pair.to[!rank], pair.address[!rank],
            pair.key[!rank], context_new());
    fi_close(&((struct fid_mr *)pair_desc(&pair))->fid);
    return 1;
}

static int region_unbound(int rank, int link)
{
    pair_t pair;
    struct fid_mr *region;
    char *memory = calloc(1, 64);
    pair_start(&pair, rank, link);
    pair_must(fi_mr_reg(pair.domain, memory, 64, FI_SEND, 0, 99, 0, &region, NULL), "fi_mr_reg");
    fi_send(pair.endpoint, memory, 8, fi_mr_desc(region), pair.to[!rank], context_new());
    return 1;
}

// A key that no region has.
static int key_wrong(int rank, int link)
{
    pair_t pair;
    pair_context_t *context = context_new();
    pair_start(&pair, rank, link);
    UNTIL_TAKEN(&pair, fi_write(pair.endpoint, pair.region, 8, pair_desc(&pair), pair.to[rank],
                                pair.address[rank], 12345, context));
    pair_wait(&pair, context);
    return context->error == FI_EACCES ? 0 : 1;
}

static int nothing_fits(int rank, int link)
{
    pair_t pair;
    return pair_open(&pair, rank, link, FI_MSG | FI_RMA | FI_ATOMIC, true) ? 1 : 0;
}

// ---- the table ----

typedef struct row {
    const char *words;
    int (*run)(int rank, int link);
    int signal; // that ends rank 0, or 0: both end with status 0
    bool first; // runs without an argument, too
} row_t;

static const row_t rows[] = {
    {"", all_run, 0, false},
    {"no-rma,no-atomic,no-multi,no-delivery,no-source,no-wait-fd,inject=0", all_run, 0, true},
    {"inject=0,no-delivery", all_run, 0, false},
    {"inject=64,depth=4", all_run, 0, false},
    {"depth=1,posts=1,no-multi", all_run, 0, false},
    {"again,late", all_run, 0, false},
    {"again=80,no-multi,posts=4", all_run, 0, false},
    {"reorder,seed=2", all_run, 0, false},
    {"reorder,no-delivery,no-multi", all_run, 0, true},
    {"strict", all_run, 0, false},
    {"strict,no-multi,inject=0", all_run, 0, false},
    {"mr-local,mr-virt,mr-allocated,mr-prov-key,mr-endpoint", all_run, 0, true},
    {"mr-local,context,late", all_run, 0, true},
    {"mr-endpoint,mr-prov-key,context2", all_run, 0, false},
    {"av-map,no-wait-fd", all_run, 0, false},
    {"av-table,apart", all_run, 0, false},
    {"auto", all_run, 0, false},
    {"message=4096", all_run, 0, false},
    {"as=efa", all_run, 0, false},
    {"as=cxi", all_run, 0, false},
    {"as=psm2", all_run, 0, false},
    {"as=opx", all_run, 0, false},
    {"as=efa,reorder,again", all_run, 0, false},
    {"lie-rma", write_fails, 0, false},
    {"lie-inject", inject_fails, 0, false},
    {"lie-multi", multi_fails, 0, false},
    {"lost=3", fourth_fails, 0, true},
    {"no-wait-fd", peer_ends, 0, false},
    {"", peer_ends, 0, false},
    {"strict", send_unexpected, SIGABRT, true},
    {"mr-local", send_unregistered, SIGABRT, true},
    {"mr-local,mr-endpoint", region_unbound, SIGABRT, false},
    {"mr-once", region_again, SIGABRT, true},
    {"mr-most=16777215", regions_too_long, SIGABRT, true},
    {"mr-full=16777215", regions_refused, 0, true},
    {"mr-local,late", region_closed, SIGABRT, true},
    {"context,late", context_changed, SIGABRT, true},
    {"mr-allocated", unmapped_registered, 0, false},
    {"", key_wrong, 0, true},
    {"no-rma", nothing_fits, 0, false},
    {"no-atomic", nothing_fits, 0, false},
    {"no-delivery", nothing_fits, 0, false},
};

static pid_t rank_start(const row_t *row, int rank, const int *link)
{
    const pid_t child = fork();
    if (child != 0)
        return child;
    close(link[!rank]);
    words = row->words;
    setenv("FAKE_OFI", words, 1);
    alarm(ROW_SECONDS);
    if (row->signal && !freopen("/dev/null", "w", stderr))
        _exit(1);
    _exit(row->run(rank, link[rank]));
}

// A row that expects a signal judges rank 0 only.
static bool rank_ended_well(const row_t *row, int rank, pid_t child)
{
    int status;
    if (row->signal && rank == 1)
        kill(child, SIGKILL);
    if (waitpid(child, &status, 0) != child)
        return false;
    if (row->signal && rank == 1)
        return true;
    return row->signal ? WIFSIGNALED(status) && WTERMSIG(status) == row->signal
                       : WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool row_run(const row_t *row, size_t number)
{
    int link[2];
    pid_t children[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, link) != 0)
        pair_die("no socket pair");
    for (int rank = 0; rank < 2; rank++)
        children[rank] = rank_start(row, rank, link);
    close(link[0]);
    close(link[1]);
    const bool first = rank_ended_well(row, 0, children[0]);
    const bool good = rank_ended_well(row, 1, children[1]) && first;
    printf("%s %zu: FAKE_OFI='%s'\n", good ? "ok" : "FAILED", number, row->words);
    fflush(stdout);
    return good;
}

int main(int argc, char **argv)
{
    bool good = true;
    const bool all = argc > 1 && strcmp(argv[1], "all") == 0;
    if (argc > 1 && !all) {
        const row_t row = {argv[1], all_run, 0, true};
        return row_run(&row, 0) ? 0 : 1;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (all || rows[i].first)
            good &= row_run(&rows[i], i);
    return good ? 0 : 1;
}
