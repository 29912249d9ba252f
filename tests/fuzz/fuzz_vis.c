// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of the packed messages of non-contiguous transfers.
//
// An input is the number of runs (4 bytes), then the message; addresses are offsets into a segment
// of the fuzzer. Invariants: a message that passes the check accesses only the segment and its own
// data, and is as long as the check says.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../extended/vis/vis_pack.h"
#include "fuzz_check.h"

enum { SEGMENT = 4096, LIMIT = 8192 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Replaces the offsets of all complete runs by addresses.
static void relocate_runs(char *message, size_t size, const char *segment)
{
    for (size_t at = 0; size - at >= sizeof(aq_vis_run_t); at += sizeof(aq_vis_run_t)) {
        aq_vis_run_t run;
        memcpy(&run, message + at, sizeof run);
        run.addr += (uintptr_t)segment;
        memcpy(message + at, &run, sizeof run);
    }
}

static void copy_runs(const char *runs, uint32_t count, size_t nbytes)
{
    char *data = calloc(nbytes + 1, 1);
    if (!data)
        return;
    aq_vis_repack(runs, count, data);
    aq_vis_unpack(runs, count, data);
    free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t runs;
    if (size < sizeof runs)
        return 0;
    memcpy(&runs, data, sizeof runs);
    size -= sizeof runs;
    char *message = malloc(size + 1), *segment = calloc(SEGMENT, 1);
    if (message && segment) {
        size_t nbytes;
        memcpy(message, data + sizeof runs, size);
        relocate_runs(message, size, segment);
        const aq_vis_message_t packed = {message, size, runs};
        const char *wrong = aq_vis_pack_check(&packed, (uintptr_t)segment, SEGMENT, LIMIT, &nbytes);
        require(nbytes <= LIMIT);
        if (!wrong) {
            require(runs * sizeof(aq_vis_run_t) <= size);
            copy_runs(message, runs, nbytes);
        }
    }
    free(message);
    free(segment);
    return 0;
}
