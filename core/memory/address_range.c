// SPDX-License-Identifier: BSD-3-Clause
// Finds a range of addresses that is free at all ranks, for segment.c and segment_reserved.c.
//
// Each rank tries a list of places that is the same at all ranks, and tells which of them are free.
// If no place is free everywhere, the ranks try the places that the kernel would have chosen at the
// first ranks: those suit systems whose address space has another layout.
//
//     exchange: free places (a bit each), own choice    --> places that are free everywhere
//     reserve the first of them; exchange: done or not  --> the base; the next place if some other
//                                                           thread was faster at some rank
#include "address_range.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "../../other/base/log/log.h"
#include "../conduit.h"

enum { PLACES = 64 };
#define FIRST_PLACE ((uintptr_t)16 << 40) // what lies below may be memory of a sanitizer
#define PLACE_STEP ((uintptr_t)3 << 39)   // up to 110.5 TiB, below libraries and stacks

// What a rank tells about one list of places.
typedef struct offer {
    uint64_t size;
    uint64_t free;  // bit i: place i is free
    uint64_t own;   // where the kernel would reserve the range; 0: nowhere
    uint64_t limit; // of the address space, in bytes
} offer_t;

typedef struct search {
    aq_boot_t *boot;
    size_t size;
    uintptr_t places[PLACES];
    offer_t *offers; // of all ranks
    uint8_t *done;   // of all ranks
    void *base;      // what this rank has reserved, or NULL
} search_t;

static void range_unmap(char *base, size_t size)
{
    if (base)
        munmap(base - AQ_SEGMENT_GUARD, size + 2 * AQ_SEGMENT_GUARD);
}

// The thread sanitizer turns an address that it keeps for itself into 0, which this flag would map.
#ifdef __SANITIZE_THREAD__
enum { AT_PLACE = 0 };
#else
enum { AT_PLACE = MAP_FIXED_NOREPLACE };
#endif

// Reserves the range there, or anywhere for 0, and guards beside it. Returns NULL if it is not
// free. Kernels that do not know MAP_FIXED_NOREPLACE map another place then.
static char *range_map(uintptr_t place, size_t size)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (size > SIZE_MAX - 2 * AQ_SEGMENT_GUARD)
        return NULL;
    char *got = mmap(place ? (void *)(place - AQ_SEGMENT_GUARD) : NULL, size + 2 * AQ_SEGMENT_GUARD,
                     PROT_NONE, place ? flags | AT_PLACE : flags, -1, 0);
    if (got == MAP_FAILED)
        return NULL;
    char *base = got + AQ_SEGMENT_GUARD;
    if (!place || (uintptr_t)base == place)
        return base;
    range_unmap(base, size);
    return NULL;
}

// Where a range is free: there, or anywhere for 0. Returns 0 if it is not.
static uintptr_t range_find(uintptr_t place, size_t size)
{
    char *base = range_map(place, size);
    range_unmap(base, size);
    return (uintptr_t)base;
}

static offer_t make_offer(const search_t *search)
{
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    (void)getrlimit(RLIMIT_AS, &limit);
    offer_t offer = {.size = search->size, .limit = limit.rlim_cur};
    if (search->size == 0) {
        offer.free = UINT64_MAX;
        return offer;
    }
    for (unsigned i = 0; i < PLACES; i++)
        if (search->places[i] && range_find(search->places[i], search->size))
            offer.free |= (uint64_t)1 << i;
    offer.own = range_find(0, search->size);
    return offer;
}

// Places that are free at all ranks below `ranks`.
static uint64_t common_places(const search_t *search, uint32_t ranks)
{
    uint64_t common = UINT64_MAX;
    for (uint32_t r = 0; r < ranks; r++)
        common &= search->offers[r].free;
    return common;
}

// Reserves a place at all ranks or at none.
static aq_status_t place_reserve(search_t *search, uintptr_t place, bool *everywhere)
{
    aq_boot_t *boot = search->boot;
    search->base = search->size ? range_map(place, search->size) : NULL;
    const uint8_t mine = search->base || !search->size;
    aq_status_t status = boot->ops->exchange(boot, &mine, sizeof mine, search->done);
    *everywhere = status == AQ_OK && memchr(search->done, 0, aq_boot_present(boot)) == NULL;
    if (!*everywhere)
        range_unmap(search->base, search->size);
    if (*everywhere)
        search->base = (void *)place;
    return status;
}

// Tries one list of places.
static aq_status_t list_try(search_t *search, bool *found)
{
    aq_boot_t *boot = search->boot;
    const offer_t mine = make_offer(search);
    *found = false;
    aq_status_t status = boot->ops->exchange(boot, &mine, sizeof mine, search->offers);
    uint64_t common = status == AQ_OK ? common_places(search, aq_boot_present(boot)) : 0;
    for (unsigned i = 0; status == AQ_OK && !*found && i < PLACES; i++)
        if (common >> i & 1)
            status = place_reserve(search, search->places[i], found);
    return status;
}

static void list_usual(search_t *search)
{
    for (unsigned i = 0; i < PLACES; i++)
        search->places[i] = FIRST_PLACE + i * PLACE_STEP;
}

static void list_chosen(search_t *search)
{
    for (unsigned i = 0; i < PLACES; i++)
        search->places[i] = i < aq_boot_present(search->boot) ? search->offers[i].own : 0;
}

// ---- why there is none ----

// The first rank that has no room at all. Returns false if all ranks have.
static bool explain_lack(const search_t *search, char *errbuf, size_t errbuf_size)
{
    uint32_t r = 0;
    const uint32_t ranks = aq_boot_present(search->boot);
    while (r < ranks && (search->offers[r].own || !search->offers[r].size))
        r++;
    if (r == ranks)
        return false;
    const offer_t *offer = &search->offers[r];
    if (offer->size == AQ_RANGE_IMPOSSIBLE)
        snprintf(errbuf, errbuf_size,
                 "rank %u has no memory for the table of its pages; reserve less", r);
    else if (offer->limit != RLIM_INFINITY)
        snprintf(errbuf, errbuf_size,
                 "rank %u has no room for %llu bytes: its address space is limited to %llu bytes; "
                 "raise that limit (ulimit -v), or reserve less",
                 r, (unsigned long long)offer->size, (unsigned long long)offer->limit);
    else
        snprintf(errbuf, errbuf_size,
                 "rank %u has no %llu bytes of free addresses one after the other, in an address "
                 "space of %lu; reserve less, or map less there",
                 r, (unsigned long long)offer->size, 1ul << 47);
    return true;
}

static void explain(const search_t *search, char *errbuf, size_t errbuf_size)
{
    uint32_t r = 0;
    if (explain_lack(search, errbuf, errbuf_size))
        return;
    while (r + 1 < aq_boot_present(search->boot) && common_places(search, r + 1))
        r++;
    snprintf(errbuf, errbuf_size,
             "rank %u has memory or libraries mapped in every range of %llu bytes that is free at "
             "the ranks below it; reserve less, or map less there",
             r, (unsigned long long)search->offers[r].size);
}

static aq_status_t range_search(search_t *search, char *errbuf, size_t errbuf_size)
{
    bool found;
    list_usual(search);
    aq_status_t status = list_try(search, &found);
    if (status == AQ_OK && !found) {
        list_chosen(search);
        status = list_try(search, &found);
    }
    if (status != AQ_OK || found)
        return status;
    explain(search, errbuf, errbuf_size);
    return AQ_ERR_ABSENT;
}

aq_status_t aq_range_agree(aq_boot_t *boot, size_t size, void **base, char *errbuf,
                           size_t errbuf_size)
{
    search_t search = {.boot = boot, .size = size};
    search.offers = malloc(boot->size * sizeof *search.offers);
    search.done = malloc(boot->size);
    aq_status_t status = AQ_ERR_RESOURCE;
    if (search.offers && search.done)
        status = range_search(&search, errbuf, errbuf_size);
    else
        aq_log_error("out of memory for the address ranges of %u ranks", boot->size);
    *base = search.base;
    free(search.offers);
    free(search.done);
    return status;
}
