// Keyed hashes and checksums of datagrams: what is altered anywhere is refused, and another job's.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../conduits/udp/udp_auth.h"
#include "../../conduits/udp/udp_stats.h"
#include "../../other/settings.h"

enum { FIELDS = 80, PAYLOAD = 1000 };

static const uint8_t job_key[AQ_KEY_BYTES] = "0123456789abcdef";
static const uint8_t other_key[AQ_KEY_BYTES] = "0123456789abcdeg";
static uint8_t fields[FIELDS], payload[PAYLOAD], hash[UDP_AUTH_BYTES];
static const struct iovec whole = {payload, PAYLOAD};

static int set_up(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FIELDS; i++)
        fields[i] = (uint8_t)(i * 7);
    for (unsigned i = 0; i < PAYLOAD; i++)
        payload[i] = (uint8_t)(i * 13);
    return 0;
}

static udp_auth_t derived(udp_auth_mode_t mode, bool checksum)
{
    udp_auth_t auth;
    assert_int_equal(udp_auth_derive(&auth, job_key, mode, checksum), AQ_OK);
    return auth;
}

static bool genuine(const udp_auth_t *auth)
{
    return udp_auth_genuine(auth, fields, FIELDS, payload, PAYLOAD, hash);
}

// ---- keys ----

static void test_keys(void **state)
{
    (void)state;
    udp_auth_t a = derived(UDP_AUTH_HEADER, false), same = derived(UDP_AUTH_FULL, true), other;
    assert_int_equal(udp_auth_derive(&other, other_key, UDP_AUTH_HEADER, false), AQ_OK);
    assert_int_equal(a.job_tag, same.job_tag);
    assert_memory_equal(a.header_key, same.header_key, sizeof a.header_key);
    assert_memory_equal(a.payload_key, same.payload_key, sizeof a.payload_key);
    assert_int_not_equal(a.job_tag, other.job_tag);
    assert_memory_not_equal(a.header_key, other.header_key, sizeof a.header_key);
    assert_memory_not_equal(a.payload_key, other.payload_key, sizeof a.payload_key);
    assert_memory_not_equal(a.header_key, a.payload_key, sizeof a.header_key);
    assert_memory_not_equal(a.header_key, job_key, sizeof job_key);
}

// A hash that is known to be right: a release that computes others does not talk to this one.
static void test_known(void **state)
{
    (void)state;
    static const uint8_t header_mode[UDP_AUTH_BYTES] = {0x33, 0x57, 0xaa, 0x3f,
                                                        0x3f, 0x2d, 0xa7, 0x88};
    static const uint8_t full_mode[UDP_AUTH_BYTES] = {0xa3, 0x25, 0x57, 0x48,
                                                      0x2a, 0xcd, 0xe6, 0x8a};
    udp_auth_t auth = derived(UDP_AUTH_HEADER, true);
    assert_int_equal(auth.job_tag, 0xd3e47883u);
    assert_int_equal(udp_auth_checksum(&auth, &whole, 1), 0x10ca6d88u);
    udp_auth_sign(&auth, fields, FIELDS, &whole, 1, hash);
    assert_memory_equal(hash, header_mode, sizeof hash);
    auth = derived(UDP_AUTH_FULL, true);
    udp_auth_sign(&auth, fields, FIELDS, &whole, 1, hash);
    assert_memory_equal(hash, full_mode, sizeof hash);
}

// ---- keyed hash ----

// Turns each bit over once; returns how often the datagram was refused.
static unsigned refused_flips(const udp_auth_t *auth, uint8_t *bytes, unsigned length)
{
    unsigned refused = 0;
    for (unsigned bit = 0; bit < length * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        refused += !genuine(auth);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(genuine(auth));
    return refused;
}

static void test_header(void **state)
{
    (void)state;
    udp_auth_t auth = derived(UDP_AUTH_HEADER, false);
    udp_auth_sign(&auth, fields, FIELDS, &whole, 1, hash);
    assert_true(genuine(&auth));
    assert_int_equal(refused_flips(&auth, fields, FIELDS), FIELDS * 8);
    assert_int_equal(refused_flips(&auth, hash, sizeof hash), sizeof hash * 8);
    assert_int_equal(refused_flips(&auth, payload, PAYLOAD), 0);
    assert_false(udp_auth_genuine(&auth, fields, FIELDS - 1, payload, PAYLOAD, hash));
}

static void test_full(void **state)
{
    (void)state;
    udp_auth_t auth = derived(UDP_AUTH_FULL, false);
    udp_auth_sign(&auth, fields, FIELDS, &whole, 1, hash);
    assert_true(genuine(&auth));
    assert_int_equal(refused_flips(&auth, fields, FIELDS), FIELDS * 8);
    assert_int_equal(refused_flips(&auth, hash, sizeof hash), sizeof hash * 8);
    assert_int_equal(refused_flips(&auth, payload, PAYLOAD), PAYLOAD * 8);
    for (size_t length = 0; length < PAYLOAD; length++)
        assert_false(udp_auth_genuine(&auth, fields, FIELDS, payload, length, hash));
}

static void test_off(void **state)
{
    (void)state;
    static const uint8_t zeros[UDP_AUTH_BYTES];
    udp_auth_t auth = derived(UDP_AUTH_OFF, false);
    memset(hash, 1, sizeof hash);
    assert_true(genuine(&auth));
    udp_auth_sign(&auth, fields, FIELDS, &whole, 1, hash);
    assert_memory_equal(hash, zeros, sizeof hash);
}

// Another job's datagrams, and those of another mode, are forged.
static void test_other_job(void **state)
{
    (void)state;
    static const udp_auth_mode_t modes[] = {UDP_AUTH_HEADER, UDP_AUTH_FULL};
    for (unsigned i = 0; i < 2; i++) {
        udp_auth_t mine = derived(modes[i], false), other, switched = derived(modes[1 - i], false);
        assert_int_equal(udp_auth_derive(&other, other_key, modes[i], false), AQ_OK);
        udp_auth_sign(&other, fields, FIELDS, &whole, 1, hash);
        assert_true(genuine(&other));
        assert_false(genuine(&mine));
        udp_auth_sign(&switched, fields, FIELDS, &whole, 1, hash);
        assert_false(genuine(&mine));
    }
}

// However the payload is cut into pieces, it is the same one. None at all is the empty one.
static void test_pieces(void **state)
{
    (void)state;
    udp_auth_t full = derived(UDP_AUTH_FULL, true), header = derived(UDP_AUTH_HEADER, true);
    uint32_t sum = udp_auth_checksum(&header, &whole, 1);
    for (size_t cut = 0; cut <= PAYLOAD; cut += 37) {
        struct iovec pieces[] = {{payload, cut}, {payload + cut, PAYLOAD - cut}};
        udp_auth_sign(&full, fields, FIELDS, pieces, 2, hash);
        assert_true(genuine(&full));
        assert_int_equal(udp_auth_checksum(&header, pieces, 2), sum);
    }
    udp_auth_sign(&full, fields, FIELDS, NULL, 0, hash);
    assert_true(udp_auth_genuine(&full, fields, FIELDS, payload, 0, hash));
    assert_false(genuine(&full));
    assert_true(udp_auth_intact(&header, udp_auth_checksum(&header, NULL, 0), payload, 0));
}

// ---- checksum ----

static void test_checksum(void **state)
{
    (void)state;
    udp_auth_t auth = derived(UDP_AUTH_HEADER, true);
    uint32_t sum = udp_auth_checksum(&auth, &whole, 1);
    unsigned refused = 0;
    assert_int_not_equal(sum, 0);
    assert_true(udp_auth_intact(&auth, sum, payload, PAYLOAD));
    assert_false(udp_auth_intact(&auth, sum, payload, PAYLOAD - 1));
    assert_false(udp_auth_intact(&auth, sum ^ 1u << 31, payload, PAYLOAD));
    for (unsigned bit = 0; bit < PAYLOAD * 8; bit++) {
        payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
        refused += !udp_auth_intact(&auth, sum, payload, PAYLOAD);
        payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(refused, PAYLOAD * 8);
}

static void test_no_checksum(void **state)
{
    (void)state;
    udp_auth_t none = derived(UDP_AUTH_HEADER, false), full = derived(UDP_AUTH_FULL, true);
    assert_int_equal(udp_auth_checksum(&none, &whole, 1), 0);
    assert_true(udp_auth_intact(&none, 12345, payload, PAYLOAD));
    assert_int_equal(udp_auth_checksum(&full, &whole, 1), 0); // the keyed hash has it
    assert_true(udp_auth_intact(&full, 12345, payload, PAYLOAD));
}

// ---- settings ----

static const struct {
    const char *auth, *checksum;
    bool loopback;
    udp_auth_mode_t mode;
    bool has_checksum;
} choices[] = {
    {"", "", true, UDP_AUTH_HEADER, false},         {"", "", false, UDP_AUTH_HEADER, true},
    {"header", "yes", true, UDP_AUTH_HEADER, true}, {"HEADER", "no", false, UDP_AUTH_HEADER, false},
    {"off", "auto", false, UDP_AUTH_OFF, true},     {"off", "auto", true, UDP_AUTH_OFF, false},
    {"full", "yes", false, UDP_AUTH_FULL, false},
};

static void test_settings(void **state)
{
    (void)state;
    char fault[512];
    for (unsigned i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        udp_auth_t auth;
        setenv("GASNET_UDP_AUTH", choices[i].auth, 1);
        setenv("GASNET_UDP_CHECKSUM", choices[i].checksum, 1);
        assert_int_equal(aq_settings_load(fault, sizeof fault), AQ_OK);
        assert_int_equal(udp_auth_start(&auth, job_key, choices[i].loopback), AQ_OK);
        assert_int_equal(auth.mode, choices[i].mode);
        assert_int_equal(auth.checksum, choices[i].has_checksum);
    }
    setenv("GASNET_UDP_AUTH", "maybe", 1);
    assert_int_equal(aq_settings_load(fault, sizeof fault), AQ_ERR_CONFIG);
    assert_non_null(strstr(fault, "GASNET_UDP_AUTH: 'maybe' is not one of header, full, off"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_keys, set_up),
        cmocka_unit_test_setup(test_known, set_up),
        cmocka_unit_test_setup(test_header, set_up),
        cmocka_unit_test_setup(test_full, set_up),
        cmocka_unit_test_setup(test_off, set_up),
        cmocka_unit_test_setup(test_other_job, set_up),
        cmocka_unit_test_setup(test_pieces, set_up),
        cmocka_unit_test_setup(test_checksum, set_up),
        cmocka_unit_test_setup(test_no_checksum, set_up),
        cmocka_unit_test_setup(test_settings, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
