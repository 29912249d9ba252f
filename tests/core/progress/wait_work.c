/* SPDX-License-Identifier: BSD-3-Clause */
/* The descriptor that wakes a client (gasnetx_Wait_Descriptor), waiting for requests and
 * descriptors together, and levels of progress.
 *
 *     gasnetrun_smp -n 2 wait_work-seq poll|select|epoll|edge|uring [WAKEUPS]
 *         A message goes around, and each rank sleeps until it comes: until rank 0 has slept that
 *         often. With GASNET_WAKE_LIMIT=600000 a lost wake-up ends the test by its time limit.
 *     gasnetrun_smp -n 2 wait_work-seq both [ROUNDS]
 *         Waits for a message, a pipe, or both of them.
 *     gasnetrun_smp -n 2 wait_work-seq idle [LIMIT]
 *         A rank to which nothing comes for a while wakes up at most so often.
 *     gasnetrun_smp -n 2 wait_work-par threads [WAKEUPS]
 *         Several threads sleep on the descriptor.
 *     gasnetrun_smp -n 2 wait_work-par windows [WAKEUPS]
 *         As poll, with messages of further endpoints.
 *     gasnetrun_smp -n 2 wait_work-par level
 *         Which levels of progress are granted, and what the calls refuse.
 */
#include <gasnetex.h>

#include <aqueduct.h>
#include <aqueduct_msg.h>

#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TOKEN = GEX_AM_INDEX_BASE, STOP = -1, SLEEPERS = 4, PAUSE_MS = 300 };

static gex_TM_t team, between; /* between: the endpoints that messages go to */
static gex_Rank_t me, size;
static atomic_uint tokens;  /* that have come */
static atomic_int last;     /* what the last one said */
static unsigned sleeps;     /* of the main thread */
static int descriptor = -1; /* of the library */

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "wait_work: rank %u: %s\n", (unsigned)me, what);
    gasnet_exit(1);
}

static void on_token(gex_Token_t token, gex_AM_Arg_t word)
{
    (void)token;
    atomic_store(&last, word);
    atomic_fetch_add(&tokens, 1);
}

static void token_send(gex_Rank_t to, int word)
{
    gex_AM_RequestShort1(between, to, TOKEN, 0, word);
}

static void barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static void pause_ms(unsigned ms)
{
    const struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

/* ---- ways to sleep until a descriptor is readable ---- */

static void sleep_by_poll(void)
{
    struct pollfd fd = {.fd = descriptor, .events = POLLIN};
    while (poll(&fd, 1, -1) < 0)
        check(errno == EINTR, "poll fails");
}

static void sleep_by_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(descriptor, &set);
    check(select(descriptor + 1, &set, NULL, NULL, NULL) == 1, "select fails");
}

static int epoll_fd;

static void epoll_start(uint32_t events)
{
    struct epoll_event event = {.events = events};
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    check(epoll_fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, descriptor, &event) == 0,
          "epoll does not take the descriptor");
}

static void sleep_by_epoll(void)
{
    struct epoll_event event;
    while (epoll_wait(epoll_fd, &event, 1, -1) < 0)
        check(errno == EINTR, "epoll fails");
}

/* The rings of io_uring, without liburing. */
static struct {
    int fd;
    unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail;
    struct io_uring_sqe *entries;
} ring;

static void *ring_map(size_t bytes, off_t at)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd, at);
    check(memory != MAP_FAILED, "the rings of io_uring cannot be mapped");
    return memory;
}

static void ring_start(void)
{
    struct io_uring_params params = {0};
    ring.fd = (int)syscall(SYS_io_uring_setup, 4, &params);
    if (ring.fd < 0) {
        if (me == 0)
            printf("this kernel does not allow io_uring (%s)\n", strerror(errno));
        barrier();
        gasnet_exit(77);
    }
    char *sq =
        ring_map(params.sq_off.array + params.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
    char *cq = ring_map(params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
                        IORING_OFF_CQ_RING);
    ring.entries = ring_map(params.sq_entries * sizeof *ring.entries, IORING_OFF_SQES);
    ring.sq_tail = (unsigned *)(void *)(sq + params.sq_off.tail);
    ring.sq_mask = (unsigned *)(void *)(sq + params.sq_off.ring_mask);
    ring.sq_array = (unsigned *)(void *)(sq + params.sq_off.array);
    ring.cq_head = (unsigned *)(void *)(cq + params.cq_off.head);
    ring.cq_tail = (unsigned *)(void *)(cq + params.cq_off.tail);
}

/* Submits a poll of the descriptor, and waits for its completion. */
static void sleep_by_uring(void)
{
    const unsigned tail = *ring.sq_tail, place = tail & *ring.sq_mask;
    ring.entries[place] = (struct io_uring_sqe){
        .opcode = IORING_OP_POLL_ADD, .fd = descriptor, .poll32_events = POLLIN};
    ring.sq_array[place] = place;
    __atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
    long submitted = syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    while (__atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE) == *ring.cq_head) {
        check(submitted >= 0 || errno == EINTR, "io_uring fails");
        submitted = syscall(SYS_io_uring_enter, ring.fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    }
    __atomic_store_n(ring.cq_head, *ring.cq_head + 1, __ATOMIC_RELEASE);
}

static void (*sleep_now)(void) = sleep_by_poll;

/* False: the word is no way to sleep. */
static int way_choose(const char *word)
{
    if (strcmp(word, "poll") == 0)
        return 1;
    if (strcmp(word, "select") == 0) {
        sleep_now = sleep_by_select;
        return 1;
    }
    if (strcmp(word, "epoll") == 0 || strcmp(word, "edge") == 0) {
        epoll_start(EPOLLIN | (word[1] == 'd' ? (uint32_t)EPOLLET : 0));
        sleep_now = sleep_by_epoll;
        return 1;
    }
    if (strcmp(word, "uring") == 0) {
        ring_start();
        sleep_now = sleep_by_uring;
        return 1;
    }
    return 0;
}

/* ---- a message goes around ---- */

/* Sleeps until that many tokens have come. Returns how often it slept. */
static unsigned sleep_until(unsigned wanted)
{
    unsigned slept = 0;
    while (atomic_load(&tokens) < wanted) {
        const int armed = gasnetx_Wait_Arm();
        check(armed == GASNET_OK || armed == GASNET_ERR_NOT_READY, "the sleep is refused");
        if (armed != GASNET_OK)
            continue;
        if (atomic_load(&tokens) < wanted) {
            sleep_now();
            slept++;
        }
        check(gasnetx_Wait_Disarm() == GASNET_OK, "the end of a sleep is refused");
    }
    return slept;
}

static void test_around(unsigned wakeups)
{
    const gex_Rank_t next = (me + 1) % size;
    int word = 0;
    for (unsigned i = 1; word != STOP; i++) {
        if (me == 0)
            token_send(next, sleeps < wakeups ? 0 : STOP);
        sleeps += sleep_until(i);
        word = atomic_load(&last); /* the next token may come while this one is sent */
        if (me > 0)
            token_send(next, word);
    }
    barrier();
    if (me == 0)
        printf("wait_work: %u sleeps, and none was too long\n", sleeps);
}

static void test_windows(gex_Client_t client, gex_AM_Entry_t *entry, unsigned wakeups)
{
    gex_EP_t ep;
    check(gex_EP_Create(&ep, client, GEX_EP_CAPABILITY_AM, 0) == GASNET_OK, "no endpoint");
    gex_EP_RegisterHandlers(ep, entry, 1);
    between = gex_TM_Pair(ep, gex_EP_QueryIndex(ep));
    barrier();
    test_around(wakeups);
}

/* ---- a rank to which nothing comes ---- */

static void test_idle(unsigned most)
{
    if (me == 0) {
        for (gex_Rank_t rank = 1; rank < size; rank++)
            token_send(rank, 0); /* so that connections are made before the pause */
        barrier();
        pause_ms(PAUSE_MS);
        for (gex_Rank_t rank = 1; rank < size; rank++)
            token_send(rank, 0);
    } else {
        sleep_until(1);
        barrier();
        sleeps = sleep_until(2);
        printf("wait_work: rank %u woke up %u times\n", (unsigned)me, sleeps);
        check(sleeps <= most, "it woke up too often");
    }
    barrier();
}

/* ---- requests and descriptors ---- */

static int order_pipe[2], answer_pipe[2];

/* Writes a byte into a pipe for each one that it reads from another one. */
static void *echo_run(void *unused)
{
    char byte;
    while (read(order_pipe[0], &byte, 1) == 1)
        if (write(answer_pipe[1], &byte, 1) != 1)
            break;
    return unused;
}

static void pipe_order(void)
{
    check(write(order_pipe[1], "x", 1) == 1, "a pipe is full");
}

/* Waits until the wanted events are there, each of which is one or none. */
static void events_await(gasnetx_Request_t *request, int bytes)
{
    struct pollfd fd = {.fd = answer_pipe[0], .events = POLLIN};
    while (*request || bytes) {
        size_t first = 9, ready = 9;
        char byte;
        check(gasnetx_Request_WaitFds(request, 1, &fd, 1, -1, &first, &ready) == GASNET_OK,
              "the wait is refused");
        check(ready == (fd.revents != 0) && (first == 0 || (first == 1 && ready)),
              "nothing has happened");
        if (first == 0)
            gasnetx_Request_Wait(request, NULL);
        if (!ready)
            continue;
        check(read(answer_pipe[0], &byte, 1) == 1, "the pipe has nothing");
        bytes--;
    }
    check(bytes == 0, "the pipe had more than was written");
}

static void both_round(unsigned i)
{
    gasnetx_Request_t request = GASNETX_REQUEST_NULL;
    unsigned got;
    if (i % 3 != 1) {
        gasnetx_Msg_RecvNB(team, (me + 1) % size, 1, &got, sizeof got, &request);
        gasnetx_Msg_Send(team, (me + 1) % size, 0, &i, sizeof i);
    }
    if (i % 3 != 0)
        pipe_order();
    events_await(&request, i % 3 != 0);
    check(i % 3 == 1 || got == i, "an answer is wrong");
}

static void both_timeout(void)
{
    struct pollfd fd = {.fd = answer_pipe[0], .events = POLLIN};
    gasnetx_Request_t request;
    size_t first, ready;
    char byte;
    gasnetx_Msg_RecvNB(team, me, 7, &byte, 1, &request);
    check(gasnetx_Request_WaitFds(&request, 1, &fd, 1, 30, &first, &ready) == GASNET_ERR_NOT_READY,
          "nothing happens, and the wait ends");
    check(first == 1 && ready == 0, "a time-out has events");
    gasnetx_Request_Cancel(request);
    check(gasnetx_Request_WaitFds(&request, 1, NULL, 0, -1, &first, NULL) == GASNET_OK && !first,
          "a cancelled request is complete");
    gasnetx_Request_Wait(&request, NULL);
    check(gasnetx_Request_WaitFds(&request, 1, NULL, 0, -1, NULL, NULL) == GASNET_ERR_BAD_ARG,
          "there is nothing to wait for");
}

static void *pipes_start(pthread_t *thread)
{
    check(pipe(order_pipe) == 0 && pipe(answer_pipe) == 0 &&
              pthread_create(thread, NULL, echo_run, NULL) == 0,
          "there are no pipes");
    return NULL;
}

/* Answers messages of one rank until it says 0. */
static void answer_all(void)
{
    unsigned word = 1;
    while (word) {
        gasnetx_Request_t request;
        gasnetx_Msg_RecvNB(team, (me + size - 1) % size, 0, &word, sizeof word, &request);
        check(gasnetx_Request_WaitFds(&request, 1, NULL, 0, -1, NULL, NULL) == GASNET_OK,
              "the wait is refused");
        gasnetx_Request_Wait(&request, NULL);
        gasnetx_Msg_Send(team, (me + size - 1) % size, 1, &word, sizeof word);
    }
}

static void test_both(unsigned rounds)
{
    pthread_t thread;
    if (me % 2 == 0 && me + 1 < size) {
        pipes_start(&thread);
        for (unsigned i = 1; i <= rounds; i++)
            both_round(i);
        both_timeout();
        both_round(0);
        close(order_pipe[1]);
        pthread_join(thread, NULL);
    } else if (me % 2) {
        answer_all();
    }
    barrier();
}

/* ---- several threads ---- */

static unsigned thread_wakeups;

static void *sleeper_run(void *unused)
{
    for (unsigned i = 1; i <= thread_wakeups; i++)
        sleep_until(i);
    return unused;
}

/* Each token wakes all threads. */
static void test_threads(unsigned wakeups)
{
    pthread_t threads[SLEEPERS];
    thread_wakeups = wakeups;
    for (unsigned i = 0; i < SLEEPERS; i++)
        check(pthread_create(&threads[i], NULL, sleeper_run, NULL) == 0, "there is no thread");
    for (unsigned i = 1; i <= wakeups; i++) {
        if (me == 0)
            token_send(1 % size, 0);
        sleep_until(i);
        if (me > 0)
            token_send((me + 1) % size, 0);
    }
    for (unsigned i = 0; i < SLEEPERS; i++)
        pthread_join(threads[i], NULL);
    barrier();
}

/* ---- levels of progress, and what is refused ---- */

static void test_level(void)
{
    unsigned granted = 9;
    check(gasnetx_Progress_Level(2, &granted) == GASNET_ERR_BAD_ARG, "there is no level 2");
    for (unsigned i = 0; i < 20; i++) {
        check(gasnetx_Progress_Level(GASNETX_PROGRESS_THREAD, &granted) == GASNET_OK, "thread");
#ifdef GASNET_PAR
        check(granted == GASNETX_PROGRESS_THREAD, "no thread is granted");
#else
        check(granted == GASNETX_PROGRESS_POLLING, "a thread is granted in mode seq");
#endif
        sleep_until(atomic_load(&tokens));
        barrier();
        check(gasnetx_Progress_Level(GASNETX_PROGRESS_POLLING, &granted) == GASNET_OK, "polling");
        check(granted == GASNETX_PROGRESS_POLLING, "no polling is granted");
        barrier();
    }
    check(gasnetx_Wait_Disarm() == GASNET_OK, "there is no sleep to end");
    while (gasnetx_Wait_Arm() != GASNET_OK) {
    }
    check(gasnetx_Wait_Arm() == GASNET_ERR_BAD_ARG, "a second sleep is announced");
    gasnetx_Wait_Disarm();
    barrier();
}

/* ---- the idle function ---- */

static volatile int idle_calls, idle_enough, idle_nested;

static int on_idle(void *context)
{
    check(context == &idle_calls, "the idle function has another context");
    check(gasnetx_Progress_OnIdle(NULL, NULL) == GASNET_ERR_BAD_ARG, "it replaces itself");
    check(!idle_nested, "a poll of the idle function calls it again");
    idle_nested = 1;
    gasnet_AMPoll();
    idle_nested = 0;
    idle_enough = ++idle_calls >= 1000;
    return 1;
}

/* A wait calls the function, which ends the wait, before it sleeps. */
static void test_on_idle(void)
{
    check(gasnetx_Progress_OnIdle(on_idle, (void *)&idle_calls) == GASNET_OK, "refused");
    GASNET_BLOCKUNTIL(idle_enough);
    barrier();
    check(gasnetx_Progress_OnIdle(NULL, NULL) == GASNET_OK, "refused");
    const int before = idle_calls;
    for (int i = 0; i < 1000; i++)
        gasnet_AMPoll();
    barrier();
    check(idle_calls == before, "a function that was removed is called");
    if (me == 0)
        printf("wait_work: the idle function was called\n");
}

static void test_run(const char *how, unsigned count, gex_Client_t client, gex_AM_Entry_t *entry)
{
    if (way_choose(how))
        test_around(count);
    else if (strcmp(how, "windows") == 0)
        test_windows(client, entry, count);
    else if (strcmp(how, "both") == 0)
        test_both(count);
    else if (strcmp(how, "idle") == 0)
        test_idle(count);
    else if (strcmp(how, "on-idle") == 0)
        test_on_idle();
    else if (strcmp(how, "threads") == 0)
        test_threads(count);
    else if (strcmp(how, "level") == 0)
        test_level();
    else
        check(0, "there is no such test");
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_AM_Entry_t entry = {
        TOKEN, (gex_AM_Fn_t)on_token, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, "token"};
    gex_Client_Init(&client, &ep, &team, "wait_work", &argc, &argv, 0);
    gex_EP_RegisterHandlers(ep, &entry, 1);
    between = team;
    me = gex_TM_QueryRank(team);
    size = gex_TM_QuerySize(team);
    barrier();
    gex_System_SetVerboseErrors(0); /* what is refused is refused on purpose */
    const char *how = argc > 1 ? argv[1] : "poll";
    const unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;
    check(gasnetx_Wait_Descriptor(&descriptor) == GASNET_OK && descriptor >= 0,
          "there is no descriptor");
    if (getenv("WAIT_WORK_LEVEL"))
        check(gasnetx_Progress_Level(GASNETX_PROGRESS_THREAD, &(unsigned){0}) == GASNET_OK,
              "there is no thread");
    test_run(how, count, client, &entry);
    gasnet_exit(0);
}
