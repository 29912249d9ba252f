// SPDX-License-Identifier: BSD-3-Clause
// The filters of the library, and the records of combined messages.
#include <string.h>

#include "stream_state.h"

// A record: this head, and the data, filled up to a multiple of 8 bytes.
typedef struct record_head {
    uint32_t source, nbytes;
} record_head_t;

static size_t record_bytes(size_t nbytes)
{
    return sizeof(record_head_t) + aq_stream_filled(nbytes);
}

// Appends bytes if they fit; counts them in any case.
static void output_append(gasnetx_stream_output_t *output, const void *bytes, size_t nbytes)
{
    if (nbytes && output->nbytes + nbytes <= output->capacity)
        memcpy((uint8_t *)output->data + output->nbytes, bytes, nbytes);
    output->nbytes += nbytes;
}

static void record_append(gasnetx_stream_output_t *output, const gasnetx_stream_message_t *message)
{
    static const uint8_t zeros[8];
    const record_head_t head = {message->source, (uint32_t)message->nbytes};
    output_append(output, &head, sizeof head);
    output_append(output, message->data, message->nbytes);
    output_append(output, zeros, aq_stream_filled(message->nbytes) - message->nbytes);
}

// If the output exceeds its capacity, the caller ends the job with a message.
int gasnetx_Stream_Combine(gasnetx_Stream_t stream, const gasnetx_stream_message_t *inputs,
                           size_t count, gasnetx_stream_output_t *output, void *context)
{
    (void)stream;
    (void)context;
    for (size_t i = 0; i < count; i++) {
        if (inputs[i].flags & GASNETX_STREAM_COMBINED)
            output_append(output, inputs[i].data, inputs[i].nbytes);
        else
            record_append(output, &inputs[i]);
    }
    output->flags |= GASNETX_STREAM_COMBINED;
    return 0;
}

int gasnetx_Stream_Forward(gasnetx_Stream_t stream, const gasnetx_stream_message_t *inputs,
                           size_t count, gasnetx_stream_output_t *output, void *context)
{
    (void)stream;
    (void)context;
    if (count)
        output_append(output, inputs[0].data, inputs[0].nbytes);
    return count == 0;
}

static int whole_message(const gasnetx_stream_message_t *message, size_t *at,
                         gasnetx_stream_message_t *record)
{
    if (*at)
        return GASNET_ERR_NOT_READY;
    *at = 1;
    *record = *message;
    return GASNET_OK;
}

int gasnetx_Stream_NextRecord(const gasnetx_stream_message_t *message, size_t *at,
                              gasnetx_stream_message_t *record)
{
    record_head_t head;
    if (!(message->flags & GASNETX_STREAM_COMBINED))
        return whole_message(message, at, record);
    if (*at >= message->nbytes)
        return GASNET_ERR_NOT_READY;
    if (message->nbytes - *at < sizeof head)
        return GASNET_ERR_BAD_ARG;
    memcpy(&head, (const uint8_t *)message->data + *at, sizeof head);
    if (record_bytes(head.nbytes) > message->nbytes - *at)
        return GASNET_ERR_BAD_ARG;
    *record = (gasnetx_stream_message_t){.source = head.source,
                                         .data = (const uint8_t *)message->data + *at + sizeof head,
                                         .nbytes = head.nbytes,
                                         .params = message->params,
                                         .params_bytes = message->params_bytes};
    *at += record_bytes(head.nbytes);
    return GASNET_OK;
}
