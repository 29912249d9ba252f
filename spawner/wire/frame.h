// SPDX-License-Identifier: BSD-3-Clause
// Frames: the unit of communication between launcher and helpers over a byte stream.
//
//   | type (1) | 0 (3) | length (4) | payload (length) |      numbers are big-endian
//
// Always true: a view never reads past its end. Once a value does not fit, the view stays bad and
// every further value is 0 or empty. A buffer that ran out of memory stays failed, and its contents
// are not sent.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AQ_FRAME_HEADER 8u
#define AQ_FRAME_MAX ((size_t)256 << 20) // payload

// ---- writing ----

typedef struct aq_bytes {
    uint8_t *data;
    size_t used, room;
    bool failed;
} aq_bytes_t;

void aq_bytes_free(aq_bytes_t *bytes);
// Appends length bytes for the caller to fill in. NULL: no memory, or length is 0.
uint8_t *aq_put_room(aq_bytes_t *bytes, size_t length);
void aq_put_raw(aq_bytes_t *bytes, const void *data, size_t length);
void aq_put_u8(aq_bytes_t *bytes, unsigned value);
void aq_put_u32(aq_bytes_t *bytes, uint32_t value);
void aq_put_u64(aq_bytes_t *bytes, uint64_t value);
// Appends the length, then the bytes.
void aq_put_blob(aq_bytes_t *bytes, const void *data, size_t length);
// Appends a blob that includes the NUL of the text.
void aq_put_text(aq_bytes_t *bytes, const char *text);

// Begins a frame at the end of bytes and returns its offset. Everything put before the end is its
// payload.
size_t aq_frame_begin(aq_bytes_t *bytes, unsigned type);
void aq_frame_end(aq_bytes_t *bytes, size_t begin);

// ---- reading ----

typedef struct aq_view {
    const uint8_t *at;
    size_t left;
    bool bad;
} aq_view_t;

// Returns length bytes in place; NULL: fewer are left.
const uint8_t *aq_get_raw(aq_view_t *view, size_t length);
// Copies length bytes. False: fewer are left, and nothing is copied.
bool aq_get_bytes(aq_view_t *view, uint8_t *to, size_t length);
unsigned aq_get_u8(aq_view_t *view);
uint32_t aq_get_u32(aq_view_t *view);
uint64_t aq_get_u64(aq_view_t *view);
const uint8_t *aq_get_blob(aq_view_t *view, size_t *length); // in place; NULL: bad
const char *aq_get_text(aq_view_t *view);                    // in place; never NULL, "" when bad
// Whether everything was read and nothing was bad.
bool aq_view_done(const aq_view_t *view);

typedef struct aq_frame {
    unsigned type;
    aq_view_t payload;
    size_t bytes; // including the header
} aq_frame_t;

typedef enum aq_framing { AQ_FRAME_PART, AQ_FRAME_WHOLE, AQ_FRAME_BAD } aq_framing_t;

// Reads the frame at the beginning of data. PART: more bytes are needed. BAD: no frame, or a
// payload of more than most bytes.
aq_framing_t aq_frame_read(const uint8_t *data, size_t used, size_t most, aq_frame_t *out);

// Appends an unchanged frame.
void aq_frame_copy(aq_bytes_t *bytes, const aq_frame_t *frame);
