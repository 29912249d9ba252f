// SPDX-License-Identifier: BSD-3-Clause
// The codec of frames. The codec works byte by byte, so byte order and alignment of the host do not
// matter.
#include "frame.h"

#include <stdlib.h>
#include <string.h>

void aq_bytes_free(aq_bytes_t *bytes)
{
    free(bytes->data);
    *bytes = (aq_bytes_t){0};
}

static bool make_room(aq_bytes_t *bytes, size_t length)
{
    if (bytes->failed || length > AQ_FRAME_MAX || bytes->used + length > 2 * AQ_FRAME_MAX) {
        bytes->failed = true;
        return false;
    }
    if (bytes->used + length <= bytes->room)
        return true;
    size_t size = 2 * (bytes->used + length) + 64;
    uint8_t *data = realloc(bytes->data, size);
    if (data == NULL) {
        bytes->failed = true;
        return false;
    }
    bytes->data = data;
    bytes->room = size;
    return true;
}

uint8_t *aq_put_room(aq_bytes_t *bytes, size_t length)
{
    if (length == 0 || !make_room(bytes, length))
        return NULL;
    bytes->used += length;
    return bytes->data + bytes->used - length;
}

void aq_put_raw(aq_bytes_t *bytes, const void *data, size_t length)
{
    uint8_t *room = aq_put_room(bytes, length);
    if (room != NULL)
        memcpy(room, data, length);
}

void aq_put_u8(aq_bytes_t *bytes, unsigned value)
{
    const uint8_t byte = (uint8_t)value;
    aq_put_raw(bytes, &byte, 1);
}

static void store_u32(uint8_t *to, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (24 - 8 * i));
}

static uint32_t load_u32(const uint8_t *from)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < 4; i++)
        value = value << 8 | from[i];
    return value;
}

void aq_put_u32(aq_bytes_t *bytes, uint32_t value)
{
    uint8_t four[4];
    store_u32(four, value);
    aq_put_raw(bytes, four, sizeof four);
}

void aq_put_u64(aq_bytes_t *bytes, uint64_t value)
{
    aq_put_u32(bytes, (uint32_t)(value >> 32));
    aq_put_u32(bytes, (uint32_t)value);
}

void aq_put_blob(aq_bytes_t *bytes, const void *data, size_t length)
{
    aq_put_u32(bytes, (uint32_t)length);
    aq_put_raw(bytes, data, length);
}

void aq_put_text(aq_bytes_t *bytes, const char *text)
{
    aq_put_blob(bytes, text, strlen(text) + 1);
}

size_t aq_frame_begin(aq_bytes_t *bytes, unsigned type)
{
    size_t begin = bytes->used;
    aq_put_u32(bytes, (uint32_t)type << 24);
    aq_put_u32(bytes, 0);
    return begin;
}

void aq_frame_end(aq_bytes_t *bytes, size_t begin)
{
    if (bytes->failed)
        return;
    size_t length = bytes->used - begin - AQ_FRAME_HEADER;
    if (length > AQ_FRAME_MAX)
        bytes->failed = true;
    else
        store_u32(bytes->data + begin + 4, (uint32_t)length);
}

// ---- reading ----

const uint8_t *aq_get_raw(aq_view_t *view, size_t length)
{
    if (view->bad || length > view->left) {
        view->bad = true;
        return NULL;
    }
    const uint8_t *at = view->at;
    view->at += length;
    view->left -= length;
    return at;
}

bool aq_get_bytes(aq_view_t *view, uint8_t *to, size_t length)
{
    const uint8_t *at = aq_get_raw(view, length);
    if (at != NULL)
        memcpy(to, at, length);
    return at != NULL;
}

unsigned aq_get_u8(aq_view_t *view)
{
    const uint8_t *at = aq_get_raw(view, 1);
    return at != NULL ? *at : 0;
}

uint32_t aq_get_u32(aq_view_t *view)
{
    const uint8_t *at = aq_get_raw(view, 4);
    return at != NULL ? load_u32(at) : 0;
}

uint64_t aq_get_u64(aq_view_t *view)
{
    const uint64_t high = aq_get_u32(view);
    return high << 32 | aq_get_u32(view);
}

const uint8_t *aq_get_blob(aq_view_t *view, size_t *length)
{
    *length = aq_get_u32(view);
    const uint8_t *at = aq_get_raw(view, *length);
    if (at == NULL)
        *length = 0;
    return at;
}

const char *aq_get_text(aq_view_t *view)
{
    size_t length;
    const uint8_t *at = aq_get_blob(view, &length);
    if (at != NULL && length > 0 && memchr(at, '\0', length) == at + length - 1)
        return (const char *)at;
    view->bad = true;
    return "";
}

bool aq_view_done(const aq_view_t *view)
{
    return !view->bad && view->left == 0;
}

aq_framing_t aq_frame_read(const uint8_t *data, size_t used, size_t most, aq_frame_t *out)
{
    if (used < AQ_FRAME_HEADER)
        return AQ_FRAME_PART;
    size_t length = load_u32(data + 4);
    if (data[1] != 0 || data[2] != 0 || data[3] != 0 || length > most)
        return AQ_FRAME_BAD;
    if (used - AQ_FRAME_HEADER < length)
        return AQ_FRAME_PART;
    *out = (aq_frame_t){.type = data[0],
                        .payload = {.at = data + AQ_FRAME_HEADER, .left = length},
                        .bytes = AQ_FRAME_HEADER + length};
    return AQ_FRAME_WHOLE;
}

void aq_frame_copy(aq_bytes_t *bytes, const aq_frame_t *frame)
{
    size_t begin = aq_frame_begin(bytes, frame->type);
    aq_put_raw(bytes, frame->payload.at, frame->payload.left);
    aq_frame_end(bytes, begin);
}
