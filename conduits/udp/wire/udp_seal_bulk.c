// SPDX-License-Identifier: BSD-3-Clause
// Loads libcrypto at run time, and encrypts and decrypts with it; udp_seal.c calls it for long
// texts.
#include "udp_seal_bulk.h"

#include "config.h"

#ifdef AQ_HAVE_OPENSSL

#include <dlfcn.h>
#include <openssl/evp.h>
#include <stdio.h>

// The functions of libcrypto in use, with the types that its headers declare.
static struct {
    void *library;
    __typeof__(OpenSSL_version) *version;
    __typeof__(EVP_CIPHER_fetch) *cipher_fetch;
    __typeof__(EVP_CIPHER_CTX_new) *context_new;
    __typeof__(EVP_CIPHER_CTX_free) *context_free;
    __typeof__(EVP_CIPHER_CTX_ctrl) *control;
    __typeof__(EVP_CipherInit_ex) *init;
    __typeof__(EVP_CipherUpdate) *update;
    __typeof__(EVP_CipherFinal_ex) *final;
    EVP_CIPHER *cipher[2]; // ChaCha20-Poly1305, AES-256-GCM
} crypto;

static void *symbol_find(const char *name, bool *whole)
{
    void *found = dlsym(crypto.library, name);
    *whole = *whole && found;
    return found;
}

static bool symbols_load(void)
{
    bool whole = true;
    *(void **)&crypto.version = symbol_find("OpenSSL_version", &whole);
    *(void **)&crypto.cipher_fetch = symbol_find("EVP_CIPHER_fetch", &whole);
    *(void **)&crypto.context_new = symbol_find("EVP_CIPHER_CTX_new", &whole);
    *(void **)&crypto.context_free = symbol_find("EVP_CIPHER_CTX_free", &whole);
    *(void **)&crypto.control = symbol_find("EVP_CIPHER_CTX_ctrl", &whole);
    *(void **)&crypto.init = symbol_find("EVP_CipherInit_ex", &whole);
    *(void **)&crypto.update = symbol_find("EVP_CipherUpdate", &whole);
    *(void **)&crypto.final = symbol_find("EVP_CipherFinal_ex", &whole);
    return whole;
}

bool udp_bulk_load(void)
{
    char file[32]; // of the version whose headers this file was compiled with
    if (crypto.library)
        return true;
    snprintf(file, sizeof file, "libcrypto.so.%d", OPENSSL_SHLIB_VERSION);
    crypto.library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!crypto.library)
        return false;
    if (symbols_load()) {
        crypto.cipher[0] = crypto.cipher_fetch(NULL, "ChaCha20-Poly1305", NULL);
        crypto.cipher[1] = crypto.cipher_fetch(NULL, "AES-256-GCM", NULL);
        if (crypto.cipher[0] && crypto.cipher[1])
            return true;
    }
    dlclose(crypto.library);
    crypto.library = NULL;
    return false;
}

const char *udp_bulk_name(void)
{
    return crypto.library ? crypto.version(OPENSSL_VERSION) : NULL;
}

void *udp_bulk_new(bool aes, const uint8_t key[32], bool encrypt)
{
    EVP_CIPHER_CTX *context = crypto.library ? crypto.context_new() : NULL;
    if (!context)
        return NULL;
    if (crypto.init(context, crypto.cipher[aes], NULL, key, NULL, encrypt) == 1)
        return context;
    crypto.context_free(context);
    return NULL;
}

void udp_bulk_free(void *context)
{
    if (context)
        crypto.context_free(context);
}

// Passes -1, so that the context keeps the direction with which it was created.
static bool text_begin(void *context, const uint8_t *nonce, struct iovec fields)
{
    int length;
    return crypto.init(context, NULL, NULL, NULL, nonce, -1) == 1 &&
           crypto.update(context, NULL, &length, fields.iov_base, (int)fields.iov_len) == 1;
}

bool udp_bulk_encrypt(void *context, const uint8_t nonce[UDP_BULK_NONCE_BYTES], struct iovec fields,
                      const struct iovec *pieces, unsigned count, uint8_t *out)
{
    int length;
    if (!text_begin(context, nonce, fields))
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (crypto.update(context, out, &length, pieces[i].iov_base, (int)pieces[i].iov_len) != 1)
            return false;
        out += length;
    }
    return crypto.final(context, out, &length) == 1;
}

bool udp_bulk_tag(void *context, uint8_t tag[UDP_BULK_TAG_BYTES])
{
    return crypto.control(context, EVP_CTRL_AEAD_GET_TAG, UDP_BULK_TAG_BYTES, tag) == 1;
}

bool udp_bulk_decrypt(void *context, const uint8_t nonce[UDP_BULK_NONCE_BYTES], struct iovec fields,
                      struct iovec text, const uint8_t tag[UDP_BULK_TAG_BYTES])
{
    int length;
    return text_begin(context, nonce, fields) &&
           crypto.update(context, text.iov_base, &length, text.iov_base, (int)text.iov_len) == 1 &&
           crypto.control(context, EVP_CTRL_AEAD_SET_TAG, UDP_BULK_TAG_BYTES,
                          (void *)(uintptr_t)tag) == 1 &&
           crypto.final(context, (uint8_t *)text.iov_base + length, &length) == 1;
}

#else // configured without OpenSSL

bool udp_bulk_load(void)
{
    return false;
}

const char *udp_bulk_name(void)
{
    return NULL;
}

void *udp_bulk_new(bool aes, const uint8_t key[32], bool encrypt)
{
    (void)aes, (void)key, (void)encrypt;
    return NULL;
}

void udp_bulk_free(void *context)
{
    (void)context;
}

bool udp_bulk_encrypt(void *context, const uint8_t nonce[UDP_BULK_NONCE_BYTES], struct iovec fields,
                      const struct iovec *pieces, unsigned count, uint8_t *out)
{
    (void)context, (void)nonce, (void)fields, (void)pieces, (void)count, (void)out;
    return false;
}

bool udp_bulk_tag(void *context, uint8_t tag[UDP_BULK_TAG_BYTES])
{
    (void)context, (void)tag;
    return false;
}

bool udp_bulk_decrypt(void *context, const uint8_t nonce[UDP_BULK_NONCE_BYTES], struct iovec fields,
                      struct iovec text, const uint8_t tag[UDP_BULK_TAG_BYTES])
{
    (void)context, (void)nonce, (void)fields, (void)text, (void)tag;
    return false;
}

#endif
