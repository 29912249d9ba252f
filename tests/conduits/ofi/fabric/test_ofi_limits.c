// SPDX-License-Identifier: BSD-3-Clause
// How jobs of any size use a provider: a receive buffer for each message that may come.
#include "../../../unit/unit_test.h"

#include "../../../../conduits/ofi/fabric/ofi_limits.h"

enum { MOST_PEERS = 200000 };

// Other jobs to try, up to MOST_PEERS.
static uint32_t next_peers(uint32_t peers)
{
    return peers + 1 + peers / 50;
}

// What is always true of the credits and buffers of a job.
static void expect_sound(const ofi_traits_t *traits, uint32_t peers,
                         const aq_credit_limits_t *limits)
{
    const unsigned receives = ofi_receives_needed(limits, peers);
    const size_t packet = ofi_packet_most(SIZE_MAX, receives);
    assert_true(limits->each >= 1 && limits->total >= 1);
    assert_true(limits->total <= OFI_REQUESTS_MAX);
    assert_true(limits->slack < limits->each && limits->slack * peers < limits->total);
    assert_true(traits->multi_receive || receives <= traits->receives_most);
    assert_true(packet >= OFI_PACKET_MIN && packet <= OFI_PACKET_BYTES && packet % 8 == 0);
    assert_true(packet == OFI_PACKET_MIN || packet * receives <= OFI_INBOXES_BYTES);
}

static void takes_a_message_of_each_peer(void **state)
{
    (void)state;
    for (uint32_t peers = 1; peers < MOST_PEERS; peers = next_peers(peers)) {
        const ofi_traits_t traits = {.receives_most = ofi_receives_wanted(peers)};
        aq_credit_limits_t limits;
        assert_true(ofi_limits_set(&traits, peers, 128, &limits));
        expect_sound(&traits, peers, &limits);
    }
}

static void shares_few_receives(void **state)
{
    (void)state;
    for (size_t most = 2; most < 600; most++)
        for (uint32_t peers = 1; peers < 2 * most; peers = next_peers(peers)) {
            const ofi_traits_t traits = {.receives_most = most};
            aq_credit_limits_t limits;
            const bool fits = ofi_limits_set(&traits, peers, 256, &limits);
            assert_int_equal(fits, peers < most);
            if (fits)
                expect_sound(&traits, peers, &limits);
        }
}

static void needs_few_long_buffers(void **state)
{
    (void)state;
    for (uint32_t peers = 1; peers < MOST_PEERS; peers = next_peers(peers)) {
        const ofi_traits_t traits = {.receives_most = 64, .multi_receive = true};
        aq_credit_limits_t limits;
        assert_true(ofi_limits_set(&traits, peers, 128, &limits));
        expect_sound(&traits, peers, &limits);
    }
}

static void keeps_packets_long_in_small_jobs(void **state)
{
    (void)state;
    assert_int_equal(ofi_packet_most(SIZE_MAX, 512), OFI_PACKET_BYTES);
    assert_int_equal(ofi_packet_most(SIZE_MAX, 100000), OFI_PACKET_MIN);
    assert_int_equal(ofi_packet_most(4099, 2), 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_a_message_of_each_peer),
        cmocka_unit_test(shares_few_receives),
        cmocka_unit_test(needs_few_long_buffers),
        cmocka_unit_test(keeps_packets_long_in_small_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
