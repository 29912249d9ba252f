// SPDX-License-Identifier: BSD-3-Clause
// The proof in the private data of connections of conduit ibv: it is valid for its own ranks, key,
// nonces, purpose and content only, and a replayed request is recognized.
#include "../../../unit/unit_test.h"

#include <string.h>

#include "../../../../conduits/ibv/connect/ibv_connect_cm.h"
#include "../../../../conduits/ibv/peers/ibv_proof.h"

enum { CALLER = 3, PEER = 4, OTHER = 5 };

static const uint8_t key[AQ_KEY_BYTES] = "0123456789abcde";
static const uint8_t other_key[AQ_KEY_BYTES] = "0123456789abcdf";

static aq_ibv_conn_private_data_t make_private_data(uint32_t rank)
{
    return (aq_ibv_conn_private_data_t){
        .rank = rank, .grant = 7, .rings_at = 1 << 20, .rings_key = 9};
}

static void test_call(void **state)
{
    (void)state;
    aq_ibv_conn_private_data_t call = make_private_data(CALLER), again = make_private_data(CALLER);
    aq_ibv_prove_call(key, PEER, &call);
    aq_ibv_prove_call(key, PEER, &again);
    assert_true(aq_ibv_call_holds(key, PEER, &call));
    assert_true(aq_ibv_call_holds(key, PEER, &again));
    assert_memory_not_equal(call.nonce, again.nonce, sizeof call.nonce);
    assert_memory_not_equal(call.proof, again.proof, sizeof call.proof);
    assert_false(aq_ibv_call_holds(other_key, PEER, &call));
    assert_false(aq_ibv_call_holds(key, OTHER, &call));
}

// An accept of one call is not valid for the next call; and a request is not valid as an accept.
static void test_accept(void **state)
{
    (void)state;
    aq_ibv_conn_private_data_t call = make_private_data(CALLER), next = make_private_data(CALLER),
                               answer = make_private_data(PEER);
    aq_ibv_prove_call(key, PEER, &call);
    aq_ibv_prove_call(key, PEER, &next);
    aq_ibv_prove_accept(key, CALLER, call.nonce, &answer);
    assert_true(aq_ibv_accept_holds(key, CALLER, call.nonce, &answer));
    assert_false(aq_ibv_accept_holds(key, CALLER, next.nonce, &answer));
    assert_false(aq_ibv_accept_holds(other_key, CALLER, call.nonce, &answer));
    assert_false(aq_ibv_accept_holds(key, OTHER, call.nonce, &answer));
    assert_false(aq_ibv_call_holds(key, CALLER, &answer));
    assert_false(aq_ibv_accept_holds(key, PEER, call.nonce, &call));
    const uint8_t zeros[AQ_IBV_NONCE_BYTES] = {0}; // the value of that nonce in a request
    assert_false(aq_ibv_accept_holds(key, PEER, zeros, &call));
}

static void test_each_bit(void **state)
{
    (void)state;
    aq_ibv_conn_private_data_t call = make_private_data(CALLER), answer = make_private_data(PEER);
    aq_ibv_prove_call(key, PEER, &call);
    aq_ibv_prove_accept(key, CALLER, call.nonce, &answer);
    for (unsigned bit = 0; bit < 8 * sizeof call; bit++) {
        aq_ibv_conn_private_data_t changed;
        memcpy(&changed, &call, sizeof changed);
        ((uint8_t *)&changed)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(aq_ibv_call_holds(key, PEER, &changed));
        memcpy(&changed, &answer, sizeof changed);
        ((uint8_t *)&changed)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(aq_ibv_accept_holds(key, CALLER, call.nonce, &changed));
    }
}

// The endpoints at both ends belong to what is proved, and tell which window a connection is for.
static void test_endpoints(void **state)
{
    (void)state;
    aq_ibv_conn_private_data_t call = make_private_data(CALLER), theirs;
    call.endpoint = 1023;
    call.to_endpoint = 7;
    aq_ibv_prove_call(key, PEER, &call);
    assert_true(aq_ibv_request_genuine(key, PEER, OTHER + 1, &call, sizeof call, &theirs));
    assert_true(aq_ibv_private_data_between(&theirs, 1023, 7));
    assert_false(aq_ibv_private_data_between(&theirs, 7, 1023));
    assert_false(aq_ibv_private_data_between(&theirs, 1023, 0));
    call.to_endpoint = 8;
    assert_false(aq_ibv_request_genuine(key, PEER, OTHER + 1, &call, sizeof call, &theirs));
    call.to_endpoint = 7;
    call.endpoint = 0;
    assert_false(aq_ibv_request_genuine(key, PEER, OTHER + 1, &call, sizeof call, &theirs));
}

// Replayed requests, and one request more than a peer may make, are refused.
static void test_replay(void **state)
{
    (void)state;
    aq_ibv_nonces_t nonces = {.count = 0};
    aq_ibv_conn_private_data_t calls[AQ_IBV_CALLS_MAX + 1];
    for (unsigned i = 0; i <= AQ_IBV_CALLS_MAX; i++) {
        calls[i] = make_private_data(CALLER);
        aq_ibv_prove_call(key, PEER, &calls[i]);
        assert_int_equal(aq_ibv_nonces_note(&nonces, calls[i].nonce), i < AQ_IBV_CALLS_MAX);
        for (unsigned j = 0; j <= i; j++)
            assert_false(aq_ibv_nonces_note(&nonces, calls[j].nonce));
    }
}

// Both ranks call at the same time, and the request of the higher one is refused. The kernel
// repeats it, since the refusal is late: at each point it is refused for a reason that does not end
// the job.
static void test_repeated_request(void **state)
{
    (void)state;
    static const uint8_t first[AQ_IBV_NONCE_BYTES] = {1}, second[AQ_IBV_NONCE_BYTES] = {2};
    struct rdma_cm_id own_call = {.verbs = NULL};
    aq_ibv_connection_t conn = {.state = AQ_IBV_CALLING, .id = &own_call};
    assert_int_equal(aq_ibv_request_judge(&conn, first, false), AQ_IBV_REFUSE_MINE_COUNTS);
    assert_int_equal(aq_ibv_request_judge(&conn, first, false), AQ_IBV_REFUSE_MINE_COUNTS);
    conn.state = AQ_IBV_READY;
    assert_int_equal(aq_ibv_request_judge(&conn, first, false), AQ_IBV_REFUSE_MINE_COUNTS);
    // The own call failed.
    conn = (aq_ibv_connection_t){.state = AQ_IBV_IDLE, .nonces = conn.nonces};
    assert_int_equal(aq_ibv_request_judge(&conn, first, false), AQ_IBV_REFUSE_REPEATED);
    assert_int_equal(aq_ibv_request_judge(&conn, second, false), AQ_IBV_ACCEPT_REQUEST);
    assert_int_equal(aq_ibv_request_judge(&conn, second, false), AQ_IBV_REFUSE_REPEATED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call),      cmocka_unit_test(test_accept),
        cmocka_unit_test(test_each_bit),  cmocka_unit_test(test_replay),
        cmocka_unit_test(test_endpoints), cmocka_unit_test(test_repeated_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
