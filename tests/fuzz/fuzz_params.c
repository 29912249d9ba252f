// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of descriptions of parameter blocks, which also arrive from peers.
//
// An input is one or two descriptions, with a 0 between them. Invariants: a struct has at most
// GASNETX_PARAMS_MAX bytes; a description is the same as itself, and the same in both directions;
// the same members have the same size.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../messages/two_sided/params.h"
#include "fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_pair(const char *types, const char *others)
{
    size_t bytes = 0, others_bytes = 0;
    const bool valid = aq_params_size(types, &bytes), both = aq_params_size(others, &others_bytes);
    require(!valid || (bytes <= GASNETX_PARAMS_MAX && aq_params_same(types, types)));
    const bool same = aq_params_same(types, others);
    require(same == aq_params_same(others, types));
    require(!valid || !both || !same || bytes == others_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = calloc(size + 2, 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    fuzz_pair(text, text + strlen(text) + 1);
    free(text);
    return 0;
}
