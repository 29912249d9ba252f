// SPDX-License-Identifier: BSD-3-Clause
// Extended reliable connections over fake devices (fake_xrc.h): which queue pairs there are, which
// numbers messages carry, and the entries and completions that links share.
#include "../../../unit/unit_test.h"

#include <stdio.h>
#include <string.h>

#include "../../../../other/base/clock.h"
#include "../fake_xrc.h"
#include "../../../unit/assert_between.h"

// ---- connections ----

static aq_ibv_peer_t *link_of(uint32_t from, uint32_t to)
{
    return aq_ibv_peer_get(&fake_nodes[from].peers, to, 0);
}

static void link_call(uint32_t from, uint32_t to)
{
    aq_ibv_connector_t *connector = &fake_nodes[from].connector;
    pthread_mutex_lock(&connector->lock);
    if (link_of(from, to)->conn.state == AQ_IBV_IDLE)
        assert_int_equal(connector->ops->call(connector, link_of(from, to)), AQ_OK);
    pthread_mutex_unlock(&connector->lock);
}

static bool is_settled(uint32_t from, uint32_t to)
{
    const aq_ibv_state_t state = link_of(from, to)->conn.state;
    return state == AQ_IBV_READY || state == AQ_IBV_FAILED;
}

static void progress_all(void)
{
    for (uint32_t rank = 0; rank < FAKE_RANKS; rank++)
        fake_nodes[rank].connector.ops->progress(&fake_nodes[rank].connector);
}

static void link_settle(uint32_t from, uint32_t to)
{
    while (!is_settled(from, to)) {
        progress_all();
        aq_clock_sleep_ns(100000);
    }
}

static void ranks_join(uint32_t from, uint32_t to)
{
    link_call(from, to);
    link_settle(from, to);
    link_settle(to, from);
    assert_int_equal(link_of(from, to)->conn.state, AQ_IBV_READY);
    assert_int_equal(link_of(to, from)->conn.state, AQ_IBV_READY);
}

static bool are_apart(uint32_t a, uint32_t b)
{
    return fake_host_of_rank[a] != fake_host_of_rank[b];
}

// All ranks call all others at the same time.
static void all_join(void)
{
    for (uint32_t a = 0; a < FAKE_RANKS; a++)
        for (uint32_t b = 0; b < FAKE_RANKS; b++)
            if (are_apart(a, b))
                link_call(a, b);
    for (uint32_t a = 0; a < FAKE_RANKS; a++)
        for (uint32_t b = 0; b < FAKE_RANKS; b++)
            if (are_apart(a, b))
                link_settle(a, b);
}

// ---- messages ----

static unsigned slots_of(uint32_t from, uint32_t to)
{
    return atomic_load(&link_of(from, to)->entries->slots);
}

static bool message_send(uint32_t from, uint32_t to, uint32_t value, bool unsignaled)
{
    aq_ibv_send_queue_t *queue = &fake_nodes[from].send_queue;
    aq_ibv_peer_t *link = link_of(from, to);
    aq_ibv_op_t *op = unsignaled ? NULL : aq_ibv_op_take(queue, link);
    if (unsignaled ? !aq_ibv_unsignaled_take(queue, link) : !op)
        return false;
    aq_ibv_work_t bare, *work = op ? &op->work : aq_ibv_work_unsignaled(&bare, link);
    work->wr.opcode = IBV_WR_SEND;
    aq_ibv_work_local(work, &value, sizeof value, 0);
    aq_ibv_work_in_line(work);
    if (op)
        aq_ibv_post(queue, op);
    else
        aq_ibv_post_unsignaled(queue, link, work);
    return true;
}

static void assert_message(unsigned number, uint32_t from, uint32_t to, uint32_t value)
{
    assert_between(number, 0, fake_message_count - 1);
    assert_int_equal(fake_messages[number].from, from);
    assert_int_equal(fake_messages[number].to, to);
    assert_int_equal(fake_messages[number].value, value);
}

// ---- tests ----

// Each rank has one sending queue pair for each other host, and each host one receiving queue pair
// for each rank elsewhere, which all its ranks have open.
static void test_numbers(void **state)
{
    (void)state;
    all_join();
    for (uint32_t host = 0; host < FAKE_HOSTS; host++) {
        assert_int_equal(fake_xrc_count(IBV_QPT_XRC_SEND, host), FAKE_EACH * (FAKE_HOSTS - 1));
        assert_int_equal(fake_xrc_count(IBV_QPT_XRC_RECV, host), FAKE_ELSEWHERE);
    }
    for (uint32_t a = 0; a < FAKE_RANKS; a++) {
        assert_int_equal(aq_ibv_xrc_senders(&fake_nodes[a].xrc), FAKE_HOSTS - 1);
        assert_int_equal(fake_nodes[a].end.queue_pairs, FAKE_HOSTS - 1);
        assert_int_equal(fake_nodes[a].opened + fake_nodes[a].xrc.made, FAKE_ELSEWHERE);
        assert_int_equal(fake_nodes[a].losses.at, 0);
    }
}

// Links to one host share their queue pair and its entries, and those to two hosts do not. All
// ranks of a host tell the same receiving queue pair.
static void test_sharing(void **state)
{
    (void)state;
    all_join();
    for (uint32_t a = 0; a < FAKE_RANKS; a++)
        for (uint32_t b = 0; b < FAKE_RANKS; b++)
            for (uint32_t c = 0; c < FAKE_RANKS; c++) {
                if (!are_apart(a, b) || !are_apart(a, c))
                    continue;
                const aq_ibv_peer_t *one = link_of(a, b), *other = link_of(a, c);
                assert_int_equal(one->qp == other->qp, !are_apart(b, c));
                assert_int_equal(one->entries == other->entries, !are_apart(b, c));
                const uint32_t number = link_of(b, a)->conn.receiver->qp_num;
                assert_int_equal(number == link_of(c, a)->conn.receiver->qp_num, !are_apart(b, c));
                assert_int_equal(number, one->conn.sender->receiver);
            }
}

// Every message names the right shared receive queue; message_carry checks the queue pairs.
static void test_all_to_all(void **state)
{
    unsigned sent = 0;
    (void)state;
    all_join();
    for (uint32_t a = 0; a < FAKE_RANKS; a++)
        for (uint32_t b = 0; b < FAKE_RANKS; b++)
            if (are_apart(a, b)) {
                assert_true(message_send(a, b, sent, false));
                assert_message(sent, a, b, sent);
                aq_ibv_reap(&fake_nodes[a].send_queue);
                sent++;
            }
    assert_int_equal(sent, FAKE_RANKS * FAKE_ELSEWHERE);
    assert_int_equal(fake_message_count, sent);
}

// Puts and gets that wait in the list, too, each to its own rank, in order.
static void test_list(void **state)
{
    enum { PUTS = FAKE_DEPTH - 2 };
    uint32_t values[PUTS];
    (void)state;
    for (uint32_t to = FAKE_EACH; to < 2 * FAKE_EACH; to++)
        ranks_join(0, to);
    aq_ibv_send_queue_t *queue = &fake_nodes[0].send_queue;
    queue->limits = &fake_nodes[0].limits;
    fake_nodes[0].limits.apart_ns = UINT64_MAX;
    fake_nodes[0].is_held = true;
    for (uint32_t i = 0; i < PUTS; i++) {
        aq_ibv_peer_t *link = link_of(0, FAKE_EACH + i / 2 % FAKE_EACH);
        values[i] = i;
        aq_ibv_op_t *op = aq_ibv_op_take(queue, link);
        assert_non_null(op);
        aq_ibv_work_local(&op->work, &values[i], sizeof values[i], 0);
        aq_ibv_work_rdma(&op->work, IBV_WR_RDMA_WRITE, 0, 0);
        aq_ibv_post_later(queue, op);
    }
    fake_xrc_release(&fake_nodes[0]);
    while (atomic_load(&queue->ops_used))
        aq_ibv_reap(queue);
    for (uint32_t i = 0; i < PUTS; i++)
        assert_message(i, 0, FAKE_EACH + i / 2 % FAKE_EACH, i);
    assert_int_equal(slots_of(0, FAKE_EACH), FAKE_DEPTH);
}

// Unsignaled messages of several links are covered by the next operation of any of them.
static void test_covers(void **state)
{
    (void)state;
    for (uint32_t to = FAKE_EACH; to < 2 * FAKE_EACH; to++)
        ranks_join(0, to);
    ranks_join(0, 2 * FAKE_EACH);
    fake_nodes[0].is_held = true;
    for (uint32_t i = 0; i < FAKE_UNSIGNALED; i++)
        assert_true(message_send(0, FAKE_EACH + i % 3, i, true));
    assert_false(message_send(0, FAKE_EACH + 3, 0, true)); // the queue pair has its share
    assert_true(message_send(0, 2 * FAKE_EACH, 99, true)); // another one
    assert_int_equal(slots_of(0, FAKE_EACH + 3), FAKE_DEPTH - FAKE_UNSIGNALED);
    assert_true(message_send(0, FAKE_EACH + 3, FAKE_UNSIGNALED, false));
    assert_int_equal(link_of(0, FAKE_EACH)->entries->unsignaled, 0);
    assert_int_equal(link_of(0, 2 * FAKE_EACH)->entries->unsignaled, 1);
    assert_int_equal(aq_ibv_reap(&fake_nodes[0].send_queue), 0);
    assert_int_equal(slots_of(0, FAKE_EACH), FAKE_DEPTH - FAKE_UNSIGNALED - 1);
    fake_xrc_release(&fake_nodes[0]);
    assert_int_equal(aq_ibv_reap(&fake_nodes[0].send_queue), 1);
    assert_int_equal(slots_of(0, FAKE_EACH), FAKE_DEPTH);
    assert_int_equal(slots_of(0, 2 * FAKE_EACH), FAKE_DEPTH - 1);
    assert_int_equal(fake_nodes[0].send_queue.unsignaled, 1);
    for (uint32_t i = 0; i < FAKE_UNSIGNALED; i++)
        assert_message(i, 0, FAKE_EACH + i % 3, i);
    assert_message(FAKE_UNSIGNALED + 1, 0, FAKE_EACH + 3, FAKE_UNSIGNALED);
}

// The links to a host have no more entries together than their queue pair has.
static void test_entries(void **state)
{
    (void)state;
    for (uint32_t to = FAKE_EACH; to < 2 * FAKE_EACH; to++)
        ranks_join(0, to);
    ranks_join(0, 2 * FAKE_EACH);
    fake_nodes[0].is_held = true;
    for (uint32_t i = 0; i < FAKE_DEPTH; i++)
        assert_true(message_send(0, FAKE_EACH + i % FAKE_EACH, i, false));
    for (uint32_t to = FAKE_EACH; to < 2 * FAKE_EACH; to++)
        assert_false(message_send(0, to, 0, false));
    assert_true(message_send(0, 2 * FAKE_EACH, 0, false));
    fake_xrc_release(&fake_nodes[0]);
    while (aq_ibv_reap(&fake_nodes[0].send_queue))
        continue;
    assert_int_equal(slots_of(0, FAKE_EACH), FAKE_DEPTH);
    assert_true(message_send(0, FAKE_EACH, 0, false));
}

// At the end one empty write covers the unsignaled messages of all links of a queue pair.
static void test_drain(void **state)
{
    (void)state;
    for (uint32_t to = FAKE_EACH; to < 2 * FAKE_EACH; to++) {
        ranks_join(0, to);
        assert_true(message_send(0, to, to, true));
    }
    aq_ibv_drain(&fake_nodes[0].send_queue, &fake_nodes[0].peers);
    assert_int_equal(fake_message_count, FAKE_EACH + 1);
    assert_int_equal(fake_nodes[0].send_queue.unsignaled, 0);
    assert_int_equal(slots_of(0, FAKE_EACH), FAKE_DEPTH);
}

// A queue pair that fails loses all links that use it, and no other one. The sentence names the
// rank whose operation failed first.
static void test_failure(void **state)
{
    (void)state;
    for (uint32_t to = FAKE_EACH; to < FAKE_RANKS; to++)
        ranks_join(0, to);
    fake_nodes[0].broken = link_of(0, FAKE_EACH)->qp->qp_num;
    assert_true(message_send(0, FAKE_EACH + 2, 0, true));
    assert_true(message_send(0, FAKE_EACH + 1, 0, false));
    aq_ibv_reap(&fake_nodes[0].send_queue);
    for (uint32_t to = FAKE_EACH; to < FAKE_RANKS; to++)
        assert_int_equal(link_of(0, to)->entries->dead, to < 2 * FAKE_EACH);
    assert_non_null(strstr(fake_nodes[0].losses.why, "the connection to rank 6 is lost ("));
    assert_true(message_send(0, 2 * FAKE_EACH, 0, false));
}

// A rank may receive before it learns the number that connects its sending queue pair. Until then
// it finds no room to send.
static void test_reply_waits(void **state)
{
    (void)state;
    link_call(0, FAKE_EACH);
    fake_nodes[FAKE_EACH].connector.ops->progress(
        &fake_nodes[FAKE_EACH].connector); // hears, and answers
    fake_nodes[FAKE_EACH].is_deaf = true;
    link_settle(0, FAKE_EACH);
    assert_true(message_send(0, FAKE_EACH, 7, false));
    assert_message(0, 0, FAKE_EACH, 7);
    assert_int_equal(link_of(FAKE_EACH, 0)->conn.state, AQ_IBV_ANSWERING);
    assert_false(message_send(FAKE_EACH, 0, 8, false));
    assert_false(message_send(FAKE_EACH, 0, 8, true));
    fake_nodes[FAKE_EACH].is_deaf = false;
    link_settle(FAKE_EACH, 0); // repeats what it said
    assert_true(message_send(FAKE_EACH, 0, 8, false));
    assert_message(1, FAKE_EACH, 0, 8);
}

// A rank that has met another one of the host answers and sends at once.
static void test_later_links(void **state)
{
    (void)state;
    ranks_join(0, FAKE_EACH);
    const unsigned made = fake_pairs_made;
    ranks_join(FAKE_EACH, 1);
    assert_int_equal(fake_pairs_made,
                     made + 2); // the sending one of rank 1, and a receiving one for it
    ranks_join(1, FAKE_EACH + 1);
    assert_int_equal(fake_pairs_made, made + 4); // the same for rank 5
    ranks_join(0, FAKE_EACH + 1);
    assert_int_equal(fake_pairs_made, made + 4);
    assert_int_equal(fake_nodes[FAKE_EACH + 1].opened + fake_nodes[FAKE_EACH + 1].xrc.made, 2);
}

// Another rank of the host is making the receiving queue pair: the datagram counts as lost.
static void test_claimed(void **state)
{
    uint32_t number;
    (void)state;
    ranks_join(0, FAKE_EACH);
    const uint32_t made = link_of(FAKE_EACH, 0)->conn.receiver->qp_num;
    atomic_store(&fake_nodes[FAKE_EACH].xrc.receivers[0], 0);
    assert_int_equal(aq_ibv_xrc_claim(&fake_nodes[FAKE_EACH].xrc, 0, &number), AQ_IBV_XRC_MAKE);
    assert_int_equal(aq_ibv_xrc_claim(&fake_nodes[FAKE_EACH + 1].xrc, 0, &number), AQ_IBV_XRC_WAIT);
    link_call(0, FAKE_EACH + 1);
    for (unsigned i = 0; i < 250; i++) { // more than one repetition
        progress_all();
        aq_clock_sleep_ns(1000000);
    }
    assert_int_equal(link_of(0, FAKE_EACH + 1)->conn.state, AQ_IBV_CALLING);
    assert_null(link_of(FAKE_EACH + 1, 0)->conn.receiver);
    aq_ibv_xrc_publish(&fake_nodes[FAKE_EACH].xrc, 0, made);
    ranks_join(0, FAKE_EACH + 1);
    assert_int_equal(link_of(FAKE_EACH + 1, 0)->conn.receiver->qp_num, made);
    assert_int_equal(fake_nodes[FAKE_EACH + 1].xrc.made, 0);
}

// A claim that came to nothing is free for the next rank.
static void test_claims(void **state)
{
    aq_ibv_xrc_t *one = &fake_nodes[0].xrc, *other = &fake_nodes[1].xrc;
    uint32_t number;
    (void)state;
    assert_int_equal(aq_ibv_xrc_claim(one, 5, &number), AQ_IBV_XRC_MAKE);
    assert_int_equal(aq_ibv_xrc_claim(other, 5, &number), AQ_IBV_XRC_WAIT);
    assert_int_equal(aq_ibv_xrc_claim(other, 6, &number), AQ_IBV_XRC_MAKE);
    aq_ibv_xrc_publish(one, 5, 0);
    assert_int_equal(aq_ibv_xrc_claim(other, 5, &number), AQ_IBV_XRC_MAKE);
    aq_ibv_xrc_publish(other, 5, 77);
    assert_int_equal(aq_ibv_xrc_claim(one, 5, &number), AQ_IBV_XRC_OPEN);
    assert_int_equal(number, 77);
    assert_int_equal(aq_ibv_xrc_claim(&fake_nodes[FAKE_EACH].xrc, 5, &number),
                     AQ_IBV_XRC_MAKE); // elsewhere
}

// The system learns the peer's address late, at either side and for either queue pair.
static void test_late_answers(void **state)
{
    (void)state;
    fake_nodes[0].unanswered = 3;
    fake_nodes[FAKE_EACH].unanswered = 3;
    ranks_join(0, FAKE_EACH);
    assert_int_equal(fake_nodes[0].unanswered + fake_nodes[FAKE_EACH].unanswered, 0);
    assert_int_equal(fake_xrc_count(IBV_QPT_XRC_RECV, 0), 1);
    assert_int_equal(fake_xrc_count(IBV_QPT_XRC_RECV, 1), 1);
    assert_true(message_send(0, FAKE_EACH, 1, false) && message_send(FAKE_EACH, 0, 2, false));
}

// Ranks of a host that tell different numbers share no domain.
static void test_disagreement(void **state)
{
    (void)state;
    ranks_join(0, FAKE_EACH);
    atomic_store(&fake_nodes[FAKE_EACH].xrc.receivers[0], 0); // so that rank 5 makes another one
    link_call(0, FAKE_EACH + 1);
    link_settle(0, FAKE_EACH + 1);
    assert_int_equal(link_of(0, FAKE_EACH + 1)->conn.state, AQ_IBV_FAILED);
    assert_non_null(
        strstr(fake_nodes[0].losses.why, "the ranks of its host do not share an XRC domain"));
}

// Opens the domain of a rank again, which now listens at another port.
static void domain_reopen(uint32_t rank, const aq_ibv_port_address_t *port)
{
    fake_node_t *node = &fake_nodes[rank];
    aq_ibv_xrc_close(&node->xrc);
    assert_int_equal(aq_ibv_xrc_open(&node->xrc, &node->boot, &node->verbs.context, port), AQ_OK);
}

// Mappings of tables in this process, which plays all ranks.
static unsigned tables_mapped(void)
{
    char line[512];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        count += strstr(line, "gasnet-xrc") != NULL;
    fclose(maps);
    return count;
}

static void test_close(void **state)
{
    (void)state;
    const unsigned before = tables_mapped();
    aq_ibv_xrc_close(&fake_nodes[0].xrc);
    assert_int_equal(tables_mapped(), before - 1);
}

// Ranks of a host at two ports are two places, with a domain, a table and queue pairs each; and so
// are ranks of two hosts at ports of one address.
static void test_ports(void **state)
{
    aq_ibv_xrc_t *xrc = &fake_nodes[0].xrc;
    (void)state;
    aq_ibv_xrc_sender_t *first = aq_ibv_xrc_sender_get(xrc, 1, 1);
    assert_ptr_equal(aq_ibv_xrc_sender_get(xrc, 1, 1), first);
    assert_ptr_not_equal(aq_ibv_xrc_sender_get(xrc, 1, 2), first);
    assert_ptr_not_equal(aq_ibv_xrc_sender_get(xrc, 2, 1), first);
    assert_int_equal(aq_ibv_xrc_senders(xrc), 3);
    const ino_t inode = fake_nodes[1].domain.inode;
    const aq_ibv_port_address_t further = fake_xrc_address(7), same = fake_xrc_address(0);
    assert_int_equal(inode, fake_nodes[0].domain.inode);
    assert_int_not_equal(inode, fake_nodes[FAKE_EACH].domain.inode);
    domain_reopen(1, &further);
    assert_int_not_equal(fake_nodes[1].domain.inode, inode);
    domain_reopen(1, &same);
    assert_int_equal(fake_nodes[1].domain.inode, inode);
    domain_reopen(FAKE_EACH, &same);
    assert_int_not_equal(fake_nodes[FAKE_EACH].domain.inode, inode);
}

// ---- windows ----

typedef struct window {
    aq_ibv_queues_t queues;
    aq_ibv_peers_t peers;
    aq_ibv_end_t end;
    aq_ibv_peer_t *link;
} window_t;

// Gives a rank endpoint 1, with a link to that of another rank.
static void window_open(window_t *window, uint32_t rank, uint32_t to)
{
    fake_node_t *node = &fake_nodes[rank];
    window->peers = (aq_ibv_peers_t){.limits = &node->limits, .rank = rank, .endpoint = 1};
    assert_true(aq_ibv_peers_open(&window->peers, FAKE_RANKS));
    assert_int_equal(aq_ibv_queues_open(&window->queues, &node->pd, &node->limits, false, false),
                     AQ_OK);
    window->end = (aq_ibv_end_t){.limits = &node->limits,
                                 .queues = &window->queues,
                                 .peers = &window->peers,
                                 .own = {.rank = rank, .endpoint = 1}};
    aq_ibv_connector_add(&node->connector, 1, &window->end);
    window->link = aq_ibv_peer_get(&window->peers, to, 1);
}

static void window_close(window_t *window)
{
    aq_ibv_queues_close(&window->queues);
    aq_ibv_peers_free(&window->peers);
}

// Windows of a job with XRC connect by queue pairs of their own.
static void test_windows(void **state)
{
    window_t windows[2] = {{.link = NULL}};
    (void)state;
    ranks_join(0, FAKE_EACH);
    const unsigned made = fake_pairs_made;
    window_open(&windows[0], 0, FAKE_EACH);
    window_open(&windows[1], FAKE_EACH, 0);
    aq_ibv_connector_t *connector = &fake_nodes[0].connector;
    pthread_mutex_lock(&connector->lock);
    assert_int_equal(connector->ops->call(connector, windows[0].link), AQ_OK);
    pthread_mutex_unlock(&connector->lock);
    while (windows[0].link->conn.state != AQ_IBV_READY ||
           windows[1].link->conn.state != AQ_IBV_READY)
        progress_all();
    assert_int_equal(fake_pairs_made, made + 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_ptr_equal(windows[i].link->entries, &windows[i].link->own);
        assert_int_equal(windows[i].link->srq_there, 0);
        assert_null(windows[i].link->conn.receiver);
        window_close(&windows[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_numbers, fake_xrc_start, fake_xrc_end),
        cmocka_unit_test_setup_teardown(test_sharing, fake_xrc_start, fake_xrc_end),
        cmocka_unit_test_setup_teardown(test_all_to_all, fake_xrc_start, fake_xrc_end),
        cmocka_unit_test_setup_teardown(test_list, fake_xrc_start, fake_xrc_end),
        cmocka_unit_test_setup_teardown(test_covers, fake_xrc_start, fake_xrc_end),
        cmocka_unit_test_setup_teardown(test_entries, fake_xrc_start, fake_xrc_end),
        cmocka_unit_test_setup_teardown(test_drain, fake_xrc_start, fake_xrc_end),
        cmocka_unit_test_setup_teardown(test_failure, fake_xrc_start, fake_xrc_end),
        cmocka_unit_test_setup_teardown(test_reply_waits, fake_xrc_start, fake_xrc_end),
        cmocka_unit_test_setup_teardown(test_later_links, fake_xrc_start, fake_xrc_end),
        cmocka_unit_test_setup_teardown(test_claimed, fake_xrc_start, fake_xrc_end),
        cmocka_unit_test_setup_teardown(test_claims, fake_xrc_start, fake_xrc_end),
        cmocka_unit_test_setup_teardown(test_late_answers, fake_xrc_start, fake_xrc_end),
        cmocka_unit_test_setup_teardown(test_disagreement, fake_xrc_start, fake_xrc_end),
        cmocka_unit_test_setup_teardown(test_ports, fake_xrc_start, fake_xrc_end),
        cmocka_unit_test_setup_teardown(test_windows, fake_xrc_start, fake_xrc_end),
        cmocka_unit_test_setup_teardown(test_close, fake_xrc_start, fake_xrc_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
