/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Non-contiguous put and get: random shapes and every way to complete, checked against a serial
 * model that knows the place of each byte; peer completion; the GASNet-1 forms.
 *
 * A transfer goes between an area of the local side and one in this rank's slot of the peer's
 * inbox. side.place[k] is the offset of byte k of the transfer in the area of that side.
 */
#include "../conform.h"

#include <gasnet_vis.h>
#include <stdlib.h>
#include <string.h>

#define AREA ((size_t)192 << 10)
#define MOST_BYTES ((size_t)96 << 10)
#define MOST_PIECES 300
#define LEVELS 5
#define WAYS 8 /* to complete a transfer, see put_by and get_by */

typedef enum { VECTOR, INDEXED, STRIDED } shape_t;

typedef struct {
    size_t count; /* of pieces, or of levels */
    size_t len;   /* of each piece: indexed */
    size_t at[MOST_PIECES], lens[MOST_PIECES];
    size_t first; /* strided: offset of the first block */
    ptrdiff_t strides[LEVELS];
    uint32_t *place;
    /* the same in the form of the calls */
    gex_Memvec_t vector[MOST_PIECES];
    void *list[MOST_PIECES];
} side_t;

typedef struct {
    shape_t shape;
    int way;
    int gasnet1; /* use the calls of GASNet-1 */
    gex_Rank_t peer;
    size_t total, elem, levels, steps[LEVELS];
    side_t remote, local;
    unsigned char *remote_base, *local_base, *seen, *model;
} trial_t;

static size_t random_below(uint64_t *stream, size_t limit)
{
    return (size_t)(conform_random(stream) >> 8) % limit;
}

/* ---- lists of pieces ---- */

static void shuffle_pieces(side_t *side, uint64_t *stream)
{
    for (size_t i = side->count; i > 1; i--) {
        const size_t j = random_below(stream, i), at = side->at[j], len = side->lens[j];

        side->at[j] = side->at[i - 1];
        side->lens[j] = side->lens[i - 1];
        side->at[i - 1] = at;
        side->lens[i - 1] = len;
    }
}

/* Chooses places for the pieces, in any order and without overlap. */
static void place_pieces(side_t *side, size_t total, uint64_t *stream)
{
    const size_t gap = (AREA - total) / (side->count + 1);
    const int tight = random_below(stream, 4) == 0; /* some pieces are adjacent */
    size_t at = 0;

    for (size_t i = 0; i < side->count; i++) {
        at += tight ? random_below(stream, 2) * random_below(stream, gap + 1)
                    : random_below(stream, gap + 1);
        side->at[i] = at;
        at += side->lens[i];
    }
    if (random_below(stream, 3) != 0)
        shuffle_pieces(side, stream);
    at = 0;
    for (size_t i = 0; i < side->count; i++)
        for (size_t k = 0; k < side->lens[i]; k++)
            side->place[at++] = (uint32_t)(side->at[i] + k);
}

/* Cuts `total` bytes at random places; some pieces are empty. */
static void cut_vector(side_t *side, size_t total, uint64_t *stream)
{
    size_t left = total;

    side->count = 1 + random_below(stream, MOST_PIECES - 1);
    for (size_t i = 0; i < side->count; i++) {
        const size_t most = left / (random_below(stream, 8) == 0 ? 1 : side->count - i) * 2 + 1;
        size_t len = random_below(stream, 6) == 0 ? 0 : random_below(stream, most + 1);

        if (len > left || i + 1 == side->count)
            len = left;
        side->lens[i] = len;
        left -= len;
    }
    place_pieces(side, total, stream);
}

static void cut_indexed(side_t *side, size_t count, size_t len, uint64_t *stream)
{
    side->count = count;
    side->len = len;
    for (size_t i = 0; i < count; i++)
        side->lens[i] = len;
    place_pieces(side, count * len, stream);
}

static void make_vector(trial_t *t, uint64_t *stream)
{
    t->total = random_below(stream, random_below(stream, 4) == 0 ? MOST_BYTES : 3000);
    cut_vector(&t->remote, t->total, stream);
    cut_vector(&t->local, t->total, stream);
}

static void make_indexed(trial_t *t, uint64_t *stream)
{
    static const size_t units[] = {1, 2, 3, 4, 8, 16, 32, 64, 100, 2000};
    const int same = random_below(stream, 3) == 0;
    const size_t a = 1 + random_below(stream, 6), b = same ? a : 1 + random_below(stream, 6);
    const size_t unit = units[random_below(stream, 10)], most = MOST_BYTES / (unit * a * b);
    const size_t times =
        random_below(stream, (most < 50 ? most : 50) + 1); /* 0: nothing to transfer */

    t->total = times * a * b * unit;
    cut_indexed(&t->remote, times * b, a * unit, stream);
    cut_indexed(&t->local, times * a, b * unit, stream);
}

/* ---- strided ---- */

/* Chooses strides. Levels are nested in any order of size and run forwards or backwards. */
static void lay_grid(const trial_t *t, side_t *side, int repeats, uint64_t *stream)
{
    size_t order[LEVELS], extent = t->elem, used = 0;
    const size_t loose = random_below(stream, 3);

    side->count = t->levels;
    for (size_t i = 0; i < t->levels; i++)
        order[i] = i;
    for (size_t i = t->levels; loose && i > 1; i--) {
        const size_t j = random_below(stream, i), kept = order[j];

        order[j] = order[i - 1];
        order[i - 1] = kept;
    }
    for (size_t i = 0; i < t->levels; i++) {
        const size_t level = order[i], steps = t->steps[level] ? t->steps[level] : 1;
        size_t stride = extent + (loose ? random_below(stream, 6) : 0);

        if (repeats && random_below(stream, 4) == 0)
            stride = 0; /* sources may overlap */
        side->strides[level] = (ptrdiff_t)stride;
        if (stride != 0)
            extent = stride * (steps - 1) + extent;
        if (loose == 2 && random_below(stream, 2)) {
            side->strides[level] = -(ptrdiff_t)stride;
            used += stride * (steps - 1);
        }
    }
    CHECK(extent <= AREA, "a grid of %zu bytes does not fit into the area", extent);
    side->first = used + random_below(stream, AREA - extent + 1);
}

static void place_grid(const trial_t *t, side_t *side)
{
    for (size_t k = 0; k < t->total; k++) {
        size_t block = k / t->elem;
        ptrdiff_t at = (ptrdiff_t)(side->first + k % t->elem);

        for (size_t i = 0; i < t->levels; i++) {
            at += side->strides[i] * (ptrdiff_t)(block % t->steps[i]);
            block /= t->steps[i];
        }
        side->place[k] = (uint32_t)at;
    }
}

static void make_strided(trial_t *t, int is_get, uint64_t *stream)
{
    static const size_t elems[] = {1, 2, 3, 4, 8, 8, 12, 16, 24, 32, 64, 64, 100, 9000};

    t->elem = random_below(stream, 20) == 0 ? 0 : elems[random_below(stream, 14)];
    t->levels = random_below(stream, LEVELS + 1);
    t->total = t->elem;
    for (size_t i = 0; i < t->levels; i++) {
        t->steps[i] = 1 + random_below(stream, i == 0 ? 40 : 5);
        if (t->total * t->steps[i] > MOST_BYTES / 8)
            t->steps[i] = 1 + (t->total < MOST_BYTES / 8);
        t->total *= t->steps[i];
    }
    if (t->levels > 0 && random_below(stream, 20) == 0) /* nothing to transfer */
        t->total = t->steps[random_below(stream, t->levels)] = 0;
    lay_grid(t, &t->remote, is_get, stream);
    lay_grid(t, &t->local, !is_get, stream);
    place_grid(t, &t->remote);
    place_grid(t, &t->local);
}

/* ---- one transfer ---- */

static void give_addresses(side_t *side, unsigned char *base)
{
    for (size_t i = 0; i < side->count && i < MOST_PIECES; i++) {
        side->vector[i].gex_addr = base + side->at[i];
        side->vector[i].gex_len = side->lens[i];
        side->list[i] = base + side->at[i];
    }
}

static gex_Event_t put_nb(trial_t *t, gex_Flags_t flags)
{
    side_t *to = &t->remote, *from = &t->local;

    if (t->shape == VECTOR)
        return gex_VIS_VectorPutNB(job.tm, t->peer, to->count, to->vector, from->count,
                                   from->vector, flags);
    if (t->shape == INDEXED)
        return gex_VIS_IndexedPutNB(job.tm, t->peer, to->count, to->list, to->len, from->count,
                                    from->list, from->len, flags);
    return gex_VIS_StridedPutNB(job.tm, t->peer, t->remote_base + to->first, to->strides,
                                t->local_base + from->first, from->strides, t->elem, t->steps,
                                t->levels, flags);
}

static int put_nbi(trial_t *t, gex_Flags_t flags)
{
    side_t *to = &t->remote, *from = &t->local;

    if (t->shape == VECTOR)
        return gex_VIS_VectorPutNBI(job.tm, t->peer, to->count, to->vector, from->count,
                                    from->vector, flags);
    if (t->shape == INDEXED)
        return gex_VIS_IndexedPutNBI(job.tm, t->peer, to->count, to->list, to->len, from->count,
                                     from->list, from->len, flags);
    return gex_VIS_StridedPutNBI(job.tm, t->peer, t->remote_base + to->first, to->strides,
                                 t->local_base + from->first, from->strides, t->elem, t->steps,
                                 t->levels, flags);
}

static int put_blocking(trial_t *t, gex_Flags_t flags)
{
    side_t *to = &t->remote, *from = &t->local;

    if (t->shape == VECTOR)
        return gex_VIS_VectorPutBlocking(job.tm, t->peer, to->count, to->vector, from->count,
                                         from->vector, flags);
    if (t->shape == INDEXED)
        return gex_VIS_IndexedPutBlocking(job.tm, t->peer, to->count, to->list, to->len,
                                          from->count, from->list, from->len, flags);
    return gex_VIS_StridedPutBlocking(job.tm, t->peer, t->remote_base + to->first, to->strides,
                                      t->local_base + from->first, from->strides, t->elem, t->steps,
                                      t->levels, flags);
}

static gex_Event_t get_nb(trial_t *t, gex_Flags_t flags)
{
    side_t *to = &t->local, *from = &t->remote;

    if (t->shape == VECTOR)
        return gex_VIS_VectorGetNB(job.tm, to->count, to->vector, t->peer, from->count,
                                   from->vector, flags);
    if (t->shape == INDEXED)
        return gex_VIS_IndexedGetNB(job.tm, to->count, to->list, to->len, t->peer, from->count,
                                    from->list, from->len, flags);
    return gex_VIS_StridedGetNB(job.tm, t->local_base + to->first, to->strides, t->peer,
                                t->remote_base + from->first, from->strides, t->elem, t->steps,
                                t->levels, flags);
}

static int get_nbi(trial_t *t, gex_Flags_t flags)
{
    side_t *to = &t->local, *from = &t->remote;

    if (t->shape == VECTOR)
        return gex_VIS_VectorGetNBI(job.tm, to->count, to->vector, t->peer, from->count,
                                    from->vector, flags);
    if (t->shape == INDEXED)
        return gex_VIS_IndexedGetNBI(job.tm, to->count, to->list, to->len, t->peer, from->count,
                                     from->list, from->len, flags);
    return gex_VIS_StridedGetNBI(job.tm, t->local_base + to->first, to->strides, t->peer,
                                 t->remote_base + from->first, from->strides, t->elem, t->steps,
                                 t->levels, flags);
}

static int get_blocking(trial_t *t, gex_Flags_t flags)
{
    side_t *to = &t->local, *from = &t->remote;

    if (t->shape == VECTOR)
        return gex_VIS_VectorGetBlocking(job.tm, to->count, to->vector, t->peer, from->count,
                                         from->vector, flags);
    if (t->shape == INDEXED)
        return gex_VIS_IndexedGetBlocking(job.tm, to->count, to->list, to->len, t->peer,
                                          from->count, from->list, from->len, flags);
    return gex_VIS_StridedGetBlocking(job.tm, t->local_base + to->first, to->strides, t->peer,
                                      t->remote_base + from->first, from->strides, t->elem,
                                      t->steps, t->levels, flags);
}

/* ---- ways to complete ---- */

/* The caller may reuse the arrays of strides and steps as soon as a call returns. */
static void spoil_metadata(trial_t *t)
{
    for (size_t i = 0; t->shape == STRIDED && i < t->levels; i++) {
        t->steps[i] = 77;
        t->remote.strides[i] = t->local.strides[i] = 1 << 20;
    }
}

static void wait_testing(gex_Event_t event)
{
    while (gex_Event_Test(event) != GASNET_OK)
        gasnet_AMPoll();
}

static void put_by(trial_t *t)
{
    gex_Event_t root;

    switch (t->way) {
    case 0:
        CHECK(put_blocking(t, 0) == 0, "a blocking put without IMMEDIATE must return 0");
        return;
    case 1:
        root = put_nb(t, 0);
        spoil_metadata(t);
        gex_Event_Wait(root);
        return;
    case 2:
        wait_testing(put_nb(t, 0));
        return;
    case 3:
        root = put_nb(t, GEX_FLAG_ENABLE_LEAF_LC);
        gex_Event_Wait(gex_Event_QueryLeaf(root, GEX_EC_LC));
        memset(t->local_base, 0x5a, AREA);
        gex_Event_Wait(root);
        return;
    case 4:
        CHECK(put_nbi(t, 0) == 0, "an implicit put without IMMEDIATE must return 0");
        spoil_metadata(t);
        gex_NBI_Wait(GEX_EC_PUT, 0);
        return;
    case 5:
        CHECK(put_nbi(t, GEX_FLAG_ENABLE_LEAF_LC) == 0, "an implicit put must return 0");
        gex_NBI_Wait(GEX_EC_LC, 0);
        memset(t->local_base, 0x5b, AREA);
        gex_NBI_Wait(GEX_EC_ALL, 0);
        return;
    case 6:
        while ((root = put_nb(t, GEX_FLAG_IMMEDIATE)) == GEX_EVENT_NO_OP)
            gasnet_AMPoll();
        gex_Event_Wait(root);
        return;
    default:
        gex_NBI_BeginAccessRegion(0);
        while (put_nbi(t, GEX_FLAG_IMMEDIATE) != 0)
            gasnet_AMPoll();
        gex_Event_Wait(gex_NBI_EndAccessRegion(0));
    }
}

static void get_by(trial_t *t)
{
    gex_Event_t root;

    switch (t->way) {
    case 0:
        CHECK(get_blocking(t, 0) == 0, "a blocking get without IMMEDIATE must return 0");
        return;
    case 1:
        root = get_nb(t, 0);
        spoil_metadata(t);
        gex_Event_Wait(root);
        return;
    case 2:
        wait_testing(get_nb(t, 0));
        return;
    case 3:
        while (get_blocking(t, GEX_FLAG_IMMEDIATE) != 0)
            gasnet_AMPoll();
        return;
    case 4:
        CHECK(get_nbi(t, 0) == 0, "an implicit get without IMMEDIATE must return 0");
        spoil_metadata(t);
        gex_NBI_Wait(GEX_EC_GET, 0);
        return;
    case 5:
        while (get_nbi(t, GEX_FLAG_IMMEDIATE) != 0)
            gasnet_AMPoll();
        gex_NBI_Wait(GEX_EC_ALL, 0);
        return;
    case 6:
        while ((root = get_nb(t, GEX_FLAG_IMMEDIATE)) == GEX_EVENT_NO_OP)
            gasnet_AMPoll();
        gex_Event_Wait(root);
        return;
    default:
        gex_NBI_BeginAccessRegion(0);
        CHECK(get_nbi(t, 0) == 0, "an implicit get without IMMEDIATE must return 0");
        gex_Event_Wait(gex_NBI_EndAccessRegion(0));
    }
}

#ifndef CONFORM_NO_GASNET1
static const gasnet_memvec_t *memvec_of(const side_t *side)
{
    return (const gasnet_memvec_t *)(const void *)side->vector;
}

/* In GASNet-1 count[0] is the size of a block. */
static void counts_of(const trial_t *t, size_t count[LEVELS + 1])
{
    count[0] = t->elem;
    memcpy(count + 1, t->steps, t->levels * sizeof(*count));
}

static void put_gasnet1(trial_t *t)
{
    side_t *to = &t->remote, *from = &t->local;
    const size_t *to_strides = (const size_t *)to->strides, *from_strides = (size_t *)from->strides;
    unsigned char *dest = t->remote_base + to->first, *src = t->local_base + from->first;
    size_t count[LEVELS + 1];

    counts_of(t, count);
    switch (t->shape * 3 + t->way % 3) {
    case 0:
        gasnet_putv_bulk(t->peer, to->count, memvec_of(to), from->count, memvec_of(from));
        break;
    case 1:
        gex_Event_Wait(
            gasnet_putv_nb_bulk(t->peer, to->count, memvec_of(to), from->count, memvec_of(from)));
        break;
    case 2:
        gasnet_putv_nbi_bulk(t->peer, to->count, memvec_of(to), from->count, memvec_of(from));
        break;
    case 3:
        gasnet_puti_bulk(t->peer, to->count, to->list, to->len, from->count, from->list, from->len);
        break;
    case 4:
        gex_Event_Wait(gasnet_puti_nb_bulk(t->peer, to->count, to->list, to->len, from->count,
                                           from->list, from->len));
        break;
    case 5:
        gasnet_puti_nbi_bulk(t->peer, to->count, to->list, to->len, from->count, from->list,
                             from->len);
        break;
    case 6:
        gasnet_puts_bulk(t->peer, dest, to_strides, src, from_strides, count, t->levels);
        break;
    case 7:
        gex_Event_Wait(
            gasnet_puts_nb_bulk(t->peer, dest, to_strides, src, from_strides, count, t->levels));
        break;
    default:
        gasnet_puts_nbi_bulk(t->peer, dest, to_strides, src, from_strides, count, t->levels);
    }
    gex_NBI_Wait(GEX_EC_PUT, 0);
}

static void get_gasnet1(trial_t *t)
{
    side_t *to = &t->local, *from = &t->remote;
    const size_t *to_strides = (const size_t *)to->strides, *from_strides = (size_t *)from->strides;
    unsigned char *dest = t->local_base + to->first, *src = t->remote_base + from->first;
    size_t count[LEVELS + 1];

    counts_of(t, count);
    switch (t->shape * 3 + t->way % 3) {
    case 0:
        gasnet_getv_bulk(to->count, memvec_of(to), t->peer, from->count, memvec_of(from));
        break;
    case 1:
        gex_Event_Wait(
            gasnet_getv_nb_bulk(to->count, memvec_of(to), t->peer, from->count, memvec_of(from)));
        break;
    case 2:
        gasnet_getv_nbi_bulk(to->count, memvec_of(to), t->peer, from->count, memvec_of(from));
        break;
    case 3:
        gasnet_geti_bulk(to->count, to->list, to->len, t->peer, from->count, from->list, from->len);
        break;
    case 4:
        gex_Event_Wait(gasnet_geti_nb_bulk(to->count, to->list, to->len, t->peer, from->count,
                                           from->list, from->len));
        break;
    case 5:
        gasnet_geti_nbi_bulk(to->count, to->list, to->len, t->peer, from->count, from->list,
                             from->len);
        break;
    case 6:
        gasnet_gets_bulk(dest, to_strides, t->peer, src, from_strides, count, t->levels);
        break;
    case 7:
        gex_Event_Wait(
            gasnet_gets_nb_bulk(dest, to_strides, t->peer, src, from_strides, count, t->levels));
        break;
    default:
        gasnet_gets_nbi_bulk(dest, to_strides, t->peer, src, from_strides, count, t->levels);
    }
    gex_NBI_Wait(GEX_EC_GET, 0);
}
#else
static void put_gasnet1(trial_t *t)
{
    put_by(t);
}
static void get_gasnet1(trial_t *t)
{
    get_by(t);
}
#endif

/* ---- trials ---- */

static void check_area(const trial_t *t, const unsigned char *is, const char *what)
{
    for (size_t i = 0; i < AREA; i++)
        CHECK(is[i] == t->model[i],
              "%s with rank %u, shape %d, way %d, %zu bytes: byte %zu should be 0x%02x, but is "
              "0x%02x",
              what, (unsigned)t->peer, (int)t->shape, t->way, t->total, i, t->model[i], is[i]);
}

static void try_put(trial_t *t, uint64_t key)
{
    conform_fill(t->model, AREA, key);
    gex_RMA_PutBlocking(job.tm, t->peer, t->remote_base, t->model, AREA, 0);
    conform_fill(t->local_base, AREA, key + 1);
    for (size_t k = 0; k < t->total; k++)
        t->model[t->remote.place[k]] = t->local_base[t->local.place[k]];
    if (t->gasnet1)
        put_gasnet1(t);
    else
        put_by(t);
    gex_RMA_GetBlocking(job.tm, t->seen, t->peer, t->remote_base, AREA, 0);
    check_area(t, t->seen, "a put");
}

static void try_get(trial_t *t, uint64_t key)
{
    conform_fill(t->seen, AREA, key);
    gex_RMA_PutBlocking(job.tm, t->peer, t->remote_base, t->seen, AREA, 0);
    conform_fill(t->local_base, AREA, key + 1);
    conform_fill(t->model, AREA, key + 1);
    for (size_t k = 0; k < t->total; k++)
        t->model[t->local.place[k]] = t->seen[t->remote.place[k]];
    if (t->gasnet1)
        get_gasnet1(t);
    else
        get_by(t);
    check_area(t, t->local_base, "a get");
}

static void run_trial(trial_t *t, int number, uint64_t *stream)
{
    const int is_get = number & 1;
    const uint64_t key = conform_random(stream);

    t->way = (number >> 1) % WAYS;
    if (t->shape == VECTOR)
        make_vector(t, stream);
    else if (t->shape == INDEXED)
        make_indexed(t, stream);
    else
        make_strided(t, is_get, stream);
    t->remote_base = conform_slot(t->peer, job.rank, 0);
    give_addresses(&t->remote, t->remote_base);
    give_addresses(&t->local, t->local_base);
    if (is_get)
        try_get(t, key);
    else
        try_put(t, key);
}

/* In each round a rank has one peer and is the peer of one rank. */
static void try_shape(shape_t shape, int gasnet1, int trials)
{
    trial_t *t = conform_alloc(sizeof(*t));
    unsigned char *heap = conform_alloc(AREA);
    uint64_t stream = conform_stream(9000 + (uint64_t)shape * 2 + (uint64_t)gasnet1);

    memset(t, 0, sizeof(*t));
    t->shape = shape;
    t->gasnet1 = gasnet1;
    t->remote.place = conform_alloc(MOST_BYTES * sizeof(*t->remote.place));
    t->local.place = conform_alloc(MOST_BYTES * sizeof(*t->local.place));
    t->seen = conform_alloc(AREA);
    t->model = conform_alloc(AREA);
    CHECK(AREA <= conform_slot_size() || job.size > 21, "the slots are smaller than an area");
    for (gex_Rank_t k = 0; k < job.size && k < 4; k++) {
        t->peer = (job.rank + k) % job.size;
        for (int i = 0; i < trials; i++) {
            t->local_base = conform_random(&stream) & 1 ? heap : job.outbox;
            run_trial(t, i, &stream);
        }
        conform_barrier();
    }
    free(t->remote.place);
    free(t->local.place);
    free(t->seen);
    free(t->model);
    free(heap);
    free(t);
}

static void vis_vector(void)
{
    try_shape(VECTOR, 0, 48);
}

static void vis_indexed(void)
{
    try_shape(INDEXED, 0, 48);
}

static void vis_strided(void)
{
    try_shape(STRIDED, 0, 96);
}

static void vis_gasnet1(void)
{
    try_shape(VECTOR, 1, 6);
    try_shape(INDEXED, 1, 6);
    try_shape(STRIDED, 1, 12);
}

/* Operations without any bytes ignore their arguments, even invalid ones. */
static void vis_nothing(void)
{
    const size_t none[] = {3, 0};
    const ptrdiff_t strides[] = {8, 64};
    gex_Event_t events[3];

    events[0] = gex_VIS_StridedPutNB(job.tm, 0, NULL, NULL, NULL, NULL, 0, NULL, 7, 0);
    events[1] =
        gex_VIS_StridedPutNB(job.tm, job.size + 5, NULL, strides, NULL, strides, 8, none, 2, 0);
    events[2] = gex_VIS_VectorGetNB(job.tm, 0, NULL, 0, 0, NULL, 0);
    gex_Event_WaitAll(events, 3, 0);
    CHECK(gex_VIS_StridedGetBlocking(job.tm, NULL, strides, job.size + 5, NULL, strides, 8, none, 2,
                                     0) == 0,
          "a get of nothing must return 0");
    CHECK(gex_VIS_IndexedPutBlocking(job.tm, 0, 0, NULL, 8, 0, NULL, 8, 0) == 0,
          "a put of nothing must return 0");
    gex_NBI_Wait(GEX_EC_ALL, 0);
}

/* ---- peer completion ---- */

#define ROWS 300
#define ROW ((size_t)72)
#define ROUNDS 6

typedef struct {
    uint64_t key;
    uint32_t source, bytes; /* of the payload */
    size_t row;
} notice_t;

static gex_AM_Index_t notice_index;
static conform_count_t notices;

/* Runs on the target when the rows of the put have arrived. */
static void on_notice(gex_Token_t token, void *payload, size_t nbytes)
{
    const notice_t *notice = payload;
    unsigned char *slot;

    if (nbytes == 0) { /* the put had no payload for the handler */
        atomic_fetch_add(&notices, 1);
        return;
    }
    CHECK(nbytes >= sizeof(*notice) && notice->bytes == nbytes,
          "a payload of %zu bytes should arrive, but it has %zu", (size_t)notice->bytes, nbytes);
    CHECK(notice->source == conform_source(token), "the source should be rank %u, but is %u",
          (unsigned)notice->source, (unsigned)conform_source(token));
    slot = conform_slot(job.rank, notice->source, 0);
    for (size_t i = 0; i < ROWS; i++)
        CHECK_FILL(slot + i * 2 * notice->row, notice->row, notice->key + i, "a row of the put");
    atomic_fetch_add(&notices, 1);
}

static void put_with_notice(gex_Rank_t peer, int round, unsigned char *message, unsigned char *rows)
{
    const size_t row = round & 1 ? ROW : 64;
    const size_t nbytes = round == 3 ? GEX_VIS_MAX_PEERCOMPLETION : round == 4 ? 0 : 64;
    const notice_t notice = {1 + (uint64_t)round * 1000 + job.rank, job.rank, (uint32_t)nbytes,
                             row};
    const ptrdiff_t wide[] = {(ptrdiff_t)(2 * row)}, dense[] = {(ptrdiff_t)row};
    const size_t steps[] = {ROWS};
    unsigned char *dest = conform_slot(peer, job.rank, 0);

    memcpy(message, &notice, sizeof(notice));
    for (size_t i = 0; i < ROWS; i++)
        conform_fill(rows + i * row, row, notice.key + i);
    gex_VIS_SetPeerCompletionHandler(notice_index, message, nbytes, 0);
    if (round == 0) {
        gex_VIS_StridedPutBlocking(job.tm, peer, dest, wide, rows, dense, row, steps, 1, 0);
    } else if (round % 2) {
        gex_VIS_StridedPutNBI(job.tm, peer, dest, wide, rows, dense, row, steps, 1, 0);
        gex_NBI_Wait(GEX_EC_PUT, 0);
    } else {
        gex_Event_Wait(
            gex_VIS_StridedPutNB(job.tm, peer, dest, wide, rows, dense, row, steps, 1, 0));
    }
}

/* Puts of 0 bytes run the handler, too. */
static void put_nothing_with_notice(gex_Rank_t peer)
{
    const ptrdiff_t dense[] = {8};
    const size_t none[] = {0};

    gex_VIS_SetPeerCompletionHandler(notice_index, NULL, 0, 0);
    gex_VIS_StridedPutBlocking(job.tm, peer, NULL, dense, NULL, dense, 8, none, 1, 0);
    gex_VIS_SetPeerCompletionHandler(notice_index, NULL, 0, 0);
    gex_VIS_IndexedPutBlocking(job.tm, peer, 0, NULL, 8, 0, NULL, 8, 0);
}

static void await_notices(uint64_t count)
{
    while (atomic_load(&notices) < count)
        gasnet_AMPoll();
}

static void vis_peer(void)
{
    static uint64_t expected; /* since the start, because peers may be ahead of this rank */
    unsigned char *message = conform_alloc(GEX_VIS_MAX_PEERCOMPLETION);
    unsigned char *rows = conform_alloc(ROWS * ROW);
    gex_Memvec_t piece = {rows, 8}, there;

    CHECK(GEX_VIS_MAX_PEERCOMPLETION >= 127, "at least 127 bytes must be possible, not %zu",
          (size_t)GEX_VIS_MAX_PEERCOMPLETION);
    memset(message, 0, GEX_VIS_MAX_PEERCOMPLETION);
    for (int round = 0; round < ROUNDS; round++) {
        for (gex_Rank_t peer = 0; peer < job.size; peer++)
            put_with_notice(peer, round, message, rows);
        expected += job.size;
        await_notices(expected);
        conform_barrier();
    }
    for (gex_Rank_t peer = 0; peer < job.size; peer++)
        put_nothing_with_notice(peer);
    expected += 2 * (uint64_t)job.size;
    await_notices(expected);
    conform_barrier();
    /* A put runs no handler if the setting was used by another put or withdrawn. */
    there.gex_addr = conform_slot(job.rank, job.rank, 0);
    there.gex_len = 8;
    gex_VIS_VectorPutBlocking(job.tm, job.rank, 1, &there, 1, &piece, 0);
    gex_VIS_SetPeerCompletionHandler(notice_index, NULL, 0, 0);
    gex_VIS_SetPeerCompletionHandler(0, NULL, 0, 0);
    gex_VIS_VectorPutBlocking(job.tm, job.rank, 1, &there, 1, &piece, 0);
    conform_barrier();
    for (int i = 0; i < 100; i++)
        gasnet_AMPoll();
    CHECK(atomic_load(&notices) == expected, "%llu handlers should have run, not %llu",
          (unsigned long long)expected, (unsigned long long)atomic_load(&notices));
    free(message);
    free(rows);
}

void conform_vis_setup(void)
{
    gex_AM_Entry_t table[1];

    memset(table, 0, sizeof(table));
    table[0].gex_fnptr = (gex_AM_Fn_t)on_notice;
    table[0].gex_flags = GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY;
    table[0].gex_name = "vis_notice";
    conform_register(table, 1);
    notice_index = table[0].gex_index;
}

const conform_test_t conform_vis_tests[] = {
    {"vis-vector", vis_vector, "vector put and get: any pieces, all ways to complete"},
    {"vis-indexed", vis_indexed, "indexed put and get: any lengths on the two sides"},
    {"vis-strided", vis_strided, "strided put and get: up to 5 levels, transposed, backwards"},
    {"vis-gasnet1", vis_gasnet1, "the GASNet-1 forms of all three"},
    {"vis-nothing", vis_nothing, "operations without any bytes ignore their other arguments"},
    {"vis-peer", vis_peer, "peer completion: the handler runs once, after the data has arrived"},
    {NULL, NULL, NULL}};
