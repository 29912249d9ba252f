// SPDX-License-Identifier: BSD-3-Clause
// Formatting of constants and of descriptors of memory.
#include <string.h>

#include "../../unit/unit_test.h"

#include "../../../core/endpoint/team.h"
#include "../../../extended/rma/format.h"
#include "../../unit/assert_between.h"

static void assert_text(size_t (*format)(char *, uint32_t), uint32_t bits, const char *text)
{
    char buf[AQ_OP_NAMES_BYTES + 1];
    memset(buf, '!', sizeof buf);
    assert_int_equal(format(NULL, bits), strlen(text) + 1);
    assert_int_equal(format(buf, bits), strlen(text) + 1);
    assert_string_equal(buf, text);
    assert_int_equal(buf[strlen(text) + 1], '!');
}

static void test_bits(void **state)
{
    (void)state;
    assert_text(gasnett_format_op, GEX_OP_AND, "GEX_OP_AND");
    assert_text(gasnett_format_op, GEX_OP_GET, "GEX_OP_GET");
    assert_text(gasnett_format_op, GEX_OP_CAS | GEX_OP_FCAS | GEX_OP_FAND,
                "GEX_OP_CAS|GEX_OP_FAND|GEX_OP_FCAS");
    assert_text(gasnett_format_op, 0, "0");
    assert_text(gasnett_format_op, GEX_OP_SWAP | 1u << 12 | 1u << 29, "GEX_OP_SWAP|0x20001000");
    assert_text(gasnett_format_dt, GEX_DT_I32 | GEX_DT_USER, "GEX_DT_I32|GEX_DT_USER");
    assert_text(gasnett_format_ti, GEX_TI_ALL,
                "GEX_TI_SRCRANK|GEX_TI_ENTRY|GEX_TI_IS_REQ|GEX_TI_IS_LONG|GEX_TI_EP");
    assert_text(gasnett_format_ti, GEX_TI_SRCRANK, "GEX_TI_SRCRANK");
}

static void test_all_bits(void **state)
{
    (void)state;
    char text[AQ_OP_NAMES_BYTES];
    assert_between(gasnett_format_op(NULL, UINT32_MAX), 1, sizeof text);
    assert_non_null(strstr(aq_op_names(UINT32_MAX, text), "|GEX_OP_USER_NC|0x30007000"));
}

static void test_one_type(void **state)
{
    (void)state;
    assert_string_equal(aq_dt_name(GEX_DT_I32), "GEX_DT_I32");
    assert_string_equal(aq_dt_name(GEX_DT_USER), "GEX_DT_USER");
    assert_string_equal(aq_dt_name(3), "no data type");
}

// With the longest possible numbers, texts fit into buffers of the announced size.
static void test_descriptors(void **state)
{
    (void)state;
    enum { N = 40 };
    char buf[4096];
    void *last = (void *)UINTPTR_MAX;
    gex_Memvec_t pieces[N];
    void *addrs[N];
    size_t count[N];
    ptrdiff_t strides[N];
    aq_team_t team = {.head = {.size = UINT32_MAX}};
    for (unsigned i = 0; i < N; i++) {
        pieces[i] = (gex_Memvec_t){last, SIZE_MAX};
        addrs[i] = last;
        count[i] = SIZE_MAX;
        strides[i] = PTRDIFF_MIN;
    }
    for (size_t n = 0; n <= N; n += N) {
        gasnett_format_memveclist(buf, n, pieces);
        assert_true(strlen(buf) < gasnett_format_memveclist_bufsz(n));
        gasnett_format_addrlist(buf, n, addrs, SIZE_MAX);
        assert_true(strlen(buf) < gasnett_format_addrlist_bufsz(n));
        gasnett_format_putsgets(buf, NULL, &team.head, UINT32_MAX, last, strides, last, strides,
                                SIZE_MAX, count, n);
        assert_true(strlen(buf) < gasnett_format_putsgets_bufsz(n));
    }
}

static void test_descriptor_texts(void **state)
{
    (void)state;
    char buf[1024];
    const gex_Memvec_t pieces[] = {{(void *)0x10, 5}, {(void *)0x20, 6}};
    void *const addrs[] = {(void *)0x30, (void *)0x40};
    const size_t count[] = {3, 4};
    const ptrdiff_t there[] = {-8, 16}, here[] = {24, 0};
    aq_team_t team = {.head = {.size = 9}};
    assert_string_equal(gasnett_format_memveclist(buf, 1, pieces), "1 pieces: 0x10+5");
    assert_string_equal(gasnett_format_memveclist(buf, 2, pieces), "2 pieces: 0x10+5 0x20+6");
    assert_string_equal(gasnett_format_addrlist(buf, 2, addrs, 7),
                        "2 pieces of 7 bytes: 0x30 0x40");
    assert_string_equal(gasnett_format_putsgets(buf, NULL, &team.head, 5, (void *)0x50, there,
                                                (void *)0x60, here, 8, count, 2),
                        "rank 5 of 9, elements of 8 bytes, counts 3 4, "
                        "destination 0x50 strides -8 16, source 0x60 strides 24 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_all_bits),
        cmocka_unit_test(test_one_type),
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_descriptor_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
