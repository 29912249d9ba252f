// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of the records of combined messages of streams, which peers send.
//
// An input is a message. Invariants: a record is inside the message and behind the one before it;
// what is no record leaves the position as it was.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../messages/aqueduct_stream.h"
#include "fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void record_check(const gasnetx_stream_message_t *message,
                         const gasnetx_stream_message_t *record, size_t before, size_t after)
{
    const size_t offset = (size_t)((const uint8_t *)record->data - (const uint8_t *)message->data);
    require(offset > before && offset <= after && after <= message->nbytes);
    require(record->nbytes <= after - offset);
    require(bytes_sum(record->data, record->nbytes) <= 255 * record->nbytes);
}

static void records_read(const gasnetx_stream_message_t *message)
{
    size_t at = 0, before = 0;
    gasnetx_stream_message_t record;
    int error;
    while ((error = gasnetx_Stream_NextRecord(message, &at, &record)) == GASNET_OK) {
        record_check(message, &record, before, at);
        before = at;
    }
    require(at == before);
    require((error == GASNET_ERR_NOT_READY) == (at == message->nbytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + !size);
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    const gasnetx_stream_message_t message = {
        .data = copy, .nbytes = size, .flags = GASNETX_STREAM_COMBINED};
    records_read(&message);
    free(copy);
    return 0;
}
