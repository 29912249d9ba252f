/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts, gets and memsets of GASNet-1, and the ways to wait for them. */
#include "conform_gasnet1.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCKING, BULK, NB, NB_BULK, NBI, NBI_BULK, FORMS };
#define BIGGEST ((size_t)1 << 20)
#define GUARD 64

/* Waits by gasnet_try_syncnb, since other code tests gasnet_wait_syncnb. */
static void wait_by_try(gasnet_handle_t handle)
{
    while (gasnet_try_syncnb(handle) != GASNET_OK)
        ;
}

static void put_by(int form, gasnet_node_t to, void *dest, void *src, size_t n)
{
    switch (form) {
    case BLOCKING:
        gasnet_put(to, dest, src, n);
        break;
    case BULK:
        gasnet_put_bulk(to, dest, src, n);
        break;
    case NB:
        wait_by_try(gasnet_put_nb(to, dest, src, n));
        break;
    case NB_BULK:
        gasnet_wait_syncnb(gasnet_put_nb_bulk(to, dest, src, n));
        break;
    case NBI:
        gasnet_put_nbi(to, dest, src, n);
        gasnet_wait_syncnbi_puts();
        break;
    default:
        gasnet_put_nbi_bulk(to, dest, src, n);
        while (gasnet_try_syncnbi_puts() != GASNET_OK)
            ;
    }
}

static void get_by(int form, void *dest, gasnet_node_t from, void *src, size_t n)
{
    switch (form) {
    case BLOCKING:
        gasnet_get(dest, from, src, n);
        break;
    case BULK:
        gasnet_get_bulk(dest, from, src, n);
        break;
    case NB:
        wait_by_try(gasnet_get_nb(dest, from, src, n));
        break;
    case NB_BULK:
        gasnet_wait_syncnb(gasnet_get_nb_bulk(dest, from, src, n));
        break;
    case NBI:
        gasnet_get_nbi(dest, from, src, n);
        gasnet_wait_syncnbi_gets();
        break;
    default:
        gasnet_get_nbi_bulk(dest, from, src, n);
        while (gasnet_try_syncnbi_gets() != GASNET_OK)
            ;
    }
}

static void round_trip(gasnet_node_t to, size_t n, int form, unsigned char *out, unsigned char *in)
{
    unsigned char *dest = job.base[to] + CONFORM_INBOX + n % 16;
    const uint64_t key = conform_mix(job.rank, n, (uint64_t)form);

    conform_fill(out, n, key);
    put_by(form, to, dest, out, n);
    memset(in, 0x5a, n + GUARD);
    get_by((form + 1) % FORMS, in, to, dest, n);
    CHECK_FILL(in, n, key, "the bytes that were put and got");
    for (size_t i = n; i < n + GUARD; i++)
        CHECK(in[i] == 0x5a, "a get of %zu bytes wrote byte %zu", n, i);
}

static void test_rma(void)
{
    unsigned char *out = conform_alloc(BIGGEST), *in = conform_alloc(BIGGEST + GUARD);

    for (gex_Rank_t k = 0; k < job.size; k++) {
        for (size_t n = 0; n <= BIGGEST; n = n < 17 ? n + 1 : n == 17 ? 64 : n * 4) {
            for (int form = 0; form < FORMS; form++)
                round_trip((job.rank + k) % job.size, n, form, out, in);
        }
        conform_barrier();
    }
    free(out);
    free(in);
}

/* The caller may overwrite the source of a non-bulk put as soon as the call returns. */
static void test_source(void)
{
    const gasnet_node_t to = (job.rank + 1) % job.size;
    unsigned char src[300], back[300];

    for (uint64_t i = 0; i < 200; i++) {
        unsigned char *dest = job.base[to] + CONFORM_INBOX;
        gasnet_handle_t handle = GASNET_INVALID_HANDLE;

        conform_fill(src, sizeof(src), i);
        if (i % 2)
            handle = gasnet_put_nb(to, dest, src, sizeof(src));
        else
            gasnet_put_nbi(to, dest, src, sizeof(src));
        memset(src, 0, sizeof(src));
        gasnet_wait_syncnb(handle);
        gasnet_wait_syncnbi_all();
        gasnet_get(back, to, dest, sizeof(back));
        CHECK_FILL(back, sizeof(back), i, "a put whose source was overwritten");
    }
}

/* ---- values ---- */

static void put_value(int form, gasnet_node_t to, void *dest, gasnet_register_value_t value,
                      size_t n)
{
    if (form == 0) {
        gasnet_put_val(to, dest, value, n);
    } else if (form == 1) {
        gasnet_wait_syncnb(gasnet_put_nb_val(to, dest, value, n));
    } else {
        gasnet_put_nbi_val(to, dest, value, n);
        gasnet_wait_syncnbi_puts();
    }
}

static void check_value(gasnet_node_t to, size_t n, int form, gasnet_register_value_t value)
{
    unsigned char *dest = job.base[to] + CONFORM_INBOX + 8 + n;
    const gasnet_register_value_t want =
        n == 8 ? value : value & (((gasnet_register_value_t)1 << (8 * n)) - 1);
    unsigned char around[24];

    gasnet_memset(to, dest - 8, 0xa5, sizeof(around));
    put_value(form, to, dest, value, n);
    CHECK(gasnet_get_val(to, dest, n) == want, "a value of %zu bytes should be 0x%llx", n,
          (unsigned long long)want);
    CHECK(gasnet_wait_syncnb_valget(gasnet_get_nb_val(to, dest, n)) == want,
          "a value of %zu bytes, got without blocking, should be 0x%llx", n,
          (unsigned long long)want);
    gasnet_get(around, to, dest - 8, sizeof(around));
    for (size_t i = 0; i < sizeof(around); i++)
        CHECK((i >= 8 && i < 8 + n) || around[i] == 0xa5, "a put of %zu bytes wrote byte %zu", n,
              i);
}

static void test_values(void)
{
    uint64_t stream = conform_stream(81);

    for (gex_Rank_t k = 0; k < job.size; k++) {
        for (size_t n = 1; n <= SIZEOF_GASNET_REGISTER_VALUE_T; n++) {
            for (int form = 0; form < 3; form++)
                check_value((job.rank + k) % job.size, n, form, conform_random(&stream));
        }
        conform_barrier();
    }
}

/* Many gets of values are pending at the same time; the waits come in another order. */
static void test_valgets(void)
{
    enum { COUNT = 100 };
    const gasnet_node_t from = (job.rank + 1) % job.size;
    uint64_t *words = (uint64_t *)(void *)job.outbox;
    gasnet_valget_handle_t handles[COUNT];

    for (uint64_t i = 0; i < COUNT; i++)
        words[i] = conform_mix(job.rank, i, 82);
    conform_barrier();
    for (size_t i = 0; i < COUNT; i++)
        handles[i] = gasnet_get_nb_val(from, job.base[from] + CONFORM_OUTBOX + 8 * i, 8);
    for (uint64_t i = COUNT; i-- > 0;) {
        const uint64_t value = gasnet_wait_syncnb_valget(handles[i]);

        CHECK(value == conform_mix(from, i, 82), "value %llu came back as 0x%llx",
              (unsigned long long)i, (unsigned long long)value);
    }
}

/* ---- memset ---- */

static void set_by(int form, gasnet_node_t to, void *dest, int val, size_t n)
{
    if (form == 0) {
        gasnet_memset(to, dest, val, n);
    } else if (form == 1) {
        wait_by_try(gasnet_memset_nb(to, dest, val, n));
    } else {
        gasnet_memset_nbi(to, dest, val, n);
        gasnet_wait_syncnbi_puts();
    }
}

static void check_memset(gasnet_node_t to, size_t n, int form, unsigned char *in)
{
    unsigned char *dest = job.base[to] + CONFORM_INBOX + 1;
    const int val = (int)(n + (size_t)form) | 0x300; /* a memset uses the low byte only */

    gasnet_memset(to, dest, 0x11, n + 2);
    set_by(form, to, dest + 1, val, n);
    gasnet_get_bulk(in, to, dest, n + 2);
    CHECK(in[0] == 0x11 && in[n + 1] == 0x11, "a memset of %zu bytes wrote outside of its range",
          n);
    for (size_t i = 1; i <= n; i++)
        CHECK(in[i] == (unsigned char)val, "byte %zu of a memset of %zu should be %d, but is %d",
              i - 1, n, val & 255, in[i]);
}

static void test_memset(void)
{
    unsigned char *in = conform_alloc(BIGGEST + 2);

    for (gex_Rank_t k = 0; k < job.size; k++) {
        for (size_t n = 0; n <= BIGGEST; n = n < 9 ? n + 1 : n * 11) {
            for (int form = 0; form < 3; form++)
                check_memset((job.rank + k) % job.size, n, form, in);
        }
        conform_barrier();
    }
    free(in);
}

/* ---- synchronization ---- */

enum { HANDLES = 60 };

/* Starts puts and gets of words of the next rank; every third handle is invalid. */
static void start_words(gasnet_handle_t *handles, uint64_t *out, uint64_t *in, uint64_t first)
{
    const gasnet_node_t to = (job.rank + 1) % job.size;

    for (size_t i = 0; i < HANDLES; i++) {
        unsigned char *at = job.base[to] + CONFORM_INBOX + 8 * i;

        out[i] = first + i;
        in[i] = 0;
        handles[i] = GASNET_INVALID_HANDLE;
        if (i % 3 == 0)
            handles[i] = gasnet_put_nb_bulk(to, at, &out[i], 8);
        if (i % 3 == 1)
            handles[i] = gasnet_get_nb_bulk(&in[i], to, job.base[to] + CONFORM_OUTBOX + 8 * i, 8);
    }
}

static void check_words(const uint64_t *in, uint64_t first, uint64_t got_first)
{
    const gasnet_node_t to = (job.rank + 1) % job.size;

    for (size_t i = 0; i < HANDLES; i++) {
        unsigned char *at = job.base[to] + CONFORM_INBOX + 8 * i;

        CHECK(i % 3 != 0 || gasnet_get_val(to, at, 8) == first + i, "word %zu was not put", i);
        CHECK(i % 3 != 1 || in[i] == got_first + i, "word %zu was not got", i);
    }
}

static size_t open_handles(const gasnet_handle_t *handles)
{
    size_t open = 0;

    for (size_t i = 0; i < HANDLES; i++)
        open += handles[i] != GASNET_INVALID_HANDLE;
    return open;
}

/* Each call for some handles must complete at least one if one is left. */
static void wait_some(gasnet_handle_t *handles, int try)
{
    for (size_t open = open_handles(handles); open > 0; open = open_handles(handles)) {
        if (try && gasnet_try_syncnb_some(handles, HANDLES) == GASNET_ERR_NOT_READY)
            CHECK(open_handles(handles) == open,
                  "gasnet_try_syncnb_some returned NOT_READY, but completed some of %zu handles",
                  open);
        else if (!try)
            gasnet_wait_syncnb_some(handles, HANDLES);
        CHECK(try || open_handles(handles) < open,
              "gasnet_wait_syncnb_some completed none of %zu handles", open);
    }
}

static void wait_all(gasnet_handle_t *handles, uint64_t way)
{
    if (way == 0)
        gasnet_wait_syncnb_all(handles, HANDLES);
    else if (way == 1)
        while (gasnet_try_syncnb_all(handles, HANDLES) == GASNET_ERR_NOT_READY)
            ;
    else
        wait_some(handles, way == 2);
}

static void test_handles(void)
{
    uint64_t out[HANDLES], in[HANDLES];
    gasnet_handle_t handles[HANDLES];
    uint64_t *mine = (uint64_t *)(void *)job.outbox;

    for (uint64_t i = 0; i < HANDLES; i++)
        mine[i] = 900 + i;
    conform_barrier();
    for (uint64_t way = 0; way < 4; way++) {
        start_words(handles, out, in, 100 * way);
        wait_all(handles, way);
        CHECK(open_handles(handles) == 0, "%zu handles are left over", open_handles(handles));
        check_words(in, 100 * way, 900);
    }
    memset(handles, 0, sizeof(handles)); /* GASNET_INVALID_HANDLE is all zeros */
    gasnet_wait_syncnb_all(handles, HANDLES);
    gasnet_wait_syncnb_some(handles, HANDLES);
    gasnet_wait_syncnb(handles[0]);
    CHECK(gasnet_try_syncnb(GASNET_INVALID_HANDLE) == GASNET_OK,
          "an invalid handle must be complete");
    CHECK(gasnet_try_syncnb_some(handles, HANDLES) == GASNET_OK,
          "an array of invalid handles must be complete");
    CHECK(gasnet_try_syncnb_all(handles, 0) == GASNET_OK, "an empty array must be complete");
}

/* Implicit operations outside of an access region and inside, which have waits of their own. */
static void test_region(void)
{
    const gasnet_node_t to = (job.rank + 1) % job.size;
    unsigned char *dest = job.base[to] + CONFORM_INBOX;
    unsigned char out[3][1000], in[1000];
    gasnet_handle_t region;

    for (uint64_t round = 0; round < 20; round++) {
        for (uint64_t i = 0; i < 3; i++)
            conform_fill(out[i], sizeof(out[i]), 10 * round + i);
        gasnet_put_nbi_bulk(to, dest, out[0], sizeof(out[0]));
        gasnet_begin_nbi_accessregion();
        gasnet_put_nbi(to, dest + 1000, out[1], sizeof(out[1]));
        gasnet_memset_nbi(to, dest + 3000, (int)round, 1000);
        gasnet_wait_syncnb(gasnet_put_nb_bulk(to, dest + 2000, out[2], sizeof(out[2])));
        region = gasnet_end_nbi_accessregion();
        gasnet_wait_syncnb(region);
        gasnet_get(in, to, dest + 1000, sizeof(in));
        CHECK_FILL(in, sizeof(in), 10 * round + 1, "a put in a region");
        CHECK(gasnet_get_val(to, dest + 3999, 1) == round, "a memset in a region was not done");
        gasnet_get_nbi_bulk(in, to, dest + 2000, sizeof(in));
        if (round % 2)
            gasnet_wait_syncnbi_all();
        while (gasnet_try_syncnbi_all() != GASNET_OK)
            ;
        CHECK_FILL(in, sizeof(in), 10 * round + 2, "a put with a handle in a region");
        gasnet_get_bulk(in, to, dest, sizeof(in));
        CHECK_FILL(in, sizeof(in), 10 * round, "a put outside of the region");
    }
    gasnet_begin_nbi_accessregion();
    gasnet_wait_syncnb(gasnet_end_nbi_accessregion()); /* an empty region is complete */
}

const conform_test_t conform_gasnet1_rma_tests[] = {
    {"gasnet1_rma", test_rma, "each form of put and get, 0 bytes to 1 MiB"},
    {"gasnet1_source", test_source, "the source of a put that is not bulk may be overwritten"},
    {"gasnet1_values", test_values, "values of 1..8 bytes"},
    {"gasnet1_valgets", test_valgets, "many gets of values at the same time"},
    {"gasnet1_memset", test_memset, "each form of memset"},
    {"gasnet1_handles", test_handles, "arrays of handles, some of them invalid"},
    {"gasnet1_region", test_region, "access regions, and implicit operations outside of them"},
    {NULL, NULL, NULL}};
