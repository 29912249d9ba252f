// SPDX-License-Identifier: BSD-3-Clause
// How the rails of a link come about between two processes, both in this one: on fake devices that
// answer as often as a test says that nobody has told them the address of the peer. The queue pairs
// are connected by tasks of the connector's thread, and never while a message is handled.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../../../conduits/ibv/rails/ibv_failover.h"
#include "../../../../conduits/ibv/rails/ibv_rail_queues.h"
#include "../../../../conduits/ibv/rails/ibv_rail.h"
#include "../../../../conduits/ibv/rails/ibv_rail_setup.h"
#include "../../../unit/default_settings.h"
#include "../fake_verbs.h"
#include "../../../unit/assert_between.h"

enum { SIDES = 2, PORTS = 2, MESSAGES = 16, ATTEMPTS = 5, ROUNDS = 2000 };

typedef struct side {
    aq_ibv_rails_t rails;
    aq_ibv_rail_ports_t ports;
    aq_ibv_peer_t link; // to the other side
    aq_ibv_tasks_t tasks;
    aq_ibv_memory_t memory;
    unsigned wakes;
} side_t;

typedef struct message {
    unsigned to, bytes;
    uint8_t content[4096];
} message_t;

static side_t sides[SIDES];
static _Atomic int32_t exit_word;
static aq_boot_t boot = {.exit_word = &exit_word};
static const aq_conduit_env_t env = {.boot = &boot};
static aq_ibv_limits_t limits = {.depth_each = 8, .depth_total = 16, .reads = 4};
static aq_ibv_buffers_t buffers = {.slab_bytes = 4096};
static uint8_t slab[4096];
static message_t messages[MESSAGES];
static unsigned message_count, messages_read;

// ---- the device ----

static unsigned attempts, queue_pairs;
static unsigned unanswered; // so many attempts fail with `refusal`
static int refusal;
static pthread_t tasks_thread; // the only one that connects queue pairs
static bool turning;           // it does its tasks

static unsigned notifies; // calls of ibv_req_notify_cq

static int notify(struct ibv_cq *cq, int solicited)
{
    (void)cq, (void)solicited;
    notifies++;
    return 0;
}

static struct ibv_context device = {.ops.req_notify_cq = notify};

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *cq_context,
                             struct ibv_comp_channel *channel, int vector)
{
    struct ibv_cq *cq = calloc(1, sizeof *cq);
    (void)context, (void)entries, (void)cq_context, (void)vector;
    cq->context = &device;
    cq->channel = channel;
    return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    free(cq);
    return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct ibv_qp *qp = calloc(1, sizeof *qp);
    (void)pd, (void)attr;
    qp->qp_num = ++queue_pairs;
    return qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    queue_pairs--;
    free(qp);
    return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    (void)mask;
    qp->state = attr->qp_state;
    if (attr->qp_state != IBV_QPS_RTR)
        return 0;
    assert_true(turning && pthread_equal(tasks_thread, pthread_self()));
    attempts++;
    if (!unanswered)
        return 0;
    unanswered--;
    return refusal;
}

// ---- the two sides ----

static void say(void *context, aq_ibv_peer_t *link, const void *message, uint32_t bytes)
{
    const side_t *from = context;
    message_t *sent = &messages[message_count++];
    assert_between(message_count, 1, MESSAGES);
    assert_ptr_equal(link, &from->link);
    sent->to = from == sides;
    sent->bytes = bytes;
    memcpy(sent->content, message, bytes);
}

static void wake(void *sleeper)
{
    ((side_t *)sleeper)->wakes++;
}

static void side_start(side_t *side, unsigned rank, unsigned wanted)
{
    *side = (side_t){.link.rank = 1 - rank, .ports.count = PORTS, .ports.queue_pairs = wanted};
    side->memory = (aq_ibv_memory_t){.calls = &fake_verbs_calls,
                                     .device = "fake1",
                                     .region_bytes = UINT64_MAX,
                                     .piece_bytes = UINT64_MAX,
                                     .most = UINT64_MAX};
    for (unsigned i = 0; i < PORTS; i++)
        side->ports.list[i] = (aq_ibv_rail_port_t){.number = 1,
                                                   .link = AQ_IBV_LINK_ROCE,
                                                   .path.mtu = IBV_MTU_1024,
                                                   .reads = 4,
                                                   .memory = &side->memory};
    side->tasks.wake = eventfd(0, EFD_NONBLOCK);
    side->rails.env = &env;
    side->rails.limits = &limits;
    side->rails.ports = &side->ports;
    side->rails.buffers = &buffers;
    side->rails.calls.say = say;
    side->rails.calls.context = side->rails.calls.sleeper = side;
    side->rails.tasks = &side->tasks;
    side->rails.calls.wake = wake;
}

static void start(unsigned first, unsigned second)
{
    assert_int_equal(default_settings(), 0);
    fake_verbs_start();
    buffers.slab = slab;
    message_count = messages_read = attempts = queue_pairs = unanswered = 0;
    tasks_thread = pthread_self();
    side_start(&sides[0], 0, first);
    side_start(&sides[1], 1, second);
}

static void side_end(side_t *side)
{
    aq_ibv_rail_set_t *set = atomic_load(&side->link.rails);
    for (unsigned i = 0; set && i < set->count; i++)
        ibv_destroy_qp(set->list[i].qp);
    free(set);
    for (unsigned port = 0; port < PORTS && side->rails.open; port++) {
        if (side->rails.queues[port].slab)
            aq_ibv_memory_release(&side->memory, side->rails.queues[port].slab, AQ_IBV_BUFFER);
        ibv_destroy_cq(side->rails.queues[port].cq);
        if (side->rails.send_thread)
            ibv_destroy_comp_channel(side->rails.queues[port].sends);
        ibv_destroy_comp_channel(side->rails.queues[port].channel);
    }
    free(side->rails.works);
    close(side->tasks.wake);
}

static void end(void)
{
    side_end(&sides[0]);
    side_end(&sides[1]);
    assert_int_equal(queue_pairs, 0);
}

static bool message_deliver(void)
{
    if (messages_read == message_count)
        return false;
    const message_t *sent = &messages[messages_read++];
    side_t *to = &sides[sent->to];
    assert_true(aq_ibv_rails_arrived(&to->rails, &to->link, sent->content, sent->bytes));
    return true;
}

// The connector's thread: one attempt at most.
static bool turn(side_t *side)
{
    const unsigned before = attempts;
    turning = true;
    const bool more = aq_ibv_tasks_turn(&side->tasks);
    turning = false;
    assert_between(attempts, before, before + 1);
    return more || attempts > before;
}

static void settle(void)
{
    bool busy = true;
    while (busy) {
        busy = message_deliver();
        for (unsigned i = 0; i < SIDES; i++) {
            busy |= turn(&sides[i]);
            aq_ibv_rails_reap(&sides[i].rails);
        }
        busy |= messages_read < message_count;
    }
}

static void assert_up(unsigned count)
{
    for (unsigned i = 0; i < SIDES; i++) {
        const aq_ibv_rail_set_t *set = atomic_load(&sides[i].link.rails);
        assert_int_equal(atomic_load(&sides[i].rails.counts.up), count);
        for (unsigned r = 0; r < count; r++)
            assert_true(atomic_load(&set->list[r].up));
    }
}

// ---- tests ----

static void test_one_begins(void **state)
{
    (void)state;
    start(3, 3);
    aq_ibv_rails_want(&sides[0].rails, &sides[0].link);
    assert_true(message_deliver());
    assert_int_equal(attempts, 0); // nothing blocks in the poll that takes the message
    assert_int_equal(message_count, 1);
    settle();
    assert_up(2);
    assert_int_equal(attempts, 4);
    assert_int_equal(message_count, 3);
    assert_int_equal(sides[0].wakes, 1);
    assert_int_equal(sides[1].wakes, 1);
    end();
}

static void test_both_begin(void **state)
{
    (void)state;
    start(2, 2);
    aq_ibv_rails_want(&sides[0].rails, &sides[0].link);
    aq_ibv_rails_want(&sides[1].rails, &sides[1].link);
    settle();
    assert_up(1);
    assert_int_equal(message_count, 4);
    end();
}

static void test_unanswered(void **state)
{
    (void)state;
    for (unsigned count = 1; count < ATTEMPTS; count++) {
        start(3, 3);
        unanswered = count;
        refusal = ETIMEDOUT;
        aq_ibv_rails_want(&sides[0].rails, &sides[0].link);
        settle();
        assert_up(2);
        assert_int_equal(attempts, 4 + count);
        assert_int_equal(message_count, 3);
        end();
    }
}

// The first of two rails is given up by the side that answers, and both use the second one.
static void test_never_answered(void **state)
{
    (void)state;
    start(3, 3);
    unanswered = ATTEMPTS;
    refusal = ETIMEDOUT;
    aq_ibv_rails_want(&sides[0].rails, &sides[0].link);
    settle();
    assert_int_equal(attempts, ATTEMPTS + 3);
    for (unsigned i = 0; i < SIDES; i++) {
        const aq_ibv_rail_set_t *set = atomic_load(&sides[i].link.rails);
        assert_int_equal(atomic_load(&sides[i].rails.counts.up), 1);
        assert_false(atomic_load(&set->list[0].up));
        assert_true(atomic_load(&set->list[1].up));
    }
    assert_true(atomic_load(&sides[1].rails.warned));
    end();
}

static void test_refused(void **state)
{
    (void)state;
    start(2, 2);
    unanswered = 1;
    refusal = EINVAL;
    aq_ibv_rails_want(&sides[0].rails, &sides[0].link);
    settle();
    assert_up(0);
    assert_int_equal(attempts, 2);
    end();
}

static void test_different_numbers(void **state)
{
    (void)state;
    start(5, 2);
    aq_ibv_rails_want(&sides[0].rails, &sides[0].link);
    settle();
    assert_up(1);
    assert_int_equal(attempts, 2);
    end();
    start(3, 1);
    aq_ibv_rails_want(&sides[0].rails, &sides[0].link);
    settle();
    assert_int_equal(atomic_load(&sides[0].rails.counts.up), 0);
    assert_int_equal(attempts, 0);
    assert_int_equal(message_count, 2);
    end();
}

// Later messages of a peer do not change which queue pairs the thread connects.
static void test_message_meanwhile(void **state)
{
    uint64_t none[3] = {UINT64_C(1)}; // one port, no queue pairs
    (void)state;
    start(3, 3);
    aq_ibv_rails_want(&sides[0].rails, &sides[0].link);
    assert_true(message_deliver());
    assert_true(aq_ibv_rails_arrived(&sides[1].rails, &sides[1].link, none, sizeof none));
    assert_int_equal(queue_pairs, 4);
    settle();
    assert_up(2);
    end();
}

// A side that gives up a rail says so, and the other side stops it.
static void test_peer_gives_up(void **state)
{
    (void)state;
    start(3, 3);
    aq_ibv_rails_want(&sides[0].rails, &sides[0].link);
    settle();
    assert_up(2);
    aq_ibv_rail_set_t *sets[SIDES] = {sides[0].link.rails, sides[1].link.rails};
    aq_ibv_rail_stop(&sides[0].rails, &sets[0]->list[1], "a test");
    settle();
    assert_up(1);
    for (unsigned i = 0; i < SIDES; i++) {
        assert_false(atomic_load(&sets[i]->list[1].up));
        assert_int_equal(sets[i]->list[1].qp->state, IBV_QPS_ERR);
        assert_int_equal(sets[i]->list[0].qp->state, IBV_QPS_RTS);
    }
    assert_int_equal(message_count, 5); // each side has said it once
    end();
}

// The peer gives a rail up before this side uses it.
static void test_given_up_early(void **state)
{
    (void)state;
    start(2, 2);
    aq_ibv_rails_want(&sides[0].rails, &sides[0].link);
    while (!atomic_load(&sides[0].rails.counts.up)) {
        message_deliver();
        turn(&sides[0]);
        turn(&sides[1]);
        aq_ibv_rails_reap(&sides[0].rails);
        aq_ibv_rails_reap(&sides[1].rails);
    }
    aq_ibv_rail_set_t *set = atomic_load(&sides[0].link.rails);
    aq_ibv_rail_stop(&sides[0].rails, set->list, "a test");
    assert_int_equal(atomic_load(&sides[1].rails.counts.up), 0);
    settle();
    assert_up(0);
    end();
}

// Messages, attempts and polls in any order.
static void test_random_order(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        srand(round);
        start(3, 3);
        unanswered = (unsigned)rand() % ATTEMPTS;
        refusal = ETIMEDOUT;
        aq_ibv_rails_want(&sides[0].rails, &sides[0].link);
        for (unsigned step = 0; step < 30; step++) {
            side_t *side = &sides[rand() % SIDES];
            switch (rand() % 4) {
            case 0:
                message_deliver();
                break;
            case 1:
                turn(side);
                break;
            case 2:
                aq_ibv_rails_reap(&side->rails);
                break;
            default:
                if (!atomic_load(&side->link.rails))
                    aq_ibv_rails_want(&side->rails, &side->link);
            }
        }
        settle();
        assert_up(2);
        assert_between(message_count, 3, 4);
        end();
    }
}

static void *thread_run(void *ends)
{
    while (!atomic_load((atomic_bool *)ends))
        for (unsigned i = 0; i < SIDES; i++)
            aq_ibv_tasks_turn(&sides[i].tasks);
    return NULL;
}

// With a thread of its own, while locks of the library are none, as in mode seq.
static void test_thread(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 50; round++) {
        atomic_bool ends = false;
        start(3, 3);
        unanswered = 3;
        refusal = ETIMEDOUT;
        turning = true;
        assert_int_equal(pthread_create(&tasks_thread, NULL, thread_run, &ends), 0);
        aq_ibv_rails_want(&sides[0].rails, &sides[0].link);
        while (atomic_load(&sides[0].rails.counts.up) < 2 ||
               atomic_load(&sides[1].rails.counts.up) < 2) {
            message_deliver();
            aq_ibv_rails_reap(&sides[0].rails);
            aq_ibv_rails_reap(&sides[1].rails);
        }
        atomic_store(&ends, true);
        pthread_join(tasks_thread, NULL);
        turning = false;
        assert_up(2);
        end();
    }
}

// Completions wake those that sleep, or the send thread if there is one; never both.
static void test_who_is_woken(void **state)
{
    struct pollfd events[AQ_IBV_RAIL_PORTS_MAX];
    int fds[AQ_IBV_RAIL_PORTS_MAX];
    (void)state;
    for (unsigned send_thread = 0; send_thread < 2; send_thread++) {
        start(2, 2);
        aq_ibv_rails_t *rails = &sides[0].rails;
        assert_int_equal(aq_ibv_rails_send_fds(rails, fds), 0);
        rails->send_thread = send_thread;
        assert_true(aq_ibv_rails_open(rails));
        assert_int_equal(aq_ibv_rails_events(rails, events), PORTS);
        assert_int_equal(aq_ibv_rails_send_fds(rails, fds), PORTS);
        for (unsigned port = 0; port < PORTS; port++) {
            assert_int_equal(rails->queues[port].cq->channel->fd, fds[port]);
            assert_int_equal(fds[port] != events[port].fd, send_thread);
        }
        notifies = 0;
        aq_ibv_rails_arm(rails);
        assert_int_equal(notifies, send_thread ? 0 : PORTS);
        aq_ibv_rails_rearm_sends(rails);
        assert_int_equal(notifies, send_thread ? PORTS : 2 * PORTS);
        end();
    }
}

// How many links of a rank of 61 begin at each port, if all have so many ports.
static void count_links(uint32_t rank, unsigned ports, unsigned links[AQ_IBV_RAIL_PORTS_MAX])
{
    const aq_ibv_rail_ports_t list = {.count = ports};
    const aq_ibv_rails_t common = {.ports = &list};
    for (uint32_t peer = 0; peer < 61; peer++) {
        const aq_ibv_peers_t here = {.rank = rank}, there = {.rank = peer};
        const aq_ibv_failovers_t mine = {.peers = &here, .rails = (aq_ibv_rails_t *)&common};
        const aq_ibv_failovers_t theirs = {.peers = &there, .rails = (aq_ibv_rails_t *)&common};
        if (peer == rank)
            continue;
        const unsigned port = aq_ibv_failovers_first_port(&mine, peer, ports, 0);
        assert_between(port, 0, ports - 1);
        assert_int_equal(port, aq_ibv_failovers_first_port(&theirs, rank, ports, 0));
        assert_int_equal(aq_ibv_failovers_first_port(&mine, peer, ports, 2), (port + 2) % ports);
        assert_int_equal(aq_ibv_failovers_first_port(&mine, peer, ports + 1, 1), 0);
        links[port]++;
    }
}

// Both sides of a link begin at the same port, and each port of a rank has as many links as any
// other, within two. Sides with different numbers of ports begin at the first one.
static void test_links_spread_over_ports(void **state)
{
    (void)state;
    for (unsigned ports = 1; ports <= AQ_IBV_RAIL_PORTS_MAX; ports++)
        for (uint32_t rank = 0; rank < 61; rank++) {
            unsigned links[AQ_IBV_RAIL_PORTS_MAX] = {0};
            count_links(rank, ports, links);
            for (unsigned port = 0; port < ports; port++)
                assert_between(links[port], 60 / ports - 1, 60 / ports + 1);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_begins),
        cmocka_unit_test(test_both_begin),
        cmocka_unit_test(test_unanswered),
        cmocka_unit_test(test_never_answered),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_different_numbers),
        cmocka_unit_test(test_message_meanwhile),
        cmocka_unit_test(test_peer_gives_up),
        cmocka_unit_test(test_given_up_early),
        cmocka_unit_test(test_random_order),
        cmocka_unit_test(test_thread),
        cmocka_unit_test(test_who_is_woken),
        cmocka_unit_test(test_links_spread_over_ports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
