// SPDX-License-Identifier: BSD-3-Clause
// raw_seal [BYTES]: the rate at which one core seals data in a loop, by AES-256-GCM over BYTES
// (65,448 by default, a long datagram of conduit udp), with libsodium and with OpenSSL. Prints a
// line "NAME GB/s" for each, the best of 9 rounds. This is the limit for GASNET_UDP_AUTH=encrypt.
//
//     cc -O2 raw_seal.c -lsodium -lcrypto -o raw_seal
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <openssl/evp.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 1 << 20, ROUNDS = 9 };

static uint8_t plain[MOST], sealed[MOST + 16], key[32], nonce[12], tag[16], fields[40];
static EVP_CIPHER_CTX *context;
static crypto_aead_aes256gcm_state *state;

static double clock_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void by_sodium(size_t bytes)
{
    crypto_aead_aes256gcm_encrypt_detached_afternm(sealed, tag, NULL, plain, bytes, fields,
                                                   sizeof fields, NULL, nonce, state);
}

static void by_openssl(size_t bytes)
{
    int length;
    EVP_EncryptInit_ex(context, NULL, NULL, NULL, nonce);
    EVP_EncryptUpdate(context, NULL, &length, fields, sizeof fields);
    EVP_EncryptUpdate(context, sealed, &length, plain, (int)bytes);
    EVP_EncryptFinal_ex(context, sealed + length, &length);
    EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, sizeof tag, tag);
}

static void measure_seal(const char *name, void (*seal)(size_t), size_t bytes)
{
    const size_t calls = ((size_t)64 << 20) / bytes + 1;
    double best = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const double begin = clock_now();
        for (size_t i = 0; i < calls; i++) {
            nonce[i % 8]++;
            seal(bytes);
        }
        const double rate = (double)(calls * bytes) / (clock_now() - begin) / 1e9;
        best = rate > best ? rate : best;
    }
    printf("%s %.2f\n", name, best);
}

int main(int argc, char **argv)
{
    const size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 65448;
    if (bytes < 1 || bytes > MOST) {
        fprintf(stderr, "raw_seal: BYTES must be a number from 1 to %d\n", MOST);
        return 2;
    }
    state = aligned_alloc(_Alignof(crypto_aead_aes256gcm_state), sizeof *state);
    context = EVP_CIPHER_CTX_new();
    if (sodium_init() < 0 || !crypto_aead_aes256gcm_is_available() || !state || !context) {
        fprintf(stderr,
                "raw_seal: cannot start: libsodium needs a processor with AES instructions\n");
        return 1;
    }
    crypto_aead_aes256gcm_beforenm(state, key);
    EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), NULL, key, nonce);
    measure_seal("libsodium", by_sodium, bytes);
    measure_seal("openssl", by_openssl, bytes);
    return 0;
}
