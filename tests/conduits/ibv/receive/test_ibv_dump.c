// SPDX-License-Identifier: BSD-3-Clause
// The state that conduit ibv prints when a signal requests a dump, with the fake devices of
// fake_fabric.h.
#include "../../../unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../other/base/settings/settings.h"
#include "../../../unit/child_errors.h"
#include "../../../unit/default_settings.h"
#include "../../../../conduits/ibv/receive/ibv_dump.h"
#include "../fake_fabric.h"

static void start_fabric(const char *ring_peers)
{
    char err[512];
    assert_int_equal(default_settings(), 0);
    setenv("GASNET_AM_CREDITS_PP", "12", 1);
    setenv("GASNET_NETWORKDEPTH_PP", "24", 1);
    setenv("GASNET_AMRDMA_MAX_PEERS", ring_peers, 1);
    setenv("GASNET_AMRDMA_CYCLE", "1", 1);
    setenv("GASNET_AMRDMA_DEPTH", "4", 1);
    if (aq_settings_load(err, sizeof err) != AQ_OK)
        fail_msg("%s", err);
    fake_fabric_start(3, false);
}

static void dump_first(void)
{
    aq_ibv_dump(&fake_nodes[0].ibv->receiver);
}

// Returns the rest of the first line that contains these words, from the words on; NULL if no line
// contains them.
static const char *line_with(char *text, const char *words)
{
    char *at = strstr(text, words);
    if (at)
        at[strcspn(at, "\n")] = '\0';
    return at;
}

static void assert_line(const char *words, const char *line)
{
    char *text = child_errors(dump_first);
    assert_string_equal(line_with(text, words), line);
    free(text);
}

static void test_requests_under_way(void **state)
{
    (void)state;
    start_fabric("0");
    char *text = child_errors(dump_first);
    assert_null(line_with(text, "rank 2"));
    free(text);
    fake_fabric_link(0, 2);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(fake_fabric_request(0, 2, 1000, true), AQ_OK); // too long to go unsignaled
    assert_line("ibv: rank 2",
                "ibv: rank 2: connected; 3 of 24 entries of the send queue used; credits "
                "for 9 more requests, 0 to give back; no ring there; no ring here");
    assert_line("3 of",
                "3 of 48 operations under way, 0 puts and gets that had to ask; credits for 21 of "
                "24 more requests in all; 0 requests and 0 replies wait for a poll; 0 messages "
                "came in buffers, 0 in 0 rings");
    fake_fabric_settle();
    assert_line("ibv: rank 2",
                "ibv: rank 2: connected; 0 of 24 entries of the send queue used; credits "
                "for 12 more requests, 0 to give back; no ring there; no ring here");
    assert_line("3 messages", "3 messages came in buffers, 0 in 0 rings");
    fake_fabric_end();
}

// A request that gets no reply leaves a credit to return.
static void test_credits_to_give_back(void **state)
{
    (void)state;
    start_fabric("0");
    assert_int_equal(fake_fabric_request(1, 0, 0, false), AQ_OK);
    fake_fabric_poll(0);
    assert_line("ibv: rank 1",
                "ibv: rank 1: connected; 0 of 24 entries of the send queue used; credits "
                "for 12 more requests, 1 to give back; no ring there; no ring here");
    fake_fabric_end();
}

static void test_rings(void **state)
{
    (void)state;
    start_fabric("2");
    for (unsigned i = 0; i < 4; i++)
        fake_fabric_round(0, 1, true);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(fake_fabric_request(0, 1, 8, false), AQ_OK);
    // The slot of the last round has not been returned yet.
    assert_line("ibv: rank 1",
                "ibv: rank 1: connected; 0 of 24 entries of the send queue used; credits "
                "for 12 more requests, 0 to give back; 1 of 4 slots free in the ring "
                "there; a ring here");
    fake_fabric_end();
}

static void test_links_that_are_not_ready(void **state)
{
    (void)state;
    start_fabric("0");
    aq_ibv_peer_t *link = fake_fabric_link(0, 1);
    atomic_store(&link->entries->dead, true);
    assert_line("ibv: rank 1: lost",
                "ibv: rank 1: lost; 0 of 24 entries of the send queue used; credits "
                "for 12 more requests, 0 to give back; no ring there; no ring here");
    atomic_store(&link->entries->dead, false);
    atomic_store(&link->started, false);
    link->conn.state = AQ_IBV_CALLING;
    assert_line("ibv: rank 1", "ibv: rank 1: is being called");
    fake_fabric_end();
}

// A link of a window names both endpoints; a window without a link prints nothing.
static void test_windows(void **state)
{
    (void)state;
    start_fabric("0");
    fake_fabric_end();
    fake_fabric_start_windows(2, 3);
    char *text = child_errors(dump_first);
    assert_string_equal(text, "");
    free(text);
    (void)fake_fabric_link(0, 4);
    assert_line("ibv: rank 1",
                "ibv: rank 1, from endpoint 1 to endpoint 2: connected; 0 of 24 entries of the "
                "send queue used; credits for 12 more requests, 0 to give back; no ring there; no "
                "ring here");
    fake_fabric_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_under_way),
        cmocka_unit_test(test_credits_to_give_back),
        cmocka_unit_test(test_rings),
        cmocka_unit_test(test_links_that_are_not_ready),
        cmocka_unit_test(test_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
