// SPDX-License-Identifier: BSD-3-Clause
// The message ring: takes, publishes and receives, compared with a model.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../conduits/common/mail_message.h"
#include "../../../conduits/common/mail_ring.h"
#include "../../../conduits/common/mailbox.h"

#define COUNT 64 // slots of the ring
#define KEY 0x9234567890abcdefu
#define SOURCE 77

typedef struct ring {
    _Alignas(AQ_RING_LINE) aq_ring_control_t control;
    _Alignas(AQ_RING_LINE) char slots[COUNT * AQ_RING_SLOT];
    aq_ring_out_t out;
    aq_ring_in_t in;
    aq_watched_t watch[2];
} ring_t;

static ring_t *ring;
static aq_conduit_env_t env;

static bool deliver_one(const aq_arrival_t *arrival);

static bool holds_all(const void *addr, size_t nbytes)
{
    (void)addr, (void)nbytes;
    return true;
}

static int set_up(void **state)
{
    (void)state;
    ring = mmap(NULL, sizeof *ring, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ring == MAP_FAILED)
        return -1;
    ring->out = (aq_ring_out_t){
        .control = &ring->control, .slots = ring->slots, .count = COUNT, .key = KEY};
    ring->in = (aq_ring_in_t){.control = &ring->control,
                              .slots = ring->slots,
                              .count = COUNT,
                              .key = KEY,
                              .watch = ring->watch};
    aq_ring_watch(&ring->in);
    env = (aq_conduit_env_t){.deliver = deliver_one, .segment_holds = holds_all};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    munmap(ring, sizeof *ring);
    return 0;
}

static uint64_t freed_slots(void)
{
    return atomic_load(&ring->control.freed);
}

static uint64_t taken_slots(void)
{
    return atomic_load(&ring->control.tail);
}

// ---- messages: each is a Medium, and its number determines its bytes ----

static uint8_t message_byte(uint32_t id, size_t at)
{
    return (uint8_t)(id * 37 + at * 11 + (at >> 8));
}

// The payload, in bytes, with which a Medium with one argument fills n slots exactly.
static size_t bytes_of_slots(uint64_t n)
{
    return n == 1 ? 8 : n * AQ_RING_SLOT - aq_ring_body_offset(1, 9);
}

static void write_message(const aq_ring_run_t *run, uint32_t id, size_t nbytes)
{
    uint8_t *body = aq_ring_body(run->header, 1, nbytes);
    run->header->descriptor = aq_ring_descriptor(200, 1, AQ_AM_MEDIUM, nbytes);
    run->header->source = SOURCE;
    memcpy(aq_ring_args(run->header), &id, sizeof id);
    for (size_t i = 0; i < nbytes; i++)
        body[i] = message_byte(id, i);
}

static void send_medium(uint32_t id, size_t nbytes)
{
    aq_ring_run_t run;
    assert_true(aq_ring_take(&ring->out, aq_ring_slots(1, AQ_AM_MEDIUM, nbytes), &run));
    write_message(&run, id, nbytes);
    aq_ring_publish(&ring->out, &run);
}

// The messages that have been delivered; deliver_one checks each message in full.
static struct {
    uint32_t ids[COUNT];
    size_t nbytes[COUNT];
    unsigned count;
    bool reply;
} got;

static bool content_is_right(const aq_arrival_t *arrival)
{
    uint32_t id = (uint32_t)arrival->args[0];
    const uint8_t *body = arrival->payload;
    bool right = (uintptr_t)body % 8 == 0 && arrival->source == SOURCE && arrival->nargs == 1 &&
                 arrival->category == AQ_AM_MEDIUM && arrival->handler == 200;
    for (size_t i = 0; i < arrival->nbytes; i++)
        right = right && body[i] == message_byte(id, i);
    return right;
}

static bool deliver_one(const aq_arrival_t *arrival)
{
    assert_true(content_is_right(arrival));
    assert_true(arrival->reply == got.reply);
    assert_true(got.count < COUNT);
    got.ids[got.count] = (uint32_t)arrival->args[0];
    got.nbytes[got.count++] = arrival->nbytes;
    return false;
}

static unsigned receive(unsigned budget, bool reply)
{
    return env.threads ? aq_ring_receive_shared(&ring->in, budget, reply, &env)
                       : aq_ring_receive_single(&ring->in, budget, reply, &env);
}

static unsigned receive_messages(unsigned budget)
{
    got.count = 0;
    return receive(budget, got.reply);
}

// ---- single operations ----

// Whether a poll that looks at the watches only would go on.
static bool watch_calls(void)
{
    return *ring->watch[0].word == ring->watch[0].awaited ||
           *ring->watch[1].word == ring->watch[1].awaited;
}

static void test_sizes(void **state)
{
    (void)state;
    for (unsigned threads = 0; threads < 2; threads++) {
        env.threads = threads;
        got.reply = threads;
        for (uint64_t n = 1; n <= COUNT / 2; n++) {
            size_t nbytes = bytes_of_slots(n);
            send_medium((uint32_t)n, nbytes);
            receive_messages(10);
            assert_int_equal(got.count, 1);
            assert_int_equal(got.ids[0], n);
            assert_int_equal(got.nbytes[0], nbytes);
            assert_true(freed_slots() == taken_slots());
            assert_int_equal(receive_messages(10), 0);
        }
    }
    got.reply = false;
}

// A run that does not fit before the end of the ring starts at slot 0; the slots in between are
// skipped.
static void test_wrap(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        send_medium(i, bytes_of_slots(26));
        assert_int_equal(receive_messages(1), 1);
    }
    aq_ring_run_t run;
    assert_true(aq_ring_take(&ring->out, 13, &run)); // 52 slots are used, 12 are left
    assert_true(run.position == COUNT);
    assert_ptr_equal(run.header, ring->slots);
    assert_true(taken_slots() == COUNT + 13);
    write_message(&run, 5, bytes_of_slots(13));
    aq_ring_publish(&ring->out, &run);
    receive_messages(10);
    assert_int_equal(got.count, 1);
    assert_int_equal(got.ids[0], 5);
    assert_true(freed_slots() == COUNT + 13);

    assert_true(aq_ring_take(&ring->out, 32, &run)); // begins with a line
    assert_true(run.position == COUNT + 14);
    aq_ring_skip(&ring->out, &run, 32);
    receive_messages(10);
    assert_true(aq_ring_take(&ring->out, 18, &run)); // a run that just fits is not moved
    assert_true(run.position == COUNT + 46);
}

// A message of one slot follows any other; one of several begins with a line, at the end of the
// ring, too. The receiver finds it, and waits for a message that was not published before it.
static void test_gaps(void **state)
{
    static const uint64_t sizes[] = {1, 2, 1, 1, 1, 3, 1, 2, 5, 31},
                          begins[] = {0, 2, 4, 5, 6, 8, 11, 12, 14, 20};
    (void)state;
    for (unsigned threads = 0; threads < 2; threads++) {
        env.threads = threads;
        const uint64_t start = taken_slots();
        aq_ring_run_t runs[10];
        for (unsigned i = 0; i < 10; i++) {
            assert_true(aq_ring_take(&ring->out, sizes[i], &runs[i]));
            assert_true(runs[i].position == start + begins[i]);
        }
        for (unsigned i = 10; i-- > 0;) {
            assert_int_equal(receive_messages(10), 0);
            write_message(&runs[i], i, bytes_of_slots(sizes[i]));
            aq_ring_publish(&ring->out, &runs[i]);
        }
        assert_int_equal(receive_messages(20), 10);
        for (unsigned i = 0; i < 10; i++)
            assert_int_equal(got.ids[i], i);
        send_medium(10, bytes_of_slots(12)); // to the last slot but one: 51 and a gap, 52 to 63
        assert_int_equal(receive_messages(1), 1);
        assert_true(freed_slots() == start + COUNT);
    }
}

static void test_full(void **state)
{
    (void)state;
    aq_ring_run_t run;
    for (unsigned threads = 0; threads < 2; threads++) {
        env.threads = threads;
        for (uint32_t i = 0; i < COUNT; i++)
            send_medium(i, bytes_of_slots(1));
        assert_false(aq_ring_take(&ring->out, 1, &run));
        assert_true(taken_slots() == (threads + 1) * 2 * COUNT - COUNT);
        // The receiver publishes its progress each COUNT / 8 slots.
        assert_int_equal(receive_messages(COUNT / 8), COUNT / 8);
        assert_false(aq_ring_take(&ring->out, COUNT / 8 + 1, &run));
        for (uint32_t i = 0; i < COUNT / 8; i++)
            send_medium(COUNT + i, bytes_of_slots(1));
        assert_false(aq_ring_take(&ring->out, 1, &run));
        assert_int_equal(receive_messages(COUNT), COUNT);
        for (uint32_t i = 0; i < COUNT; i++)
            assert_int_equal(got.ids[i], i + COUNT / 8);
        assert_true(freed_slots() == taken_slots());
        send_medium(0, bytes_of_slots(COUNT / 2)); // the second round starts at the same slot
        send_medium(1, bytes_of_slots(COUNT / 2 - COUNT / 8));
        assert_int_equal(receive_messages(COUNT), 2);
    }
}

// Slots that a sender takes and then skips are free once the receiver has polled, even if no
// message follows.
static void test_skipped(void **state)
{
    (void)state;
    for (unsigned threads = 0; threads < 2; threads++) {
        env.threads = threads;
        for (unsigned i = 0; i < 10; i++) {
            aq_ring_run_t run;
            uint64_t n = 7 + i * 5 % (COUNT / 2 - 7);
            assert_true(aq_ring_take(&ring->out, n, &run));
            aq_ring_skip(&ring->out, &run, n);
            receive_messages(10);
            assert_int_equal(got.count, 0);
            assert_true(freed_slots() == taken_slots());
        }
    }
}

// A message is not received before it is published, and neither are later messages.
static void test_unpublished(void **state)
{
    (void)state;
    aq_ring_run_t first;
    assert_true(aq_ring_take(&ring->out, 2, &first));
    write_message(&first, 1, bytes_of_slots(2));
    send_medium(2, 8);
    assert_int_equal(receive_messages(10), 0);
    assert_true(freed_slots() == 0);
    aq_ring_publish(&ring->out, &first);
    assert_int_equal(receive_messages(10), 2);
    assert_int_equal(got.ids[0], 1);
    assert_int_equal(got.ids[1], 2);
}

// Fills all slots with what a lap may leave there: its flags, the marks of finished messages (the
// complement of the flag), flags of the lap before, or those after a gap. The receiver must not
// take any such slot for a message of the next lap.
static void fill_with_old_flags(uint64_t lap, uint32_t variant)
{
    uint64_t *words = (uint64_t *)(void *)ring->slots;
    for (uint64_t slot = 0; slot < COUNT; slot++) {
        const uint64_t old = (lap * COUNT + slot) ^ KEY, older = ((lap - 1) * COUNT + slot) ^ KEY;
        const uint64_t values[] = {old, ~old, older, old ^ AQ_RING_GAP};
        for (unsigned w = 0; w < AQ_RING_SLOT / 8; w++)
            words[slot * AQ_RING_SLOT / 8 + w] = values[variant];
    }
}

static void test_old_flags(void **state)
{
    (void)state;
    for (uint64_t lap = 0; lap < 8; lap++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_false(aq_ring_ready(&ring->in));
            assert_int_equal(receive_messages(1), 0);
            send_medium(i, 8);
            assert_true(aq_ring_ready(&ring->in));
            assert_int_equal(receive_messages(1), 1);
        }
        fill_with_old_flags(lap, lap % 4);
    }
}

// ---- against a model: 200,000 random steps ----

enum { UNPUBLISHED_MAX = 6, RUNS_MAX = 2 * COUNT };

// A run of the model. The list of runs has the messages and gaps between head and tail, in order.
typedef struct model_run {
    aq_ring_run_t run;
    uint64_t slots, own; // own: without the one that is left out before it
    uint32_t id;
    size_t nbytes;
    bool gap, published;
} model_run_t;

static struct {
    model_run_t runs[RUNS_MAX];
    unsigned count, unpublished;
    uint64_t tail, head, received, seed;
    uint32_t next_id;
} model;

static uint32_t random_below(uint32_t n)
{
    model.seed = model.seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((model.seed >> 33) % n);
}

static void model_add(model_run_t run)
{
    assert_true(model.count < RUNS_MAX);
    model.runs[model.count++] = run;
    model.tail += run.slots;
}

static void step_take(void)
{
    if (model.unpublished == UNPUBLISHED_MAX)
        return;
    uint64_t n = 1 + random_below(random_below(4) ? 4 : COUNT / 2);
    uint64_t rest = COUNT - model.tail % COUNT;
    uint64_t left_out = n > 1 ? model.tail % 2 : 0;
    uint64_t gap = rest < n + left_out ? rest : 0;
    uint64_t all = n + (gap ? 0 : left_out);
    aq_ring_run_t run;
    bool room = model.tail + gap + all - freed_slots() <= COUNT;
    assert_true(aq_ring_take(&ring->out, n, &run) == room);
    assert_true(taken_slots() == (room ? model.tail + gap + all : model.tail));
    if (!room)
        return;
    if (gap)
        model_add((model_run_t){.slots = gap, .gap = true, .published = true});
    assert_true(run.position == model.tail + all - n);
    size_t nbytes = bytes_of_slots(n) - random_below(bytes_of_slots(1) + 1);
    model_add((model_run_t){run, all, n, model.next_id++, nbytes, false, false});
    model.unpublished++;
}

static void step_publish(void)
{
    if (!model.unpublished)
        return;
    unsigned which = random_below(model.unpublished);
    model_run_t *run = model.runs;
    for (;; run++)
        if (!run->published && which-- == 0)
            break;
    run->gap = random_below(8) == 0; // the sender gives one run in eight up
    run->published = true;
    model.unpublished--;
    if (run->gap) {
        aq_ring_skip(&ring->out, &run->run, run->own);
        return;
    }
    write_message(&run->run, run->id, run->nbytes);
    aq_ring_publish(&ring->out, &run->run);
}

// Senders see all received slots as free if no message is ready, else all but COUNT / 8 at most.
static void check_freed(void)
{
    bool ready = model.count && model.runs[0].published;
    assert_true(aq_ring_ready(&ring->in) == ready);
    assert_true(freed_slots() <= model.head);
    assert_true(model.head - freed_slots() < (ready ? COUNT / 8 : 1));
}

// Only messages count, and a message includes the gaps in front of it.
static void step_receive(void)
{
    unsigned budget = 1 + random_below(8), done = receive_messages(budget), messages = 0,
             expected = 0, i;
    for (i = 0; i < model.count && model.runs[i].published && expected < budget; i++) {
        const model_run_t *run = &model.runs[i];
        expected += !run->gap;
        model.head += run->slots;
        if (run->gap)
            continue;
        assert_true(messages < got.count);
        assert_int_equal(got.ids[messages], run->id);
        assert_int_equal(got.nbytes[messages++], run->nbytes);
    }
    assert_int_equal(done, expected);
    assert_int_equal(got.count, messages);
    model.received += messages;
    assert_int_equal(ring->in.messages, model.received);
    model.count -= i;
    memmove(model.runs, model.runs + i, model.count * sizeof *model.runs);
    check_freed();
}

static void random_steps(bool threads)
{
    memset(&model, 0, sizeof model);
    model.seed = 20 + threads;
    env.threads = threads;
    for (unsigned i = 0; i < 200000; i++) {
        static void (*const steps[])(void) = {step_take, step_take, step_publish, step_publish,
                                              step_receive};
        steps[random_below(5)]();
        assert_true(watch_calls() == aq_ring_ready(&ring->in));
    }
    assert_true(model.tail > 100 * COUNT);
}

static void test_random(void **state)
{
    (void)state;
    random_steps(false);
}

static void test_random_with_locks(void **state)
{
    (void)state;
    random_steps(true);
}

// ---- two threads ----

static sem_t entered, go_on;
static atomic_uint deliveries;

// The handler of message 0 runs until the test posts go_on.
static bool deliver_slowly(const aq_arrival_t *arrival)
{
    if (arrival->args[0] == 0) {
        sem_post(&entered);
        sem_wait(&go_on);
    }
    atomic_fetch_add(&deliveries, 1);
    return false;
}

static void *receive_one(void *unused)
{
    (void)unused;
    receive(1, false);
    return NULL;
}

// The handlers of later messages end first; their slots become free only with those of the first.
static void test_out_of_order(void **state)
{
    (void)state;
    pthread_t thread;
    sem_init(&entered, 0, 0);
    sem_init(&go_on, 0, 0);
    atomic_store(&deliveries, 0);
    env.threads = true;
    env.deliver = deliver_slowly;
    send_medium(0, bytes_of_slots(3));
    send_medium(1, bytes_of_slots(20));
    send_medium(2, bytes_of_slots(20));
    assert_int_equal(pthread_create(&thread, NULL, receive_one, NULL), 0);
    sem_wait(&entered);
    assert_int_equal(receive(10, false), 2);
    assert_int_equal(atomic_load(&deliveries), 2);
    assert_true(freed_slots() == 0);
    aq_ring_run_t run;
    assert_false(aq_ring_take(&ring->out, 22, &run));
    sem_post(&go_on);
    pthread_join(thread, NULL);
    assert_true(freed_slots() == 44); // one was left out
    assert_true(ring->in.released == 44);
    assert_true(aq_ring_take(&ring->out, 22, &run));
    sem_destroy(&entered);
    sem_destroy(&go_on);
}

// Another thread holds the lock when a handler returns, and may be past giving slots back.
static bool deliver_with_lock_lost(const aq_arrival_t *arrival)
{
    (void)arrival;
    atomic_store(&ring->in.lock, 1);
    return false;
}

static void test_watch_of_held_slots(void **state)
{
    (void)state;
    env.threads = true;
    env.deliver = deliver_with_lock_lost;
    assert_false(watch_calls());
    send_medium(0, bytes_of_slots(3));
    assert_true(watch_calls());
    assert_int_equal(receive_messages(10), 1);
    assert_int_equal(freed_slots(), 0);
    assert_true(watch_calls());
    atomic_store(&ring->in.lock, 0);
    assert_int_equal(receive_messages(10), 0);
    assert_int_equal(freed_slots(), 3);
    assert_false(watch_calls());
}

enum { SENDERS = 2, MESSAGES_EACH = 6000 };
static atomic_uchar deliveries_of[SENDERS * MESSAGES_EACH];
static atomic_uint wrong;

static bool deliver_counted(const aq_arrival_t *arrival)
{
    uint32_t id = (uint32_t)arrival->args[0];
    if (id >= SENDERS * MESSAGES_EACH || !content_is_right(arrival))
        atomic_fetch_add(&wrong, 1);
    else
        atomic_fetch_add(&deliveries_of[id], 1);
    atomic_fetch_add(&deliveries, 1);
    return false;
}

static void *send_many(void *pointer)
{
    uint32_t first = *(uint32_t *)pointer;
    for (uint32_t id = first; id < first + MESSAGES_EACH; id++) {
        size_t nbytes = (size_t)id * 131 % bytes_of_slots(COUNT / 2);
        aq_ring_run_t run;
        while (!aq_ring_take(&ring->out, aq_ring_slots(1, AQ_AM_MEDIUM, nbytes), &run))
            sched_yield();
        write_message(&run, id, nbytes);
        aq_ring_publish(&ring->out, &run);
    }
    return NULL;
}

static void *receive_many(void *unused)
{
    (void)unused;
    while (atomic_load(&deliveries) < SENDERS * MESSAGES_EACH)
        if (!receive(4, false))
            sched_yield();
    return NULL;
}

// Two threads send, two receive: each message arrives once and intact.
static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[2 * SENDERS];
    uint32_t first[SENDERS];
    atomic_store(&deliveries, 0);
    env.threads = true;
    env.deliver = deliver_counted;
    for (uint32_t i = 0; i < SENDERS; i++) {
        first[i] = i * MESSAGES_EACH;
        assert_int_equal(pthread_create(&threads[2 * i], NULL, send_many, &first[i]), 0);
        assert_int_equal(pthread_create(&threads[2 * i + 1], NULL, receive_many, NULL), 0);
    }
    for (unsigned i = 0; i < 2 * SENDERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&wrong), 0);
    for (unsigned i = 0; i < SENDERS * MESSAGES_EACH; i++)
        assert_int_equal(atomic_load(&deliveries_of[i]), 1);
    receive(1, false);
    assert_true(freed_slots() == taken_slots());
}

// ---- sleeping ----

// A mailbox with this ring for requests, and an empty one for replies.
static void mail_open(aq_mail_t *mail, aq_mailbox_t *box, ring_t *replies)
{
    env.threads = true;
    memset(box, 0, sizeof *box);
    memset(replies, 0, sizeof *replies);
    *mail = (aq_mail_t){.base.env = &env, .doorbell = &box->doorbell, .asleep = &box->asleep};
    mail->in[0] = ring->in;
    mail->in[1] = (aq_ring_in_t){.control = &replies->control,
                                 .slots = replies->slots,
                                 .count = COUNT,
                                 .key = KEY,
                                 .watch = replies->watch};
}

// Sleeps as a wait does. The limit is far beyond that of the test.
static unsigned sleep_once(aq_mail_t *mail)
{
    const uint32_t armed = aq_mail_arm(&mail->base);
    const unsigned done = aq_mail_poll(&mail->base, AQ_POLL_REQUESTS | AQ_POLL_REPLIES);
    if (!done)
        aq_mail_sleep(&mail->base, armed, UINT64_C(600000000000));
    aq_mail_disarm(&mail->base);
    return done;
}

// Another thread that has looked before a message came still has the lock. So the poll finds
// nothing, and the sender has found no sleeper.
static void test_no_sleep_beside_message(void **state)
{
    (void)state;
    static aq_mail_t mail;
    static aq_mailbox_t box;
    static ring_t replies;
    mail_open(&mail, &box, &replies);
    send_medium(0, bytes_of_slots(3));
    atomic_store(&mail.in[0].lock, 1);
    assert_int_equal(sleep_once(&mail), 0);
    atomic_store(&mail.in[0].lock, 0);
    got.count = 0;
    got.reply = false;
    assert_int_equal(sleep_once(&mail), 1);
}

// ---- a receiver in another process ----

#define LAP_MESSAGES (COUNT / 2)

static atomic_uint laps_sent;

static void *send_lap(void *pointer)
{
    const unsigned lap = *(unsigned *)pointer;
    while (atomic_load_explicit(&laps_sent, memory_order_relaxed) != lap)
        sched_yield();
    for (uint32_t id = 0; id < LAP_MESSAGES; id++) {
        aq_ring_run_t run;
        while (!aq_ring_take(&ring->out, 2, &run))
            sched_yield();
        write_message(&run, id, bytes_of_slots(2));
        aq_ring_publish(&ring->out, &run);
    }
    atomic_store_explicit(&laps_sent, lap + 1, memory_order_relaxed);
    return NULL;
}

// Ends with the process that sends.
static void receive_laps(unsigned laps)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned count = 0; count < laps * LAP_MESSAGES; count += receive_messages(8))
        sched_yield();
    _exit(freed_slots() == taken_slots() ? 0 : 1);
}

// Threads write one after the other to the same slots, and only the receiver, another process,
// orders them. The thread sanitizer would report a race that is none.
static void test_other_process(void **state)
{
    (void)state;
    pthread_t threads[3];
    unsigned lap[3];
    int status = -1;
    atomic_store(&laps_sent, 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        receive_laps(3);
    for (unsigned i = 0; i < 3; i++) {
        lap[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, send_lap, &lap[i]), 0);
    }
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

// ---- large payloads ----

static _Alignas(AQ_RING_LINE) char room[AQ_RING_MAX_MEDIUM + 1024];

static aq_ring_header_t *room_header(void)
{
    return (aq_ring_header_t *)(void *)room;
}

static void check_place(unsigned nargs, size_t nbytes, uintptr_t source)
{
    aq_ring_header_t *header = room_header();
    const char *after_args = (char *)(aq_ring_args(header) + nargs);
    const char *end = room + aq_ring_slots(nargs, AQ_AM_MEDIUM, nbytes) * AQ_RING_SLOT;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    char *payload = aq_ring_place_payload(header, nargs, nbytes, (const void *)source);
    assert_true(payload >= after_args && payload + nbytes <= end);
    assert_int_equal((uintptr_t)payload % 16, 0);
    if (nbytes < AQ_RING_LARGE) {
        assert_ptr_equal(payload, aq_ring_body(header, nargs, nbytes));
        return;
    }
    assert_int_equal((uintptr_t)payload % AQ_RING_LINE, source / 16 * 16 % AQ_RING_LINE);
    assert_ptr_equal(payload, aq_ring_large_payload(header, nargs));
}

// A large payload lies in its lines as its source does, behind the arguments and inside the slots
// of the message, and the receiver finds it.
static void test_large_payload_lies_as_source(void **state)
{
    (void)state;
    static const size_t sizes[] = {9, AQ_RING_LARGE - 1, AQ_RING_LARGE, AQ_RING_MAX_MEDIUM};
    for (unsigned nargs = 0; nargs <= AQ_AM_MAX_ARGS; nargs++)
        for (unsigned s = 0; s < 4; s++)
            for (uintptr_t source = 0; source < 2 * AQ_RING_LINE; source++)
                check_place(nargs, sizes[s], source);
}

// Whatever word stands for the shift, the payload is inside the message.
static void test_wrong_shift_stays_inside(void **state)
{
    (void)state;
    static const int32_t words[] = {-1, INT32_MAX, INT32_MIN, 1, 64, 4096};
    const char *end = room + aq_ring_slots(3, AQ_AM_MEDIUM, AQ_RING_LARGE) * AQ_RING_SLOT;
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        aq_ring_args(room_header())[3] = words[i];
        const char *payload = aq_ring_large_payload(room_header(), 3);
        assert_true(payload > (char *)(aq_ring_args(room_header()) + 3));
        assert_true(payload + AQ_RING_LARGE <= end);
    }
}

#define RING_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RING_TEST(test_sizes),
        RING_TEST(test_wrap),
        RING_TEST(test_gaps),
        RING_TEST(test_full),
        RING_TEST(test_skipped),
        RING_TEST(test_unpublished),
        RING_TEST(test_old_flags),
        RING_TEST(test_random),
        RING_TEST(test_random_with_locks),
        RING_TEST(test_watch_of_held_slots),
        RING_TEST(test_out_of_order),
        RING_TEST(test_threads),
        RING_TEST(test_no_sleep_beside_message),
        RING_TEST(test_other_process),
        cmocka_unit_test(test_large_payload_lies_as_source),
        cmocka_unit_test(test_wrong_shift_stays_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
