// SPDX-License-Identifier: BSD-3-Clause
// Which altered datagrams each mode of authentication refuses, and which it is known to accept: the
// test flips each bit of a datagram with several frames. It also tests the keys of jobs, pairs and
// generations, and checksums.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../../conduits/udp/wire/udp_auth.h"
#include "../../../../conduits/udp/socket/udp_stats.h"
#include "../../../../other/base/settings/settings.h"

enum { ROOM = 1024, SHORT_AT = 0, PUT_AT = 16, PUT_PAYLOAD_AT = 32, MEDIUM_AT = 232 };

static const uint8_t job_key[AQ_KEY_BYTES] = {'0', '1', '2', '3', '4', '5', '6', '7',
                                              '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
static const uint8_t other_key[AQ_KEY_BYTES] = {'0', '1', '2', '3', '4', '5', '6', '7',
                                                '8', '9', 'a', 'b', 'c', 'd', 'e', 'g'};

// A header, then a Short, a put of 200 bytes, and a Medium of 40 bytes with one argument.
static _Alignas(16) uint8_t datagram[ROOM];
static size_t head, length;
static udp_header_t header;

static size_t write_frames(uint8_t *at)
{
    static const int32_t args[] = {11, 12};
    static uint8_t payload[200];
    uint8_t *begin = at;
    for (unsigned i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)(i * 13);
    const aq_am_t first = {.args = args, .nargs = 2, .handler = 200, .category = AQ_AM_SHORT};
    const udp_rma_t put = {.type = UDP_FRAME_PUT,
                           .nbytes = sizeof payload,
                           .payload = payload,
                           .place = udp_place_make(UDP_KEY_SEGMENT, 4096)};
    const aq_am_t last = {.args = args,
                          .nargs = 1,
                          .handler = 201,
                          .payload = payload,
                          .nbytes = 40,
                          .category = AQ_AM_MEDIUM};
    udp_frame_write(at, &first, 0);
    at += udp_frame_bytes(first.category, first.nargs, first.nbytes);
    assert_int_equal(at - begin, PUT_AT);
    udp_rma_write(at, &put);
    at += udp_rma_bytes(put.type, put.nbytes);
    assert_int_equal(at - begin, MEDIUM_AT);
    udp_frame_write(at, &last, 0);
    return (size_t)(at - begin) + udp_frame_bytes(last.category, last.nargs, last.nbytes);
}

static udp_auth_t derive_auth(const uint8_t *key, udp_auth_mode_t mode, bool checksum)
{
    udp_auth_t auth;
    assert_int_equal(udp_auth_derive(&auth, key, mode, checksum), AQ_OK);
    return auth;
}

static void sign_datagram(const udp_auth_t *auth)
{
    const struct iovec frames = {datagram + head, length - head};
    udp_header_encode(datagram, &header);
    udp_auth_sign(auth, datagram, &header, &frames, 1,
                  udp_auth_token(auth, header.source, header.dest));
}

static int set_up(void **state)
{
    (void)state;
    header = (udp_header_t){.kind = UDP_DATA,
                            .has_ack = {true, false},
                            .job = 77,
                            .source = 1,
                            .dest = 2,
                            .packet = 5,
                            .sequence = 3,
                            .epoch = 1,
                            .acks = {{.epoch = 1, .credit = 1024, .cumulative = 9}}};
    head = udp_header_bytes(&header);
    length = head + write_frames(datagram + head);
    header.bytes = (uint16_t)length;
    return 0;
}

// Verifies as the receiver does, with nothing but the header's own fields.
static bool auth_accepts(const udp_auth_t *auth, const uint8_t *bytes, size_t at_hand)
{
    udp_header_t got = {0};
    if (udp_header_decode(bytes, length, &got) != UDP_FINE || udp_header_bytes(&got) > at_hand)
        return false;
    return udp_auth_genuine(auth, &got, bytes, at_hand,
                            udp_auth_token(auth, got.source, got.dest)) &&
           (at_hand < length || udp_auth_intact(auth, &got, bytes));
}

// Flips each bit of a part of the datagram, one at a time; returns how many flips were refused.
static unsigned count_refused(const udp_auth_t *auth, size_t begin, size_t end)
{
    unsigned count = 0;
    for (size_t bit = begin * 8; bit < end * 8; bit++) {
        datagram[bit / 8] ^= (uint8_t)(1u << bit % 8);
        count += !auth_accepts(auth, datagram, length);
        datagram[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(auth_accepts(auth, datagram, length));
    return count;
}

#define ALL(begin, end) ((unsigned)((end) - (begin)) * 8)

// ---- modes ----

static void full_refuses_every_altered_bit(void **state)
{
    (void)state;
    udp_auth_t auth = derive_auth(job_key, UDP_AUTH_FULL, false);
    sign_datagram(&auth);
    assert_int_equal(count_refused(&auth, 0, 8), ALL(0, 8));
    assert_int_equal(count_refused(&auth, UDP_PROOF_BYTES, length), ALL(UDP_PROOF_BYTES, length));
}

static void header_refuses_altered_headers_and_fronts(void **state)
{
    (void)state;
    udp_auth_t auth = derive_auth(job_key, UDP_AUTH_HEADER, false);
    const size_t payload = head + PUT_PAYLOAD_AT, medium = head + MEDIUM_AT;
    sign_datagram(&auth);
    assert_int_equal(count_refused(&auth, 0, 8), ALL(0, 8));
    assert_int_equal(count_refused(&auth, UDP_PROOF_BYTES, payload), ALL(UDP_PROOF_BYTES, payload));
    assert_int_equal(count_refused(&auth, medium, medium + 16), ALL(0, 16));
}

// A forgery that an earlier version accepted: a genuine header before the attacker's own frames.
static void header_refuses_other_frames_behind_a_genuine_header(void **state)
{
    (void)state;
    udp_auth_t auth = derive_auth(job_key, UDP_AUTH_HEADER, false);
    const udp_rma_t forged = {.type = UDP_FRAME_PUT,
                              .nbytes = length - head - 16,
                              .place = udp_place_make(UDP_KEY_SEGMENT, 0)};
    sign_datagram(&auth);
    assert_true(auth_accepts(&auth, datagram, length));
    udp_rma_write(datagram + head, &forged);
    assert_false(auth_accepts(&auth, datagram, length));
}

// The header of one datagram before the frames of another one.
static void header_refuses_fronts_of_another_datagram(void **state)
{
    (void)state;
    udp_auth_t auth = derive_auth(job_key, UDP_AUTH_HEADER, false);
    uint8_t kept[ROOM];
    sign_datagram(&auth);
    memcpy(kept, datagram, head);
    header.packet++;
    sign_datagram(&auth);
    datagram[head + 8]++; // an argument of the Short
    assert_false(auth_accepts(&auth, datagram, length));
    datagram[head + 8]--;
    memcpy(datagram, kept, head);
    assert_true(auth_accepts(&auth, datagram, length));
}

static void header_needs_the_fronts_only(void **state)
{
    (void)state;
    udp_auth_t auth = derive_auth(job_key, UDP_AUTH_HEADER, false);
    sign_datagram(&auth);
    assert_true(auth_accepts(&auth, datagram, head + MEDIUM_AT + 16));
    for (size_t at_hand = head; at_hand < head + MEDIUM_AT + 16; at_hand++) {
        uint8_t *exact = malloc(at_hand); // a sanitizer detects any read behind it
        assert_non_null(exact);
        memcpy(exact, datagram, at_hand);
        assert_false(auth_accepts(&auth, exact, at_hand));
        free(exact);
    }
}

static void token_refuses_what_lacks_it(void **state)
{
    (void)state;
    udp_auth_t auth = derive_auth(job_key, UDP_AUTH_TOKEN, false);
    sign_datagram(&auth);
    assert_int_equal(count_refused(&auth, 0, 8), ALL(0, 8));
    // Each pair has its own token, in each direction.
    assert_true(udp_auth_token(&auth, 1, 2) != udp_auth_token(&auth, 2, 1));
    assert_true(udp_auth_token(&auth, 1, 2) != udp_auth_token(&auth, 1, 3));
    // And so has each pair of endpoints.
    assert_true(udp_auth_token(&auth, udp_ep_id(1, 1), 2) != udp_auth_token(&auth, 1, 2));
    assert_true(udp_auth_token(&auth, udp_ep_id(1, 1), udp_ep_id(2, 1)) !=
                udp_auth_token(&auth, udp_ep_id(1, 2), udp_ep_id(2, 1)));
    header.source = 0;
    memcpy(datagram + 24, &(uint32_t){0}, 4);
    assert_false(auth_accepts(&auth, datagram, length));
}

static void off_proves_nothing(void **state)
{
    (void)state;
    static const uint8_t zeros[UDP_PROOF_BYTES];
    udp_auth_t auth = derive_auth(job_key, UDP_AUTH_OFF, false);
    sign_datagram(&auth);
    assert_memory_equal(datagram, zeros, sizeof zeros);
    assert_true(auth_accepts(&auth, datagram, length));
}

static void another_job_or_mode_is_refused(void **state)
{
    (void)state;
    for (udp_auth_mode_t mode = UDP_AUTH_TOKEN; mode < UDP_AUTH_ENCRYPT; mode++)
        for (udp_auth_mode_t theirs = UDP_AUTH_OFF; theirs < UDP_AUTH_ENCRYPT; theirs++) {
            udp_auth_t mine = derive_auth(job_key, mode, false),
                       foreign = derive_auth(other_key, mode, false);
            udp_auth_t switched = derive_auth(job_key, theirs, false);
            sign_datagram(&foreign);
            assert_true(auth_accepts(&foreign, datagram, length));
            assert_false(auth_accepts(&mine, datagram, length));
            sign_datagram(&switched);
            assert_int_equal(auth_accepts(&mine, datagram, length), mode == theirs);
        }
}

// Pieces do not change the proof of a datagram, and neither do missing frames.
static void pieces_do_not_matter(void **state)
{
    (void)state;
    for (udp_auth_mode_t mode = UDP_AUTH_OFF; mode < UDP_AUTH_ENCRYPT; mode++) {
        udp_auth_t auth = derive_auth(job_key, mode, true);
        const uint64_t token = udp_auth_token(&auth, 1, 2);
        for (size_t cut = MEDIUM_AT + 16; cut <= length - head; cut++) {
            const struct iovec pieces[] = {{datagram + head, cut},
                                           {datagram + head + cut, length - head - cut}};
            udp_header_encode(datagram, &header);
            udp_auth_sign(&auth, datagram, &header, pieces, 2, token);
            assert_true(auth_accepts(&auth, datagram, length));
        }
        udp_header_t ack = header;
        ack.kind = UDP_ACK;
        ack.bytes = (uint16_t)head;
        udp_header_encode(datagram, &ack);
        udp_auth_sign(&auth, datagram, &ack, NULL, 0, token);
        assert_true(udp_auth_genuine(&auth, &ack, datagram, head, token));
        set_up(state);
    }
}

// ---- keys ----

static void keys_follow_from_the_job(void **state)
{
    (void)state;
    udp_auth_t a = derive_auth(job_key, UDP_AUTH_HEADER, false),
               same = derive_auth(job_key, UDP_AUTH_FULL, 1);
    udp_auth_t other = derive_auth(other_key, UDP_AUTH_HEADER, false);
    assert_int_equal(a.job_tag, same.job_tag);
    assert_memory_equal(a.header_key, same.header_key, sizeof a.header_key);
    assert_memory_equal(a.payload_key, same.payload_key, sizeof a.payload_key);
    assert_memory_equal(a.seal_key, same.seal_key, sizeof a.seal_key);
    assert_int_not_equal(a.job_tag, other.job_tag);
    assert_memory_not_equal(a.header_key, other.header_key, sizeof a.header_key);
    assert_memory_not_equal(a.payload_key, other.payload_key, sizeof a.payload_key);
    assert_memory_not_equal(a.seal_key, other.seal_key, sizeof a.seal_key);
    assert_memory_not_equal(a.payload_key, a.seal_key, sizeof a.seal_key);
    assert_memory_not_equal(a.header_key, a.seal_key, sizeof a.header_key);
    assert_memory_not_equal(a.header_key, job_key, sizeof job_key);
}

static void every_direction_endpoint_and_generation_has_a_key(void **state)
{
    enum { KEYS = 7 };
    (void)state;
    udp_auth_t auth = derive_auth(job_key, UDP_AUTH_ENCRYPT, false);
    uint8_t keys[KEYS][UDP_SEAL_KEY_BYTES];
    udp_auth_seal_key(&auth, 1, 2, 0, keys[0]);
    udp_auth_seal_key(&auth, 2, 1, 0, keys[1]);
    udp_auth_seal_key(&auth, 1, 2, 1, keys[2]);
    udp_auth_seal_key(&auth, 1, 3, 0, keys[3]);
    udp_auth_seal_key(&auth, udp_ep_id(1, 5), 2, 0, keys[4]);
    udp_auth_seal_key(&auth, 1, udp_ep_id(2, 5), 0, keys[5]);
    udp_auth_seal_key(&auth, udp_ep_id(1, 5), udp_ep_id(2, 5), 0, keys[6]);
    for (unsigned i = 0; i < KEYS; i++)
        for (unsigned k = 0; k < i; k++)
            assert_memory_not_equal(keys[i], keys[k], UDP_SEAL_KEY_BYTES);
}

// ---- checksum ----

static void a_checksum_covers_fields_and_frames(void **state)
{
    (void)state;
    udp_auth_t auth = derive_auth(job_key, UDP_AUTH_OFF, true);
    sign_datagram(&auth);
    assert_int_equal(count_refused(&auth, UDP_PROOF_BYTES, length), ALL(UDP_PROOF_BYTES, length));
}

static void stronger_modes_need_no_checksum(void **state)
{
    (void)state;
    for (udp_auth_mode_t mode = UDP_AUTH_OFF; mode <= UDP_AUTH_ENCRYPT; mode++) {
        udp_auth_t with = derive_auth(job_key, mode, true),
                   without = derive_auth(job_key, mode, false);
        assert_int_equal(with.checksum, mode < UDP_AUTH_FULL);
        assert_false(without.checksum);
        assert_true(udp_auth_intact(&without, &header, datagram));
    }
}

// ---- settings ----

static const struct {
    const char *auth, *checksum;
    bool loopback;
    udp_auth_mode_t mode;
    bool has_checksum;
} choices[] = {
    {"", "", true, UDP_AUTH_TOKEN, false},           {"", "", false, UDP_AUTH_ENCRYPT, false},
    {"auto", "yes", true, UDP_AUTH_TOKEN, true},     {"encrypt", "", true, UDP_AUTH_ENCRYPT, false},
    {"header", "yes", true, UDP_AUTH_HEADER, true},  {"HEADER", "", false, UDP_AUTH_HEADER, true},
    {"header", "no", false, UDP_AUTH_HEADER, false}, {"token", "", false, UDP_AUTH_TOKEN, true},
    {"off", "auto", false, UDP_AUTH_OFF, true},      {"off", "auto", true, UDP_AUTH_OFF, false},
    {"full", "yes", false, UDP_AUTH_FULL, false},
};

static void settings_choose_mode_and_checksum(void **state)
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
    assert_non_null(strstr(
        fault, "GASNET_UDP_AUTH: 'maybe' is not one of auto, encrypt, full, header, token, off"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(full_refuses_every_altered_bit, set_up),
        cmocka_unit_test_setup(header_refuses_altered_headers_and_fronts, set_up),
        cmocka_unit_test_setup(header_refuses_other_frames_behind_a_genuine_header, set_up),
        cmocka_unit_test_setup(header_refuses_fronts_of_another_datagram, set_up),
        cmocka_unit_test_setup(header_needs_the_fronts_only, set_up),
        cmocka_unit_test_setup(token_refuses_what_lacks_it, set_up),
        cmocka_unit_test_setup(off_proves_nothing, set_up),
        cmocka_unit_test_setup(another_job_or_mode_is_refused, set_up),
        cmocka_unit_test_setup(pieces_do_not_matter, set_up),
        cmocka_unit_test_setup(keys_follow_from_the_job, set_up),
        cmocka_unit_test_setup(every_direction_endpoint_and_generation_has_a_key, set_up),
        cmocka_unit_test_setup(a_checksum_covers_fields_and_frames, set_up),
        cmocka_unit_test_setup(stronger_modes_need_no_checksum, set_up),
        cmocka_unit_test_setup(settings_choose_mode_and_checksum, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
