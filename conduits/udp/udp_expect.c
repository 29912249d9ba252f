#include "udp_expect.h"

void udp_expect_after(udp_expect_t *expect, const uint8_t *header, size_t bytes)
{
    memcpy(expect->header, header, bytes);
    expect->bytes = (uint8_t)bytes;
    expect->hashed = false;
}

void udp_expect_hash(udp_expect_t *expect, const udp_auth_t *auth)
{
    if (expect->hashed || !expect->bytes || auth->mode != UDP_AUTH_HEADER)
        return;
    udp_header_advance(expect->header);
    udp_auth_sign(auth, expect->header + UDP_HASHED_AT, expect->bytes - (size_t)UDP_HASHED_AT, NULL,
                  0, expect->header);
    expect->hashed = true;
}
