// SPDX-License-Identifier: BSD-3-Clause
// The datagrams by which conduit ibv makes connections: what is read is what was written, and
// nothing is read from a datagram whose proof does not hold or whose fields are out of range.
#include "../../../unit/unit_test.h"

#include <string.h>

#include "../../../../conduits/ibv/peers/ibv_datagram.h"
#include "../../../../conduits/ibv/peers/ibv_handshake.h"

enum { RANKS = 6, CALLER = 3, PEER = 4, OTHER = 5 };

static const uint8_t key[AQ_KEY_BYTES] = "0123456789abcde";
static const uint8_t other_key[AQ_KEY_BYTES] = "0123456789abcdf";
static aq_ibv_datagram_t datagram, theirs;

static void make_datagram(uint16_t count)
{
    datagram = (aq_ibv_datagram_t){
        .peer = {.rank = CALLER, .grant = 7}, .flags = AQ_IBV_SAYS_WANT, .count = count};
    for (uint16_t i = 0; i < count; i++)
        datagram.pairs[i] = (aq_ibv_pair_info_t){
            .port = {.gid = {0xfe, 0x80}, .lid = i}, .number = 1u + i, .psn = i, .mtu = 3};
}

static bool is_read_with(const uint8_t reader[AQ_KEY_BYTES], uint32_t rank, size_t bytes)
{
    return aq_ibv_datagram_read(reader, rank, RANKS, &datagram, bytes, &theirs);
}

// Proves a datagram, and reads it.
static bool is_read(void)
{
    const size_t bytes = aq_ibv_datagram_bytes(datagram.count);
    aq_ibv_prove_datagram(key, PEER, &datagram, bytes);
    return is_read_with(key, PEER, bytes);
}

static void test_all_counts(void **state)
{
    (void)state;
    for (uint16_t count = 1; count <= AQ_IBV_PAIRS_MAX; count++) {
        make_datagram(count);
        assert_true(is_read());
        assert_memory_equal(&theirs, &datagram, sizeof datagram);
        const size_t bytes = aq_ibv_datagram_bytes(count);
        assert_false(is_read_with(other_key, PEER, bytes));
        assert_false(is_read_with(key, OTHER, bytes));
        for (size_t shorter = 0; shorter < bytes; shorter++)
            assert_false(is_read_with(key, PEER, shorter));
    }
}

static void test_each_bit(void **state)
{
    (void)state;
    make_datagram(2);
    assert_true(is_read());
    const size_t bytes = aq_ibv_datagram_bytes(2);
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        ((uint8_t *)&datagram)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(is_read_with(key, PEER, bytes));
        ((uint8_t *)&datagram)[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(is_read_with(key, PEER, bytes));
}

// A request of librdmacm's way with the same bytes is no datagram, and the reverse.
static void test_purpose(void **state)
{
    (void)state;
    make_datagram(1);
    aq_ibv_prove_call(key, PEER, &datagram.peer);
    assert_false(is_read_with(key, PEER, aq_ibv_datagram_bytes(1)));
    assert_true(is_read());
    assert_false(aq_ibv_call_holds(key, PEER, &datagram.peer));
}

// A process of the job that is mistaken cannot harm another.
static void test_ranges(void **state)
{
    (void)state;
    make_datagram(1);
    datagram.peer.rank = RANKS;
    assert_false(is_read());
    datagram.peer.rank = PEER; // the reader itself
    assert_false(is_read());
    make_datagram(1);
    datagram.pairs[0].number = 0;
    assert_false(is_read());
    datagram.pairs[0].number = 1 << 24;
    assert_false(is_read());
    make_datagram(1);
    datagram.pairs[0].psn = 1 << 24;
    assert_false(is_read());
    make_datagram(1);
    datagram.pairs[0].mtu = 0;
    assert_false(is_read());
    datagram.pairs[0].mtu = 6;
    assert_false(is_read());
    make_datagram(1);
    datagram.flags = 8;
    assert_false(is_read());
    datagram.flags = AQ_IBV_SAYS_NO; // a refusal has no queue pairs
    assert_false(is_read());
    datagram.flags = AQ_IBV_SAYS_NO | AQ_IBV_SAYS_WANT;
    assert_false(is_read());
    datagram.flags = AQ_IBV_SAYS_NO;
    datagram.count = 0;
    assert_true(is_read());
    datagram.flags = AQ_IBV_SAYS_WANT;
    assert_false(is_read());
}

// With XRC the receiving queue pair comes with KNOWN, and not before.
static void test_srq(void **state)
{
    (void)state;
    make_datagram(1);
    datagram.srq = 77;
    assert_true(is_read());
    assert_int_equal(theirs.srq, 77);
    datagram.flags |= AQ_IBV_SAYS_KNOWN;
    assert_false(is_read());
    make_datagram(2);
    datagram.srq = 77;
    assert_false(is_read());
    datagram.flags |= AQ_IBV_SAYS_KNOWN;
    assert_true(is_read());
    datagram.srq = 1 << 24;
    assert_false(is_read());
    datagram = (aq_ibv_datagram_t){.peer.rank = CALLER, .flags = AQ_IBV_SAYS_NO, .srq = 77};
    assert_false(is_read());
}

// The count does not fit the length.
static void test_counts(void **state)
{
    (void)state;
    make_datagram(2);
    datagram.count = 1;
    aq_ibv_prove_datagram(key, PEER, &datagram, aq_ibv_datagram_bytes(2));
    assert_false(is_read_with(key, PEER, aq_ibv_datagram_bytes(2)));
    datagram.count = UINT16_MAX;
    aq_ibv_prove_datagram(key, PEER, &datagram, aq_ibv_datagram_bytes(2));
    assert_false(is_read_with(key, PEER, aq_ibv_datagram_bytes(2)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_counts), cmocka_unit_test(test_each_bit),
        cmocka_unit_test(test_purpose),    cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_counts),     cmocka_unit_test(test_srq),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
