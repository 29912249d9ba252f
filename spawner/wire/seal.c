// SPDX-License-Identifier: BSD-3-Clause
// The sealed streams of a connection.
#include "seal.h"

#include <sodium.h>
#include <stdlib.h>

#define LENGTH_BYTES ((size_t)4)

_Static_assert(AQ_SEAL_HEADER == crypto_secretstream_xchacha20poly1305_HEADERBYTES,
               "the header is libsodium's");
_Static_assert(AQ_SEAL_TAG == crypto_secretstream_xchacha20poly1305_ABYTES, "so is the tag");
_Static_assert(AQ_SESSION_KEY_BYTES == crypto_secretstream_xchacha20poly1305_KEYBYTES,
               "a session key is one of secretstream");

struct aq_seal {
    uint8_t out_key[AQ_SESSION_KEY_BYTES], in_key[AQ_SESSION_KEY_BYTES];
    bool out_begun, in_begun; // the keys have become stream states
    bool in_failed;
    crypto_secretstream_xchacha20poly1305_state out, in;
};

aq_seal_t *aq_seal_new(const aq_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], bool is_caller)
{
    aq_seal_t *seal = calloc(1, sizeof *seal);
    if (seal == NULL)
        return NULL;
    aq_auth_session_key(auth, key, is_caller, seal->out_key);
    aq_auth_session_key(auth, key, !is_caller, seal->in_key);
    return seal;
}

void aq_seal_free(aq_seal_t *seal)
{
    if (seal == NULL)
        return;
    sodium_memzero(seal, sizeof *seal);
    free(seal);
}

// ---- out ----

static void seal_begin_out(aq_seal_t *seal, aq_bytes_t *wire)
{
    uint8_t *header = aq_put_room(wire, AQ_SEAL_HEADER);
    if (header == NULL)
        return;
    (void)crypto_secretstream_xchacha20poly1305_init_push(&seal->out, header, seal->out_key);
    sodium_memzero(seal->out_key, sizeof seal->out_key);
    seal->out_begun = true;
}

void aq_seal_record(aq_seal_t *seal, const uint8_t *plain, size_t length, aq_bytes_t *wire)
{
    if (!seal->out_begun)
        seal_begin_out(seal, wire);
    aq_put_u32(wire, (uint32_t)(length + AQ_SEAL_TAG));
    uint8_t *sealed = aq_put_room(wire, length + AQ_SEAL_TAG);
    if (sealed != NULL)
        (void)crypto_secretstream_xchacha20poly1305_push(&seal->out, sealed, NULL, plain, length,
                                                         NULL, 0, 0);
}

// ---- in ----

// Opens the record at the beginning of wire if it is complete; *used is then its length.
static bool seal_open_record(aq_seal_t *seal, const uint8_t *wire, size_t length, size_t *used,
                             aq_bytes_t *plain)
{
    aq_view_t view = {.at = wire, .left = length};
    *used = 0;
    if (length < LENGTH_BYTES)
        return true;
    size_t sealed = aq_get_u32(&view);
    if (sealed <= AQ_SEAL_TAG || sealed > AQ_SEAL_PLAIN_MAX + AQ_SEAL_TAG)
        return false;
    if (view.left < sealed)
        return true;
    size_t before = plain->used;
    uint8_t *opened = aq_put_room(plain, sealed - AQ_SEAL_TAG), tag;
    if (opened == NULL)
        return true; // plain has failed, and the caller sees that
    if (crypto_secretstream_xchacha20poly1305_pull(&seal->in, opened, NULL, &tag, view.at, sealed,
                                                   NULL, 0) != 0) {
        plain->used = before;
        return false;
    }
    *used = LENGTH_BYTES + sealed;
    return true;
}

static bool seal_begin_in(aq_seal_t *seal, const uint8_t *wire, size_t length, size_t *used)
{
    if (seal->in_begun || length < AQ_SEAL_HEADER)
        return true;
    *used = AQ_SEAL_HEADER;
    seal->in_begun = true;
    int error = crypto_secretstream_xchacha20poly1305_init_pull(&seal->in, wire, seal->in_key);
    sodium_memzero(seal->in_key, sizeof seal->in_key);
    return error == 0;
}

bool aq_seal_open(aq_seal_t *seal, const uint8_t *wire, size_t length, size_t *used,
                  aq_bytes_t *plain)
{
    size_t part = 0;
    *used = 0;
    if (seal->in_failed || !seal_begin_in(seal, wire, length, used)) {
        seal->in_failed = true;
        return false;
    }
    while (seal->in_begun) {
        if (!seal_open_record(seal, wire + *used, length - *used, &part, plain)) {
            seal->in_failed = true;
            return false;
        }
        if (part == 0)
            break;
        *used += part;
    }
    return true;
}
