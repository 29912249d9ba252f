/* SPDX-License-Identifier: BSD-3-Clause */
/* What all subtests use: checks, patterns of bytes, handler indices, slots of the inbox. */
#include "conform.h"
#include "conform_refuse.h"
#if __has_include(<aqueduct.h>)
#include <aqueduct.h>
#endif

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

conform_job_t job = {.threads = 1, .seed = 1, .subtest = "start"};

static unsigned char index_taken[256];

void conform_die(const char *file, int line, const char *cond, const char *fmt, ...)
{
    char message[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    fprintf(stderr, "%s:%d: rank %u of %u, subtest %s: %s (not true: %s)\n", file, line,
            (unsigned)job.rank, (unsigned)job.size, job.subtest, message, cond);
    fflush(stderr);
    gasnet_exit(1);
    abort(); /* gasnet_exit does not return; the compiler may not know it */
}

uint64_t conform_mix(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xc2b2ae3d27d4eb4fu + c * 0x165667b19e3779f9u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t conform_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return conform_mix(*state, 1, 2);
}

uint64_t conform_stream(uint64_t number)
{
    return conform_mix(job.seed, job.rank, number);
}

/* Byte i of a pattern. Cheap enough for megabytes; neighbouring bytes differ, and so do
 * neighbouring rows of 256 bytes. */
static unsigned char pattern_byte(size_t i, uint64_t key)
{
    return (unsigned char)((unsigned char)(i * 37) ^ (unsigned char)((i >> 8) * 11 + key));
}

void conform_fill(void *at, size_t n, uint64_t key)
{
    unsigned char *p = at;
    const uint64_t k = conform_mix(key, 3, 4);

    for (size_t i = 0; i < n; i++)
        p[i] = pattern_byte(i, k);
}

void conform_match(const char *file, int line, const void *at, size_t n, uint64_t key,
                   const char *what)
{
    const unsigned char *p = at;
    const uint64_t k = conform_mix(key, 3, 4);

    for (size_t i = 0; i < n; i++) {
        if (p[i] != pattern_byte(i, k))
            conform_die(file, line, "content",
                        "%s: byte %zu of %zu should be 0x%02x, but is 0x%02x", what, i, n,
                        pattern_byte(i, k), p[i]);
    }
}

void conform_barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(job.tm, 0));
}

void conform_exchange(uint64_t mine, uint64_t *all)
{
    const volatile uint64_t *table = (const volatile uint64_t *)job.base[job.rank];

    for (gex_Rank_t r = 0; r < job.size; r++) {
        const int err = gex_RMA_PutBlocking(job.tm, r, job.base[r] + 8 * (size_t)job.rank, &mine,
                                            sizeof(mine), 0);
        CHECK(err == 0, "a blocking put without IMMEDIATE must return 0, but returned %d", err);
    }
    conform_barrier();
    for (gex_Rank_t r = 0; r < job.size; r++)
        all[r] = table[r];
    conform_barrier(); /* no rank overwrites the table while another one reads it */
}

uint64_t conform_frames_sent(void)
{
    gasnet_AMPoll(); /* lets open datagrams leave */
#ifdef GASNETX_COUNTERS
    const volatile gasnetx_counters_t *all = gasnetx_Counters(GEX_EP_INVALID);

    gasnetx_Counters_Update();
    return gasnetx_counter(&all->frames_sent);
#else
    return 0;
#endif
}

void conform_refuse_call(long number)
{
    CHECK(refuse_call(number) == 0, "the filter of system calls must be installed");
}

void conform_nap(unsigned ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) != 0)
        ;
}

void *conform_alloc(size_t n)
{
    void *p = malloc(n > 0 ? n : 1);

    CHECK(p != NULL, "the test needs %zu bytes of memory; give it a bigger machine", n);
    return p;
}

void conform_register(gex_AM_Entry_t *table, size_t n)
{
    unsigned char dynamic[256] = {0};
    unsigned expected = 255;
    int err;

    CHECK(n <= sizeof(dynamic), "a table may have up to 256 entries, but has %zu", n);
    for (size_t i = 0; i < n; i++) {
        dynamic[i] = table[i].gex_index == 0;
        index_taken[table[i].gex_index] = 1;
    }
    err = gex_EP_RegisterHandlers(job.am_ep, table, n);
    CHECK(err == GASNET_OK, "registration must return GASNET_OK, but returned %d", err);
    for (size_t i = 0; i < n; i++) {
        if (!dynamic[i])
            continue;
        while (index_taken[expected])
            expected--;
        CHECK(table[i].gex_index == expected, "entry %zu should get index %u, but got %u", i,
              expected, (unsigned)table[i].gex_index);
        index_taken[expected] = 1;
    }
}

void conform_index_used(unsigned index)
{
    index_taken[index] = 1;
}

unsigned conform_free_index(void)
{
    unsigned index = 255;

    while (index_taken[index])
        index--;
    return index;
}

gex_Rank_t conform_source(gex_Token_t token)
{
    gex_Token_Info_t info;
    const gex_TI_t known = gex_Token_Info(token, &info, GEX_TI_SRCRANK);

    CHECK((known & GEX_TI_SRCRANK) != 0, "GEX_TI_SRCRANK is required, but was not reported");
    CHECK(info.gex_srcrank < job.size, "a source rank must be below %u, but is %u",
          (unsigned)job.size, (unsigned)info.gex_srcrank);
    return info.gex_srcrank;
}

size_t conform_slot_size(void)
{
    return (((size_t)4 << 20) / job.size) & ~(size_t)4095;
}

unsigned char *conform_slot(gex_Rank_t owner, gex_Rank_t peer, int reply)
{
    return job.base[owner] + CONFORM_INBOX + (reply ? (size_t)4 << 20 : 0) +
           conform_slot_size() * peer;
}
