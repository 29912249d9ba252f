// Headers that are hashed ahead: those of a steady exchange are, and what is forged stays refused.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "../../conduits/udp/udp_expect.h"

enum { STEPS = 1000, PAYLOAD = 24, MOST = UDP_HEADER_MOST + PAYLOAD };

static const uint8_t job_key[AQ_KEY_BYTES] = "0123456789abcdef";
static udp_auth_t auth;
static udp_expect_t expect;
static udp_header_t header;
static uint8_t datagram[MOST];
static size_t head; // bytes of the header
static const struct iovec payload = {datagram + UDP_HEADER_MOST, PAYLOAD};

static void begin(udp_auth_mode_t mode)
{
    assert_int_equal(udp_auth_derive(&auth, job_key, mode, false), AQ_OK);
    expect = (udp_expect_t){0};
    header = (udp_header_t){.kind = UDP_DATA,
                            .class = UDP_REPLIES,
                            .job = 77,
                            .source = 1,
                            .dest = 2,
                            .epoch = 3,
                            .sequence = UINT32_MAX - 7,
                            .has_ack = {true, true},
                            .acks = {{.epoch = 1, .credit = 1024, .cumulative = 9},
                                     {.epoch = 2, .credit = 1024, .cumulative = 255}}};
}

// The payload stands behind the header.
static void encode(void)
{
    head = udp_header_bytes(&header);
    header.bytes = (uint16_t)(head + PAYLOAD);
    udp_header_encode(datagram, &header);
    memset(datagram + head, 5, PAYLOAD);
}

static void sign(void)
{
    const struct iovec behind = {datagram + head, PAYLOAD};
    encode();
    udp_auth_sign(&auth, datagram + UDP_HASHED_AT, head - UDP_HASHED_AT, &behind, 1, datagram);
}

static bool genuine(void)
{
    return udp_auth_genuine(&auth, datagram + UDP_HASHED_AT, head - UDP_HASHED_AT, datagram + head,
                            PAYLOAD, datagram);
}

static bool genuine_by_expectation(void)
{
    return udp_expect_genuine(&expect, &auth, datagram, head, head + PAYLOAD);
}

// One more of each flow that the header tells about.
static void go_on(void)
{
    header.sequence += header.kind == UDP_DATA;
    for (unsigned class = 0; class < UDP_CLASSES; class ++)
        header.acks[class].cumulative += header.has_ack[class];
}

// ---- steady exchanges ----

static void all_that_leaves_but_the_first_is_hashed_ahead(void)
{
    for (unsigned i = 0; i < STEPS; i++, go_on()) {
        const struct iovec behind = {datagram + head, PAYLOAD};
        encode();
        udp_expect_sign(&expect, &auth, datagram, head, &behind, 1);
        assert_true(genuine());
        udp_expect_hash(&expect, &auth);
        udp_expect_hash(&expect, &auth); // is done already
    }
    assert_int_equal(expect.met, STEPS - 1);
}

static void all_that_comes_but_the_first_is_hashed_ahead(void)
{
    for (unsigned i = 0; i < STEPS; i++, go_on()) {
        sign();
        assert_true(genuine_by_expectation());
        udp_expect_hash(&expect, &auth);
    }
    assert_int_equal(expect.met, STEPS - 1);
}

static void of_all_kinds(void (*check)(void))
{
    for (unsigned acks = 0; acks < 4; acks++) {
        for (unsigned kind = 0; kind < UDP_KINDS; kind++) {
            for (unsigned selective = 0; selective < 2; selective++) {
                begin(UDP_AUTH_HEADER);
                header.kind = (uint8_t)kind;
                header.selective = selective;
                header.has_ack[0] = acks & 1;
                header.has_ack[1] = acks & 2;
                check();
            }
        }
    }
}

static void what_leaves_in_a_steady_exchange(void **state)
{
    (void)state;
    of_all_kinds(all_that_leaves_but_the_first_is_hashed_ahead);
}

static void what_comes_in_a_steady_exchange(void **state)
{
    (void)state;
    of_all_kinds(all_that_comes_but_the_first_is_hashed_ahead);
}

// ---- all else ----

static void another_header_is_hashed_when_it_comes(void **state)
{
    (void)state;
    begin(UDP_AUTH_HEADER);
    for (unsigned i = 0; i < STEPS; i++, go_on()) {
        header.sequence += i % 3 == 1;      // one was lost
        header.has_ack[0] = i % 10 < 5;     // another length
        header.acks[1].cumulative += i % 2; // two came
        sign();
        assert_true(genuine_by_expectation());
        if (i % 4)
            udp_expect_hash(&expect, &auth);
    }
    assert_in_range(expect.met, 1, STEPS / 2);
}

// Without and with an expectation, which is there for the genuine one afterwards.
static void each_flipped_bit_is_refused(void **state)
{
    (void)state;
    begin(UDP_AUTH_HEADER);
    for (unsigned round = 0; round < 2; round++, go_on()) {
        sign();
        for (size_t bit = 0; bit < head * 8; bit++) {
            if (bit / 8 == UDP_HASH_BYTES)
                continue; // the version is checked for itself
            datagram[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_false(genuine_by_expectation());
            datagram[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        assert_true(genuine_by_expectation());
        assert_int_equal(expect.met, round);
        udp_expect_hash(&expect, &auth);
    }
}

static void the_payload_counts_in_mode_full(void **state)
{
    (void)state;
    begin(UDP_AUTH_FULL);
    for (unsigned i = 0; i < 10; i++, go_on()) {
        sign();
        datagram[head] ^= 1;
        assert_false(genuine_by_expectation());
        datagram[head] ^= 1;
        assert_true(genuine_by_expectation());
        udp_expect_hash(&expect, &auth);
    }
    assert_int_equal(expect.met, 0);
}

static void nothing_is_hashed_in_mode_off(void **state)
{
    (void)state;
    static const uint8_t zeros[UDP_HASH_BYTES];
    begin(UDP_AUTH_OFF);
    for (unsigned i = 0; i < 10; i++, go_on()) {
        encode();
        memset(datagram, 1, UDP_HASH_BYTES);
        udp_expect_sign(&expect, &auth, datagram, head, &payload, 1);
        assert_memory_equal(datagram, zeros, UDP_HASH_BYTES);
        udp_expect_hash(&expect, &auth);
    }
    assert_int_equal(expect.met, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_leaves_in_a_steady_exchange),
        cmocka_unit_test(what_comes_in_a_steady_exchange),
        cmocka_unit_test(another_header_is_hashed_when_it_comes),
        cmocka_unit_test(each_flipped_bit_is_refused),
        cmocka_unit_test(the_payload_counts_in_mode_full),
        cmocka_unit_test(nothing_is_hashed_in_mode_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
