/* SPDX-License-Identifier: BSD-3-Clause */
/* Registration of handlers: fixed indices, indices chosen by the library, several calls. */
#include "../conform.h"

static conform_count_t called[4];

static void on_first(gex_Token_t token)
{
    (void)token;
    atomic_fetch_add(&called[0], 1);
}

static void on_second(gex_Token_t token)
{
    (void)token;
    atomic_fetch_add(&called[1], 1);
}

static void on_third(gex_Token_t token)
{
    (void)token;
    atomic_fetch_add(&called[2], 1);
}

static void on_fourth(gex_Token_t token)
{
    (void)token;
    atomic_fetch_add(&called[3], 1);
}

#define SHORT_REQUEST (GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST)

/* A fixed index lies between free ones: the library must choose indices on both sides of it. */
static gex_AM_Entry_t around[] = {
    {.gex_index = 0, .gex_fnptr = (gex_AM_Fn_t)on_first, .gex_flags = SHORT_REQUEST},
    {.gex_index = 1, .gex_fnptr = (gex_AM_Fn_t)on_second, .gex_flags = SHORT_REQUEST},
    {.gex_index = 0, .gex_fnptr = (gex_AM_Fn_t)on_third, .gex_flags = SHORT_REQUEST},
};
static gex_AM_Index_t lowest, late;

static void register_around(void)
{
    const unsigned fixed = conform_free_index() - 1;

    around[1].gex_index = (gex_AM_Index_t)fixed;
    conform_register(around, 3);
    CHECK(around[1].gex_index == fixed, "a fixed index must stay %u, but became %u", fixed,
          (unsigned)around[1].gex_index);
}

/* Fixed indices are taken first, even those of the last entries of a table. */
static void register_late(void)
{
    const unsigned fixed = conform_free_index();
    gex_AM_Entry_t table[] = {
        {.gex_index = 0, .gex_fnptr = (gex_AM_Fn_t)on_first, .gex_flags = SHORT_REQUEST},
        {.gex_index = (gex_AM_Index_t)fixed,
         .gex_fnptr = (gex_AM_Fn_t)on_first,
         .gex_flags = SHORT_REQUEST},
        {.gex_index = GEX_AM_INDEX_BASE,
         .gex_fnptr = (gex_AM_Fn_t)on_fourth,
         .gex_flags = SHORT_REQUEST}};

    conform_register(table, 3);
    late = table[0].gex_index;
    lowest = table[2].gex_index;
    for (int i = 0; i < 3; i++)
        table[i].gex_fnptr = NULL; /* the caller may change the table: the library keeps a copy */
}

void conform_handler_setup(void)
{
    register_around();
    register_late();
    CHECK(gex_EP_RegisterHandlers(job.am_ep, NULL, 0) == GASNET_OK, "an empty table is legal");
}

static void test_handlers(void)
{
    const gex_AM_Index_t indices[4] = {late, around[1].gex_index, around[2].gex_index, lowest};

    for (int i = 0; i < 4; i++)
        atomic_store(&called[i], 0);
    conform_barrier();
    for (gex_Rank_t r = 0; r < job.size; r++) {
        for (int i = 0; i < 4; i++) {
            for (int times = 0; times <= i; times++)
                gex_AM_RequestShort0(job.am, r, indices[i], 0);
        }
    }
    for (int i = 0; i < 4; i++) {
        const uint64_t want = (uint64_t)job.size * ((unsigned)i + 1);

        GASNET_BLOCKUNTIL(atomic_load(&called[i]) >= want);
    }
    conform_barrier();
    for (int i = 0; i < 4; i++) {
        const uint64_t want = (uint64_t)job.size * ((unsigned)i + 1);

        CHECK(atomic_load(&called[i]) == want, "handler %d should run %llu times, but ran %llu", i,
              (unsigned long long)want, (unsigned long long)atomic_load(&called[i]));
    }
}

const conform_test_t conform_handler_tests[] = {
    {"handlers", test_handlers, "fixed indices, indices from 255 downwards, several tables"},
    {NULL, NULL, NULL}};
