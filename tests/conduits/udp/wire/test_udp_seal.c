// SPDX-License-Identifier: BSD-3-Clause
// Encrypted datagrams: an intact datagram is accepted. A datagram that is altered, replaced, or of
// another pair, direction, packet or generation is refused. libsodium and OpenSSL compute the same.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../../conduits/udp/wire/udp_seal.h"

enum { HEAD = UDP_HEADER_MIN, MOST = 65504 - HEAD };

static const uint8_t job_key[AQ_KEY_BYTES] = {'0', '1', '2', '3', '4', '5', '6', '7',
                                              '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
static udp_auth_t auth;
static udp_seal_t sealing, opening;
static uint8_t plain[MOST], datagram[HEAD + MOST];

static void start_seals(udp_cipher_t cipher)
{
    assert_int_equal(udp_auth_derive(&auth, job_key, UDP_AUTH_ENCRYPT, false), AQ_OK);
    udp_seal_start(&sealing, &auth, cipher, 1, 2);
    udp_seal_start(&opening, &auth, cipher, 1, 2);
    for (unsigned i = 0; i < MOST; i++)
        plain[i] = (uint8_t)(i * 31 + i / 256);
}

static void stop_seals(void)
{
    udp_seal_stop(&sealing);
    udp_seal_stop(&opening);
}

// Returns how many of the two ciphers this processor supports.
static unsigned count_ciphers(void)
{
    return udp_seal_has_aes() ? 2 : 1;
}

static void close_datagram(uint64_t packet, size_t length)
{
    const struct iovec frames = {plain, length};
    memset(datagram, 0x5a, HEAD);
    assert_true(udp_seal_close(&sealing, packet, datagram, HEAD, &frames, length > 0));
}

static bool opens_exactly(udp_seal_t *seal, uint64_t packet, size_t length)
{
    uint8_t *exact = malloc(HEAD + length); // a sanitizer detects any read behind it
    assert_non_null(exact);
    memcpy(exact, datagram, HEAD + length);
    bool genuine = udp_seal_open(seal, packet, exact, HEAD, HEAD + length);
    if (genuine)
        assert_memory_equal(exact + HEAD, plain, length);
    free(exact);
    return genuine;
}

static const size_t lengths[] = {0, 1, 16, 24, 100, 504, 511, 512, 513, 1400, 9000, MOST};

static void for_each_length(void (*check)(uint64_t packet, size_t length))
{
    uint64_t packet = 0;
    for (unsigned cipher = 0; cipher < count_ciphers(); cipher++) {
        start_seals(cipher ? UDP_CIPHER_AES : UDP_CIPHER_CHACHA20);
        for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
            check(packet++, lengths[i]);
        stop_seals();
    }
}

static void check_opens(uint64_t packet, size_t length)
{
    close_datagram(packet, length);
    if (length >= 16)
        assert_memory_not_equal(datagram + HEAD, plain, 16);
    assert_true(opens_exactly(&opening, packet, length));
    assert_true(opens_exactly(&opening, packet, length)); // replays are recognized elsewhere
}

static void a_sealed_datagram_opens(void **unused)
{
    (void)unused;
    for_each_length(check_opens);
}

// Flips bits one at a time, spread over the tag, the fields and the text: in short datagrams every
// bit.
static void check_alterations(uint64_t packet, size_t length)
{
    const size_t bits = (HEAD + length) * 8, step = bits / 1500 + 1;
    close_datagram(packet, length);
    for (size_t bit = 0; bit < bits; bit += step) {
        datagram[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(opens_exactly(&opening, packet, length));
        datagram[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(opens_exactly(&opening, packet, length));
    assert_false(opens_exactly(&opening, packet + 1, length));
    if (length)
        assert_false(opens_exactly(&opening, packet, length - 1));
}

static void an_altered_datagram_does_not_open(void **unused)
{
    (void)unused;
    for_each_length(check_alterations);
}

static void other_pairs_and_directions_do_not_open(void **unused)
{
    (void)unused;
    static const uint32_t others[][2] = {{2, 1}, {1, 3}, {3, 2}, {1, 1}};
    start_seals(UDP_CIPHER_CHACHA20);
    close_datagram(0, 100);
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        udp_seal_t other;
        udp_seal_start(&other, &auth, UDP_CIPHER_CHACHA20, others[i][0], others[i][1]);
        assert_false(opens_exactly(&other, 0, 100));
        assert_null(other.key[0]); // a forgery leaves no key behind
        udp_seal_stop(&other);
    }
    stop_seals();
}

// Around a change of keys, datagrams of both generations arrive in any order.
static void keys_change_in_time(void **unused)
{
    (void)unused;
    static uint8_t kept[4][HEAD + 100];
    const uint64_t first = UDP_SEAL_PACKETS - 2;
    start_seals(UDP_CIPHER_CHACHA20);
    for (unsigned i = 0; i < 4; i++) {
        close_datagram(first + i, 100);
        memcpy(kept[i], datagram, sizeof kept[i]);
    }
    assert_int_equal(sealing.newest, 1);
    static const unsigned order[] = {0, 2, 1, 3, 0};
    for (unsigned i = 0; i < 5; i++) {
        memcpy(datagram, kept[order[i]], sizeof kept[0]);
        assert_true(opens_exactly(&opening, first + order[i], 100));
    }
    // A number far ahead derives no key; the generation before the last one has expired.
    close_datagram(2 * UDP_SEAL_PACKETS, 100);
    assert_true(opens_exactly(&opening, 2 * UDP_SEAL_PACKETS, 100));
    assert_false(opens_exactly(&opening, 4 * UDP_SEAL_PACKETS, 100));
    memcpy(datagram, kept[0], sizeof kept[0]);
    assert_false(opens_exactly(&opening, first, 100));
    assert_int_equal(opening.newest, 2);
    stop_seals();
}

// What one library encrypts, the other one decrypts.
static void both_libraries_compute_the_same(void **unused)
{
    (void)unused;
    static uint8_t by_sodium[sizeof lengths / sizeof lengths[0]][HEAD + MOST];
    for (unsigned cipher = 0; cipher < count_ciphers(); cipher++) {
        start_seals(cipher ? UDP_CIPHER_AES : UDP_CIPHER_CHACHA20);
        for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            close_datagram(i, lengths[i]);
            memcpy(by_sodium[i], datagram, HEAD + lengths[i]);
        }
        stop_seals();
        udp_seal_use_bulk();
        print_message("long texts by %s\n", udp_seal_bulk_name());
        start_seals(cipher ? UDP_CIPHER_AES : UDP_CIPHER_CHACHA20);
        for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            close_datagram(i, lengths[i]);
            assert_memory_equal(by_sodium[i], datagram, HEAD + lengths[i]);
            assert_true(opens_exactly(&opening, i, lengths[i]));
        }
        stop_seals();
    }
}

static void pieces_do_not_matter(void **unused)
{
    (void)unused;
    static uint8_t whole[HEAD + 2000];
    start_seals(UDP_CIPHER_CHACHA20);
    for (size_t length = 100; length <= 2000; length += 1900) {
        close_datagram(7, length);
        memcpy(whole, datagram, HEAD + length);
        for (size_t cut = 0; cut <= length; cut += 33) {
            const struct iovec pieces[] = {{plain, cut}, {plain + cut, length - cut}};
            memset(datagram, 0x5a, HEAD);
            assert_true(udp_seal_close(&sealing, 7, datagram, HEAD, pieces, 2));
            assert_memory_equal(datagram, whole, HEAD + length);
        }
    }
    stop_seals();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        // libsodium works alone until the third test lets OpenSSL help
        cmocka_unit_test(a_sealed_datagram_opens),
        cmocka_unit_test(an_altered_datagram_does_not_open),
        cmocka_unit_test(both_libraries_compute_the_same),
        cmocka_unit_test(a_sealed_datagram_opens),
        cmocka_unit_test(an_altered_datagram_does_not_open),
        cmocka_unit_test(other_pairs_and_directions_do_not_open),
        cmocka_unit_test(keys_change_in_time),
        cmocka_unit_test(pieces_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
