/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for messages that the processes of a host map (gasnetx_Msg_Alloc). The kernel refuses that
 * a process reads or writes the memory of another one, so long messages between other memory travel
 * in pieces, and the ranks count these.
 *
 *     alloc_work near     ranks of a neighbourhood copy once
 *     alloc_work far      no rank has a neighbour
 *     alloc_work file     no rank can make the file of its memory: all travel in pieces
 *     alloc_work open     no rank can open the file of another one: the same
 *
 * GASNET_MSG_SHARED=24MB, of which the test uses much more in all.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gasnetex.h>

#include <aqueduct_msg.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum {
    THREADS = 4,
    ROUNDS = 300,
    BLOCKS = 16,
    BLOCK_BYTES = 40000,
    MANY_ROUNDS = 100,
    SEGMENT_BYTES = 9 << 20
};

static gex_TM_t team;
static gex_Rank_t me, size;
static const char *mode;

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "alloc_work: rank %u: %s\n", (unsigned)me, what);
    gasnet_exit(1);
}

static void barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static int mode_is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static uint64_t pieces_now(void)
{
    gasnetx_msg_counts_t counts;
    gasnetx_Msg_Counts(&counts);
    return counts.pieces;
}

/* ---- what the system refuses ---- */

static void refuse_copies(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {5, code};
    check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
              prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
          "the filter of system calls cannot be installed");
}

static void limit_set(int resource, rlim_t most)
{
    const struct rlimit limit = {most, most};
    check(setrlimit(resource, &limit) == 0, "a limit cannot be set");
}

/* ---- memory ---- */

typedef enum where { PRIVATE, SHARED, SEGMENT, PLACES } where_t;

static unsigned char *segment_free; /* the rest of the segment, as of a stack */

static unsigned char *memory_get(where_t where, size_t bytes)
{
    void *memory = NULL;
    if (where == PRIVATE)
        return malloc(bytes);
    if (where == SEGMENT)
        return (segment_free += bytes) - bytes;
    check(gasnetx_Msg_Alloc(bytes, &memory) == GASNET_OK, "no memory is left");
    check((uintptr_t)memory % 64 == 0, "memory is not aligned");
    return memory;
}

static void memory_drop(where_t where, void *memory)
{
    if (where == PRIVATE)
        free(memory);
    else if (where == SEGMENT)
        segment_free = memory;
    else
        check(gasnetx_Msg_Free(memory) == GASNET_OK, "memory cannot be freed");
}

static void test_refusals(void)
{
    void *first = NULL, *other = NULL, *again;
    check(gasnetx_Msg_Alloc((size_t)25 << 20, &first) == GASNET_ERR_RESOURCE &&
              gasnetx_Msg_Alloc(SIZE_MAX, &first) == GASNET_ERR_RESOURCE,
          "more memory than there is was given");
    check(gasnetx_Msg_Alloc(0, &first) == GASNET_OK && gasnetx_Msg_Alloc(65, &other) == GASNET_OK,
          "little memory is refused");
    check(first && other && first != other, "two allocations have one address");
    check(gasnetx_Msg_Free(NULL) == GASNET_OK, "the null pointer cannot be freed");
    check(gasnetx_Msg_Free((char *)other + 64) == GASNET_ERR_BAD_ARG &&
              gasnetx_Msg_Free(&first) == GASNET_ERR_BAD_ARG,
          "memory was freed that is none");
    check(gasnetx_Msg_Free(first) == GASNET_OK && gasnetx_Msg_Free(first) == GASNET_ERR_BAD_ARG,
          "memory was freed twice");
    check(gasnetx_Msg_Alloc(1, &again) == GASNET_OK && again == first,
          "freed memory is not used again");
    check(gasnetx_Msg_Free(again) == GASNET_OK && gasnetx_Msg_Free(other) == GASNET_OK,
          "memory cannot be freed");
}

/* ---- messages ---- */

/* Messages begin at different places of this. */
enum { LONGEST = 4200000, SHIFTS = 256 };
static unsigned char pattern[LONGEST + SHIFTS];

static void pattern_fill(void)
{
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (unsigned char)(i * 13 + (i >> 8) + (i >> 16) * 5);
}

/* Where the memory of the sender and of the receiver is. */
typedef struct kind {
    where_t source, dest;
} kind_t;

/* The library copies messages of these sizes in different ways, see
 * messages/two_sided/msg_coop_copy.c. */
static const size_t sizes[] = {40001, 65536, 131073, 400000, 1000001, LONGEST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static const unsigned char *bytes_of(gex_Rank_t from, uint32_t number)
{
    return pattern + (from * 31 + number * 7) % SHIFTS;
}

static void bytes_check(const unsigned char *in, gex_Rank_t from, uint32_t number, size_t bytes)
{
    check(memcmp(in, bytes_of(from, number), bytes) == 0, "a byte of a message is wrong");
    check(in[bytes] == 0x5a, "a byte behind a message was written");
}

/* Some receives have less memory than their messages have bytes. */
static size_t received_of(uint32_t number)
{
    return number % 3 == 2 ? sizes[number] - 1000 : sizes[number];
}

/* Each rank sends to the rank `distance` behind it, and receives from the one before. */
static void exchange(kind_t kind, gex_Rank_t distance, uint32_t number)
{
    const gex_Rank_t to = (me + distance) % size, from = (me + size - distance) % size;
    const size_t bytes = sizes[number], received = received_of(number);
    unsigned char *out = memory_get(kind.source, bytes);
    unsigned char *in = memory_get(kind.dest, received + 1);
    gasnetx_Request_t requests[2];
    gasnetx_msg_status_t status[2];
    memcpy(out, bytes_of(me, number), bytes);
    memset(in, 0x5a, received + 1);
    gasnetx_Msg_SendNB(team, to, number, out, bytes, &requests[0]);
    gasnetx_Msg_RecvNB(team, from, number, in, received, &requests[1]);
    gasnetx_Request_WaitAll(requests, 2, status);
    check(status[1].received == received, "a message has another length");
    bytes_check(in, from, number, received);
    memory_drop(kind.dest, in);
    memory_drop(kind.source, out);
}

static int is_neighbour(gex_Rank_t rank)
{
    gex_RankInfo_t *all;
    gex_Rank_t count;
    gex_System_QueryNbrhdInfo(&all, &count, NULL);
    for (gex_Rank_t i = 0; i < count; i++)
        if (all[i].gex_jobrank == rank)
            return 1;
    return 0;
}

/* Whether messages of this kind from a rank come without pieces. */
static int is_copied_once(kind_t kind, gex_Rank_t from)
{
    const int segment = kind.source == SEGMENT || kind.dest == SEGMENT;
    const int shared = kind.source == SHARED || kind.dest == SHARED;
    return from == me || (is_neighbour(from) && (segment || (shared && mode_is("near"))));
}

static void test_kind(kind_t kind)
{
    for (gex_Rank_t distance = 0; distance < size; distance++) {
        const gex_Rank_t from = (me + size - distance) % size;
        const uint64_t before = pieces_now();
        for (uint32_t number = 0; number < SIZES; number++)
            exchange(kind, distance, number);
        /* Conduit mpi maps segments of ranks that are no neighbours. */
        if (kind.source != SEGMENT || is_neighbour(from))
            check(is_copied_once(kind, from) == (pieces_now() == before),
                  "a message came in another way than it can");
        barrier();
    }
}

/* Memory that is freed and used again is still mapped at the neighbours. */
static void test_reuse(void)
{
    for (uint32_t i = 0; i < MANY_ROUNDS; i++)
        exchange((kind_t){i % 3 ? SHARED : PRIVATE, i % 2 ? SHARED : PRIVATE}, i % size, i % SIZES);
}

/* ---- threads ---- */

typedef struct worker {
    unsigned number;
    uint64_t random;
    unsigned char *blocks[BLOCKS];
    size_t bytes[BLOCKS];
} worker_t;

static void block_check(const worker_t *worker, unsigned i)
{
    for (size_t k = 0; k < worker->bytes[i]; k++)
        if (worker->blocks[i][k] != (unsigned char)(worker->number * BLOCKS + i))
            check(0, "another thread has written this memory");
}

static void block_turn(worker_t *worker, unsigned i)
{
    if (worker->blocks[i]) {
        block_check(worker, i);
        memory_drop(SHARED, worker->blocks[i]);
        worker->blocks[i] = NULL;
        return;
    }
    worker->bytes[i] = 1 + (worker->random >> 33) % BLOCK_BYTES;
    worker->blocks[i] = memory_get(SHARED, worker->bytes[i]);
    memset(worker->blocks[i], (int)(worker->number * BLOCKS + i), worker->bytes[i]);
}

/* A thread has a tag of its own, and sends its blocks to the same thread of the next rank. */
static void block_send(const worker_t *worker, unsigned i)
{
    const where_t where = worker->random >> 40 & 1 ? SHARED : PRIVATE;
    unsigned char *in = memory_get(where, BLOCK_BYTES);
    gasnetx_Request_t request;
    gasnetx_msg_status_t status;
    gasnetx_Msg_SendNB(team, (me + 1) % size, worker->number, worker->blocks[i], worker->bytes[i],
                       &request);
    gasnetx_Msg_Recv(team, (me + size - 1) % size, worker->number, in, BLOCK_BYTES, &status);
    for (size_t k = 1; k < status.received; k++)
        if (in[k] != in[0])
            check(0, "a byte of a message of a thread is wrong");
    gasnetx_Request_Wait(&request, NULL);
    memory_drop(where, in);
}

static void *worker_run(void *arg)
{
    worker_t *worker = arg;
    for (int round = 0; round < ROUNDS; round++) {
        worker->random = worker->random * 6364136223846793005u + 1442695040888963407u;
        const unsigned i = (worker->random >> 50) % BLOCKS;
        block_turn(worker, i);
        if (!worker->blocks[i])
            block_turn(worker, i);
        block_send(worker, i);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        if (worker->blocks[i])
            block_turn(worker, i);
    return NULL;
}

static void test_threads(void)
{
    static worker_t workers[THREADS];
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].random = (uint64_t)me * THREADS + i + 1;
        pthread_create(&threads[i], NULL, worker_run, &workers[i]);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    barrier();
}

/* All of the memory is one block again. */
static void test_whole(void)
{
    void *memory;
    check(gasnetx_Msg_Alloc(24000000, &memory) == GASNET_OK, "freed memory is lost");
    check(gasnetx_Msg_Free(memory) == GASNET_OK, "memory cannot be freed");
}

/* What the mode forbids. A file that exists is not opened any more. */
static void mode_begin(void)
{
    void *memory;
    refuse_copies();
    if (mode_is("file"))
        limit_set(RLIMIT_FSIZE, 1 << 20);
    check(gasnetx_Msg_Alloc(1, &memory) == GASNET_OK && gasnetx_Msg_Free(memory) == GASNET_OK,
          "no memory is given");
    if (mode_is("open"))
        limit_set(RLIMIT_NOFILE, 3);
    barrier();
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t segment;
    gex_Client_Init(&client, &ep, &team, "alloc_work", &argc, &argv, 0);
    gex_Segment_Attach(&segment, team, SEGMENT_BYTES);
    segment_free = gex_Segment_QueryAddr(segment);
    me = gex_TM_QueryRank(team);
    size = gex_TM_QuerySize(team);
    mode = argc > 1 ? argv[1] : "near";
    gex_System_SetVerboseErrors(0); /* what is refused is refused on purpose */
    mode_begin();
    pattern_fill();
    test_refusals();
    for (int i = 0; i < PLACES * PLACES; i++)
        test_kind((kind_t){i / PLACES, i % PLACES});
    test_reuse();
    test_threads();
    test_whole();
    barrier();
    if (me == 0)
        printf("alloc_work: all messages are right\n");
    gasnet_exit(0);
}
