// SPDX-License-Identifier: BSD-3-Clause
// Sealed streams with an attacker who changes, drops, replays, reorders, inserts or cuts records:
// the receiver gets what was sealed before the attack, then the stream fails and delivers nothing
// more.
#include "../../unit/unit_test.h"

#include <string.h>

#include "../../../spawner/wire/seal.h"

enum { RECORDS = 5, BODY = 32, RECORD = 4 + BODY + (int)AQ_SEAL_TAG };

static const uint8_t job_key[AQ_KEY_BYTES] = "0123456789abcde";

static aq_auth_t made_up_auth(void)
{
    aq_auth_t auth = {.node = 3};
    memset(auth.caller, 1, sizeof auth.caller);
    memset(auth.listener, 2, sizeof auth.listener);
    return auth;
}

// The plain text of record n: the byte n, repeated.
static void make_body(uint8_t body[BODY], unsigned n)
{
    memset(body, (int)('a' + n), BODY);
}

// The caller's header and records.
static aq_bytes_t make_stream(aq_seal_t *caller)
{
    uint8_t body[BODY];
    aq_bytes_t wire = {0};
    for (unsigned n = 0; n < RECORDS; n++) {
        make_body(body, n);
        aq_seal_record(caller, body, sizeof body, &wire);
    }
    assert_false(wire.failed);
    assert_int_equal(wire.used, AQ_SEAL_HEADER + RECORDS * RECORD);
    return wire;
}

static void expect_records(const aq_bytes_t *plain, unsigned count)
{
    uint8_t body[BODY];
    assert_int_equal(plain->used, count * BODY);
    for (unsigned n = 0; n < count; n++) {
        make_body(body, n);
        assert_memory_equal(plain->data + n * BODY, body, BODY);
    }
}

typedef void attack_t(aq_bytes_t *wire, unsigned at);

static uint8_t *record_at(const aq_bytes_t *wire, unsigned n)
{
    return wire->data + AQ_SEAL_HEADER + (size_t)n * RECORD;
}

static void attack_drop(aq_bytes_t *wire, unsigned at)
{
    memmove(record_at(wire, at), record_at(wire, at + 1), (size_t)(RECORDS - at - 1) * RECORD);
    wire->used -= RECORD;
}

static void attack_repeat(aq_bytes_t *wire, unsigned at)
{
    memcpy(record_at(wire, at), record_at(wire, at - 1), RECORD);
}

static void attack_swap(aq_bytes_t *wire, unsigned at)
{
    uint8_t other[RECORD];
    memcpy(other, record_at(wire, at), RECORD);
    memcpy(record_at(wire, at), record_at(wire, at + 1), RECORD);
    memcpy(record_at(wire, at + 1), other, RECORD);
}

static void attack_insert(aq_bytes_t *wire, unsigned at)
{
    memset(record_at(wire, at) + 4, 0, RECORD - 4);
}

// Cuts the tag off a record; the next record follows at once.
static void attack_cut(aq_bytes_t *wire, unsigned at)
{
    uint8_t *next = record_at(wire, at + 1);
    memmove(next - AQ_SEAL_TAG, next, (size_t)(wire->data + wire->used - next));
    wire->used -= AQ_SEAL_TAG;
}

static void attack_no_bytes(aq_bytes_t *wire, unsigned at)
{
    memcpy(record_at(wire, at), "\0\0\0\21", 4); // a tag without text
}

static void attack_too_long(aq_bytes_t *wire, unsigned at)
{
    memcpy(record_at(wire, at), "\0\1\0\0", 4);
}

// Attacks a genuine stream from record `at` on, and checks that only earlier records arrive.
static void expect_broken(attack_t *attack, unsigned at)
{
    const aq_auth_t auth = made_up_auth();
    aq_seal_t *caller = aq_seal_new(&auth, job_key, true);
    aq_seal_t *listener = aq_seal_new(&auth, job_key, false);
    aq_bytes_t wire = make_stream(caller), plain = {0};
    uint8_t body[BODY];
    size_t used;
    attack(&wire, at);
    assert_false(aq_seal_open(listener, wire.data, wire.used, &used, &plain));
    expect_records(&plain, at);
    wire.used = 0;
    make_body(body, at); // what the peer sends after the attack does not arrive
    aq_seal_record(caller, body, sizeof body, &wire);
    assert_false(aq_seal_open(listener, wire.data, wire.used, &used, &plain));
    expect_records(&plain, at);
    aq_bytes_free(&wire);
    aq_bytes_free(&plain);
    aq_seal_free(caller);
    aq_seal_free(listener);
}

static void test_attacks(void **state)
{
    (void)state;
    for (unsigned at = 0; at + 1 < RECORDS; at++) {
        expect_broken(attack_drop, at);
        expect_broken(attack_swap, at);
        expect_broken(attack_insert, at);
        expect_broken(attack_cut, at);
        expect_broken(attack_no_bytes, at);
        expect_broken(attack_too_long, at);
        expect_broken(attack_repeat, at + 1);
    }
}

// Opens a stream that arrives in two parts. Returns how many bytes of plain text arrive; fails if
// any byte is wrong.
static size_t open_in_parts(const aq_bytes_t *wire, size_t first, bool *genuine)
{
    const aq_auth_t auth = made_up_auth();
    aq_seal_t *listener = aq_seal_new(&auth, job_key, false);
    aq_bytes_t plain = {0};
    size_t used, more;
    *genuine = aq_seal_open(listener, wire->data, first, &used, &plain);
    assert_true(used <= first && first - used < AQ_SEAL_RECORD_MAX);
    if (*genuine)
        *genuine = aq_seal_open(listener, wire->data + used, wire->used - used, &more, &plain);
    expect_records(&plain, (unsigned)(plain.used / BODY));
    size_t arrived = plain.used;
    aq_bytes_free(&plain);
    aq_seal_free(listener);
    return arrived;
}

// For a change at any byte, exactly the text that was sealed before that byte arrives.
static void test_each_byte(void **state)
{
    (void)state;
    const aq_auth_t auth = made_up_auth();
    aq_seal_t *caller = aq_seal_new(&auth, job_key, true);
    aq_bytes_t wire = make_stream(caller);
    bool genuine;
    for (size_t at = 0; at < wire.used; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            size_t intact = at < AQ_SEAL_HEADER ? 0 : (at - AQ_SEAL_HEADER) / RECORD;
            size_t within = at < AQ_SEAL_HEADER ? 4 : (at - AQ_SEAL_HEADER) % RECORD;
            wire.data[at] ^= (uint8_t)(1u << bit);
            assert_int_equal(open_in_parts(&wire, wire.used, &genuine), intact * BODY);
            // A longer length makes the receiver wait for the rest, which then does not open.
            assert_false(genuine && within > 3);
            wire.data[at] ^= (uint8_t)(1u << bit);
        }
    aq_bytes_free(&wire);
    aq_seal_free(caller);
}

// A genuine stream arrives no matter how the network splits it. A stream that ends early delivers
// its complete records.
static void test_parts(void **state)
{
    (void)state;
    const aq_auth_t auth = made_up_auth();
    aq_seal_t *caller = aq_seal_new(&auth, job_key, true);
    aq_bytes_t wire = make_stream(caller);
    bool genuine;
    for (size_t part = 0; part <= wire.used; part++) {
        assert_int_equal(open_in_parts(&wire, part, &genuine), RECORDS * BODY);
        assert_true(genuine);
        aq_bytes_t cut = wire;
        cut.used = part;
        size_t whole = part < AQ_SEAL_HEADER ? 0 : (part - AQ_SEAL_HEADER) / RECORD;
        assert_int_equal(open_in_parts(&cut, part, &genuine), whole * BODY);
        assert_true(genuine);
    }
    aq_bytes_free(&wire);
    aq_seal_free(caller);
}

static void expect_other(const aq_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], bool is_caller)
{
    const aq_auth_t own = made_up_auth();
    aq_seal_t *caller = aq_seal_new(&own, job_key, true);
    aq_seal_t *reader = aq_seal_new(auth, key, is_caller);
    aq_bytes_t wire = make_stream(caller), plain = {0};
    size_t used;
    assert_false(aq_seal_open(reader, wire.data, wire.used, &used, &plain));
    assert_int_equal(plain.used, 0);
    aq_bytes_free(&wire);
    aq_bytes_free(&plain);
    aq_seal_free(caller);
    aq_seal_free(reader);
}

// A stream opens only for its own job, host, connection and direction: neither a replay elsewhere
// nor a reflection of a side's own stream opens.
static void test_other_keys(void **state)
{
    (void)state;
    const uint8_t other_key[AQ_KEY_BYTES] = "0123456789abcdf";
    aq_auth_t auth = made_up_auth();
    expect_other(&auth, other_key, false);
    expect_other(&auth, job_key, true);
    auth.node++;
    expect_other(&auth, job_key, false);
    auth = made_up_auth();
    auth.caller[0] ^= 1;
    expect_other(&auth, job_key, false);
    auth = made_up_auth();
    auth.listener[31] ^= 1;
    expect_other(&auth, job_key, false);
}

// Two streams of the same text differ everywhere, and neither shows the text; a full record
// arrives.
static void test_secrecy(void **state)
{
    (void)state;
    static uint8_t text[AQ_SEAL_PLAIN_MAX];
    const aq_auth_t auth = made_up_auth();
    aq_seal_t *caller = aq_seal_new(&auth, job_key, true);
    aq_seal_t *listener = aq_seal_new(&auth, job_key, false);
    aq_bytes_t wire[2] = {{0}, {0}}, plain = {0};
    size_t used;
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 2; i++) {
        aq_seal_record(i == 0 ? caller : listener, text, sizeof text, &wire[i]);
        assert_int_equal(wire[i].used, AQ_SEAL_HEADER + AQ_SEAL_RECORD_MAX);
        assert_null(memmem(wire[i].data, wire[i].used, "xxxx", 4));
    }
    assert_memory_not_equal(wire[0].data + AQ_SEAL_HEADER + 4, wire[1].data + AQ_SEAL_HEADER + 4,
                            sizeof text);
    assert_true(aq_seal_open(listener, wire[0].data, wire[0].used, &used, &plain));
    assert_int_equal(used, wire[0].used);
    assert_int_equal(plain.used, sizeof text);
    assert_memory_equal(plain.data, text, sizeof text);
    for (int i = 0; i < 2; i++)
        aq_bytes_free(&wire[i]);
    aq_bytes_free(&plain);
    aq_seal_free(caller);
    aq_seal_free(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attacks), cmocka_unit_test(test_each_byte),
        cmocka_unit_test(test_parts),   cmocka_unit_test(test_other_keys),
        cmocka_unit_test(test_secrecy),
    };
    if (aq_auth_init() != AQ_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
