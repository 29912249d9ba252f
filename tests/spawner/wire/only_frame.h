// SPDX-License-Identifier: BSD-3-Clause
// The one frame that was written, for tests of messages; after the headers of cmocka.
#ifndef AQ_TEST_ONLY_FRAME_H
#define AQ_TEST_ONLY_FRAME_H

#include "../../../spawner/wire/frame.h"

// Fails unless the bytes are one whole frame of that type.
static inline aq_frame_t only_frame(const aq_bytes_t *bytes, unsigned type)
{
    aq_frame_t frame;
    assert_false(bytes->failed);
    assert_int_equal(aq_frame_read(bytes->data, bytes->used, AQ_FRAME_MAX, &frame), AQ_FRAME_WHOLE);
    assert_int_equal(frame.bytes, bytes->used);
    assert_int_equal(frame.type, type);
    return frame;
}

#endif
