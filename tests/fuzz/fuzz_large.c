// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of headers of large messages, which peers send.
//
// An input is the payload of a header. Invariants: the types of a header that is right describe its
// parameters; parameters and data are inside the payload and end with it; the data are as long as
// the header says.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/state/job.h"
#include "../../messages/large/large_header.h"
#include "../../messages/two_sided/params.h"
#include "fuzz_check.h"

enum {
    MEDIUM = 4096, // bytes of the longest Medium, as of an input
    BEFORE_TYPES = sizeof(aq_msg_head_t) + sizeof(uint64_t)
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void header_check(const aq_large_header_t *header, const uint8_t *payload, size_t size)
{
    const size_t nbytes = header->params_bytes + header->data_bytes;
    size_t described = 0;
    require(strnlen(header->types, sizeof header->types) < sizeof header->types);
    require(aq_params_size(header->types, &described) && described == header->params_bytes);
    require(header->params_bytes <= GASNETX_PARAMS_MAX && header->data_bytes < MEDIUM);
    require(header->params == payload + BEFORE_TYPES + strlen(header->types));
    require(header->params + nbytes == payload + size);
    require(header->data_bytes == (header->head.cookie ? 0 : header->head.nbytes));
    require(bytes_sum(header->params, nbytes) <= 255 * nbytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    aq_large_header_t header = {0};
    uint8_t *payload = malloc(size + !size);
    if (!payload)
        return 0;
    if (size)
        memcpy(payload, data, size);
    aq_job.limits.medium = MEDIUM;
    if (!aq_large_header_read(payload, size, &header))
        header_check(&header, payload, size);
    free(payload);
    return 0;
}
