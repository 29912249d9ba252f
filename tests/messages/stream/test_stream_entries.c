// SPDX-License-Identifier: BSD-3-Clause
// The rounds of the handlers of a stream: how many messages each needs, and its limit in time.
#include "../../unit/unit_test.h"

#include "../../../messages/stream/stream_entries.h"

enum { CHILDREN = 3 };

static void ignore(gasnetx_Stream_t stream, const gasnetx_stream_message_t *messages, size_t count,
                   void *context)
{
    (void)stream, (void)messages, (void)count, (void)context;
}

// The round of a handler at a rank with three children.
static aq_round_t round_of(uint32_t children, unsigned flags, uint64_t limit_us)
{
    const gasnetx_stream_entry_t entry = {.id = 5,
                                          .directions = GASNETX_UP,
                                          .flags = flags,
                                          .children = children,
                                          .limit_us = limit_us,
                                          .fn = ignore};
    struct gasnetx_stream stream = {.spec = {.entries = &entry, .entry_count = 1},
                                    .children = CHILDREN,
                                    .inbox = {.sources = CHILDREN + 1}};
    aq_stream_entries_make(&stream);
    const aq_stream_handler_t *handler = &stream.table[AQ_INBOX_UP].handlers[0];
    assert_int_equal(handler->entry.id, entry.id);
    const aq_round_t round = handler->round;
    aq_stream_entries_free(&stream);
    return round;
}

static void test_need(void **state)
{
    (void)state;
    assert_int_equal(round_of(1, 0, 0).need, 1);
    assert_int_equal(round_of(CHILDREN, 0, 0).need, CHILDREN);
    assert_int_equal(round_of(CHILDREN + 1, 0, 0).need, CHILDREN);
    assert_int_equal(round_of(CHILDREN + 1, GASNETX_STREAM_SELF, 0).need, CHILDREN + 1);
    assert_int_equal(round_of(GASNETX_ALL_CHILDREN, 0, 0).need, CHILDREN);
}

static void test_limit(void **state)
{
    (void)state;
    assert_int_equal(round_of(1, 0, 1).limit_ns, 1000);
    assert_int_equal(round_of(1, 0, 2500000).limit_ns, 2500000000);
    assert_int_equal(round_of(1, 0, 0).limit_ns, UINT64_MAX);
    assert_int_equal(round_of(1, 0, GASNETX_NO_LIMIT).limit_ns, UINT64_MAX);
    assert_int_equal(round_of(1, 0, UINT64_MAX / 2000 + 1).limit_ns, UINT64_MAX);
    assert_int_equal(round_of(1, 0, UINT64_MAX / 2000).limit_ns, UINT64_MAX / 2000 * 1000);
    assert_int_equal(round_of(1, 0, 1).deadline, AQ_NO_DEADLINE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_need),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
