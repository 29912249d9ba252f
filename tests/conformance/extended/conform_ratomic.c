/* SPDX-License-Identifier: BSD-3-Clause */
/* Remote atomics: each operation on each type against a serial model, and under contention. */
#include "../conform.h"

#include <gasnet_ratomic.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define COUNTS 1280 /* additions of each rank, all its threads together; a multiple of 64 */
#define HOT 20      /* additions to one rank before a thread goes on to the next */
#define LOCKED 60   /* acquisitions of the lock by each rank */
#define THREADS_MAX 64
#define SHARED 4096 /* offset of the data that all ranks use, behind a cache line for each rank */
#define BITS (SHARED + 1024)

/* A value of any type. Reals are multiples of a quarter, so that results are exact. */
typedef union {
    int64_t i;
    uint64_t u;
    double r;
} value_t;

typedef struct {
    const char *name;
    gex_DT_t dt;
    char kind; /* the member of value_t that is used: i, u or r */
    size_t bytes;
    value_t (*read)(const void *at);
    gex_Event_t (*nb)(gex_AD_t ad, void *result, gex_Rank_t rank, void *at, gex_OP_t op, value_t a,
                      value_t b, gex_Flags_t flags);
    int (*nbi)(gex_AD_t ad, void *result, gex_Rank_t rank, void *at, gex_OP_t op, value_t a,
               value_t b, gex_Flags_t flags);
    /* As nb, but the opcode is a constant for the compiler. */
    gex_Event_t (*fixed)(gex_AD_t ad, void *result, gex_Rank_t rank, void *at, gex_OP_t op,
                         value_t a, value_t b, gex_Flags_t flags);
} type_t;

/* clang-format off */
#define EACH_OP(X, S) \
    X(S, SET) X(S, CAS) X(S, GET) X(S, SWAP) X(S, FCAS) X(S, ADD) \
    X(S, SUB) X(S, MULT) X(S, MIN) X(S, MAX) X(S, INC) X(S, DEC) \
    X(S, AND) X(S, OR) X(S, XOR) X(S, FADD) X(S, FSUB) X(S, FMULT) \
    X(S, FMIN) X(S, FMAX) X(S, FINC) X(S, FDEC) X(S, FAND) X(S, FOR) \
    X(S, FXOR)
/* clang-format on */

#define FIXED_CASE(S, OP)                                                                          \
    case GEX_OP_##OP:                                                                              \
        return gex_AD_OpNB_##S(ad, result, rank, at, GEX_OP_##OP, x, y, flags);

#define TYPE(S, T, MEMBER)                                                                         \
    static value_t read_##S(const void *at)                                                        \
    {                                                                                              \
        value_t out = {0};                                                                         \
        T value;                                                                                   \
        memcpy(&value, at, sizeof(T));                                                             \
        out.MEMBER = value;                                                                        \
        return out;                                                                                \
    }                                                                                              \
    static gex_Event_t nb_##S(gex_AD_t ad, void *result, gex_Rank_t rank, void *at, gex_OP_t op,   \
                              value_t a, value_t b, gex_Flags_t flags)                             \
    {                                                                                              \
        return gex_AD_OpNB_##S(ad, result, rank, at, op, (T)a.MEMBER, (T)b.MEMBER, flags);         \
    }                                                                                              \
    static int nbi_##S(gex_AD_t ad, void *result, gex_Rank_t rank, void *at, gex_OP_t op,          \
                       value_t a, value_t b, gex_Flags_t flags)                                    \
    {                                                                                              \
        return gex_AD_OpNBI_##S(ad, result, rank, at, op, (T)a.MEMBER, (T)b.MEMBER, flags);        \
    }                                                                                              \
    static gex_Event_t fixed_##S(gex_AD_t ad, void *result, gex_Rank_t rank, void *at,             \
                                 gex_OP_t op, value_t a, value_t b, gex_Flags_t flags)             \
    {                                                                                              \
        const T x = (T)a.MEMBER, y = (T)b.MEMBER;                                                  \
        switch (op) {                                                                              \
            EACH_OP(FIXED_CASE, S)                                                                 \
        default:                                                                                   \
            return GEX_EVENT_NO_OP;                                                                \
        }                                                                                          \
    }

TYPE(I32, int32_t, i)
TYPE(U32, uint32_t, u)
TYPE(I64, int64_t, i)
TYPE(U64, uint64_t, u)
TYPE(FLT, float, r)
TYPE(DBL, double, r)

#define ROW(S, T, KIND)                                                                            \
    {                                                                                              \
#S, GEX_DT_##S, KIND, sizeof(T), read_##S, nb_##S, nbi_##S, fixed_##S                      \
    }
static const type_t types[] = {ROW(I32, int32_t, 'i'), ROW(U32, uint32_t, 'u'),
                               ROW(I64, int64_t, 'i'), ROW(U64, uint64_t, 'u'),
                               ROW(FLT, float, 'r'),   ROW(DBL, double, 'r')};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

#define OR_OP(S, OP) | GEX_OP_##OP
static const gex_OP_t all_ops = 0 EACH_OP(OR_OP, );
static const gex_OP_t bitwise =
    GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR | GEX_OP_FAND | GEX_OP_FOR | GEX_OP_FXOR;

static gex_OP_t ops_of(const type_t *type)
{
    return type->kind == 'r' ? all_ops & ~bitwise : all_ops;
}

static unsigned char *inbox_at(gex_Rank_t rank, size_t offset)
{
    return job.base[rank] + CONFORM_INBOX + offset;
}

static gex_AD_t make_domain(gex_DT_t dt, gex_OP_t ops, gex_Flags_t flags)
{
    gex_AD_t ad = GEX_AD_INVALID;

    gex_AD_Create(&ad, job.tm, dt, ops, flags);
    CHECK(ad != GEX_AD_INVALID, "a new domain should not be GEX_AD_INVALID");
    return ad;
}

/* The barrier ensures that no rank uses the domain any more. */
static void drop_domain(gex_AD_t ad)
{
    conform_barrier();
    gex_AD_Destroy(ad);
}

/* ---- the serial model ---- */

static int is_fetching(gex_OP_t op)
{
    return op == GEX_OP_GET || op == GEX_OP_SWAP || op == GEX_OP_FCAS || op > GEX_OP_CAS;
}

static gex_OP_t plain_of(gex_OP_t op)
{
    return op == GEX_OP_GET || !is_fetching(op) ? op : GEX_OP_TO_NONFETCHING(op);
}

static int64_t model_i(gex_OP_t op, int64_t old, int64_t a, int64_t b)
{
    switch (op) {
    case GEX_OP_ADD:
        return old + a;
    case GEX_OP_SUB:
        return old - a;
    case GEX_OP_MULT:
        return old * a;
    case GEX_OP_MIN:
        return old < a ? old : a;
    case GEX_OP_MAX:
        return old > a ? old : a;
    case GEX_OP_INC:
        return old + 1;
    case GEX_OP_DEC:
        return old - 1;
    case GEX_OP_SET:
        return a;
    case GEX_OP_CAS:
        return old == a ? b : old;
    case GEX_OP_AND:
        return old & a;
    case GEX_OP_OR:
        return old | a;
    case GEX_OP_XOR:
        return old ^ a;
    default:
        return old;
    }
}

static uint64_t model_u(gex_OP_t op, uint64_t old, uint64_t a, uint64_t b)
{
    switch (op) {
    case GEX_OP_ADD:
        return old + a;
    case GEX_OP_SUB:
        return old - a;
    case GEX_OP_MULT:
        return old * a;
    case GEX_OP_MIN:
        return old < a ? old : a;
    case GEX_OP_MAX:
        return old > a ? old : a;
    case GEX_OP_INC:
        return old + 1;
    case GEX_OP_DEC:
        return old - 1;
    default:
        return (uint64_t)model_i(op, (int64_t)old, (int64_t)a, (int64_t)b);
    }
}

static double model_r(gex_OP_t op, double old, double a, double b)
{
    switch (op) {
    case GEX_OP_ADD:
        return old + a;
    case GEX_OP_SUB:
        return old - a;
    case GEX_OP_MULT:
        return old * a;
    case GEX_OP_MIN:
        return old < a ? old : a;
    case GEX_OP_MAX:
        return old > a ? old : a;
    case GEX_OP_INC:
        return old + 1;
    case GEX_OP_DEC:
        return old - 1;
    case GEX_OP_SET:
        return a;
    case GEX_OP_CAS:
        return old == a ? b : old;
    default:
        return old;
    }
}

static value_t model_value(const type_t *type, gex_OP_t op, value_t old, value_t a, value_t b)
{
    value_t out = {0};

    if (type->kind == 'i')
        out.i = model_i(plain_of(op), old.i, a.i, b.i);
    else if (type->kind == 'r')
        out.r = model_r(plain_of(op), old.r, a.r, b.r);
    else
        out.u = model_u(plain_of(op), old.u, a.u, b.u);
    if (type->dt == GEX_DT_U32)
        out.u = (uint32_t)out.u;
    return out;
}

/* Signed values are small, so that no operation overflows. Unsigned ones wrap. */
static value_t any_value(const type_t *type, uint64_t *state)
{
    const uint64_t x = conform_random(state);
    value_t out = {0};

    if (type->kind == 'i')
        out.i = (int64_t)(x % 20001) - 10000;
    else if (type->kind == 'r')
        out.r = ((double)(x % 4001) - 2000) / 4;
    else
        out.u = type->bytes == 4 ? (uint32_t)x : x;
    return out;
}

/* ---- each operation alone ---- */

/* Initiates an operation and waits for it, in one of 3 ways. */
static void atomic_wait(const type_t *type, int way, gex_AD_t ad, void *result, gex_Rank_t to,
                        void *at, gex_OP_t op, value_t a, value_t b, gex_Flags_t flags)
{
    const gex_EC_t category = op == GEX_OP_SET   ? GEX_EC_PUT
                              : op == GEX_OP_GET ? GEX_EC_GET
                                                 : GEX_EC_RMW;
    if (way == 2) {
        CHECK(type->nbi(ad, result, to, at, op, a, b, flags) == 0,
              "an implicit atomic without IMMEDIATE must return 0");
        gex_NBI_Wait(category, 0);
        return;
    }
    gex_Event_t event = (way ? type->nb : type->fixed)(ad, result, to, at, op, a, b, flags);
    CHECK(event != GEX_EVENT_NO_OP, "without IMMEDIATE no atomic may return GEX_EVENT_NO_OP");
    gex_Event_Wait(event);
}

static void check_value(const type_t *type, gex_OP_t op, gex_Rank_t to, const void *got,
                        value_t expected, const char *what)
{
    const value_t value = type->read(got);

    CHECK(memcmp(&value, &expected, sizeof(value)) == 0,
          "operation 0x%x of type %s on rank %u: %s should have the bits 0x%llx, but has 0x%llx",
          (unsigned)op, type->name, (unsigned)to, what, (unsigned long long)expected.u,
          (unsigned long long)value.u);
}

/* Sets a word between two guards, which no other rank uses, changes it and reads it. */
static void try_op(const type_t *type, int way, gex_AD_t ad, gex_Rank_t to, gex_OP_t op,
                   uint64_t *state)
{
    static const gex_Flags_t orders[] = {0, GEX_FLAG_AD_ACQ, GEX_FLAG_AD_REL,
                                         GEX_FLAG_AD_ACQ | GEX_FLAG_AD_REL};
    const gex_Flags_t flags = orders[conform_random(state) % 4] |
                              (conform_random(state) % 2 ? GEX_FLAG_RANK_IS_JOBRANK : 0) |
                              (to == job.rank ? GEX_FLAG_AD_MY_RANK : 0);
    const value_t old = any_value(type, state), b = any_value(type, state);
    const int same = conform_random(state) % 2;
    const value_t a = same ? old : any_value(type, state);
    unsigned char *at = inbox_at(to, 64 * (size_t)job.rank + 8);
    unsigned char result[24];

    memset(result, 0x5a, sizeof(result));
    atomic_wait(type, 1, ad, NULL, to, at, GEX_OP_SET, old, b, 0);
    atomic_wait(type, way, ad, is_fetching(op) ? result + 8 : NULL, to, at, op, a, b, flags);
    if (is_fetching(op))
        check_value(type, op, to, result + 8, old, "the fetched value");
    memset(result + 8, 0x5a, is_fetching(op) ? type->bytes : 0);
    for (size_t i = 0; i < sizeof(result); i++)
        CHECK(result[i] == 0x5a, "byte %zu outside of the result was written", i);
    atomic_wait(type, 0, ad, result + 8, to, at, GEX_OP_GET, a, b, 0);
    check_value(type, op, to, result + 8, model_value(type, op, old, a, b), "the target");
}

/* Checks the bytes before and after the target. */
static void check_guards(gex_Rank_t to, size_t bytes)
{
    unsigned char line[64];

    gex_RMA_GetBlocking(job.tm, line, to, inbox_at(to, 64 * (size_t)job.rank), 64, 0);
    for (size_t i = 0; i < 64; i++)
        CHECK((i >= 8 && i < 8 + bytes) || line[i] == 0xa5,
              "byte %zu outside of the target on rank %u was written", i, (unsigned)to);
}

static void try_type(const type_t *type, uint64_t *state)
{
    const gex_AD_t ad = make_domain(type->dt, ops_of(type), 0);

    memset(inbox_at(job.rank, 0), 0xa5, 64 * (size_t)job.size);
    conform_barrier();
    for (gex_Rank_t to = 0; to < job.size; to++) {
        for (gex_OP_t op = 1; op <= GEX_OP_GET; op <<= 1)
            for (int way = 0; way < 3 && (op & ops_of(type)); way++)
                try_op(type, way, ad, to, op, state);
        check_guards(to, type->bytes);
    }
    drop_domain(ad);
}

static void test_operations(void)
{
    uint64_t state = conform_stream(61);

    for (int t = 0; t < TYPES; t++)
        try_type(&types[t], &state);
}

/* ---- contention ---- */

static void run_threads(void *(*body)(void *))
{
#ifdef GASNET_SEQ
    int zero = 0;
    body(&zero);
#else
    static int numbers[THREADS_MAX];
    pthread_t threads[THREADS_MAX];

    for (int t = 0; t < job.threads; t++)
        numbers[t] = t;
    for (int t = 1; t < job.threads; t++)
        CHECK(pthread_create(&threads[t], NULL, body, &numbers[t]) == 0,
              "thread %d could not be created", t);
    body(&numbers[0]);
    for (int t = 1; t < job.threads; t++)
        pthread_join(threads[t], NULL);
#endif
}

/* The counters of each rank, one per cache line. */
enum { TICKET, SMALL, REAL, FLAT, LEAST, MOST, COUNTERS };
static gex_AD_t domains[COUNTERS], bit_domain;

static void *counter_at(gex_Rank_t rank, int which)
{
    return inbox_at(rank, SHARED + 64 * (size_t)which);
}

static int counts_of(int thread)
{
    return COUNTS / job.threads + (thread < COUNTS % job.threads);
}

/* Sets the bit of a ticket in the bitmap of its owner, where it must not be set yet. */
static void mark_ticket(gex_Rank_t owner, uint64_t ticket)
{
    const uint64_t bit = UINT64_C(1) << ticket % 64;
    uint64_t old;

    CHECK(ticket < (uint64_t)COUNTS * job.size, "ticket %llu of rank %u was never issued",
          (unsigned long long)ticket, (unsigned)owner);
    gex_Event_Wait(gex_AD_OpNB_U64(bit_domain, &old, owner, inbox_at(owner, BITS + ticket / 64 * 8),
                                   GEX_OP_FOR, bit, 0, 0));
    CHECK(!(old & bit), "ticket %llu of rank %u was given twice", (unsigned long long)ticket,
          (unsigned)owner);
}

static void *count_body(void *arg)
{
    const int thread = *(const int *)arg;
    uint64_t last = 0, ticket;

    for (int i = 0; i < counts_of(thread); i++) {
        const gex_Rank_t to = (gex_Rank_t)i / HOT % job.size;
        const int64_t mine = (int64_t)job.rank * 100000 + thread * 1000 + i;

        gex_Event_Wait(gex_AD_OpNB_U64(domains[TICKET], &ticket, 0, counter_at(0, TICKET),
                                       GEX_OP_FADD, 1, 0, 0));
        CHECK(i == 0 || ticket > last, "ticket %llu came after %llu", (unsigned long long)ticket,
              (unsigned long long)last);
        last = ticket;
        mark_ticket(0, ticket);
        gex_AD_OpNBI_I32(domains[SMALL], NULL, to, counter_at(to, SMALL), GEX_OP_DEC, 0, 0, 0);
        gex_AD_OpNBI_DBL(domains[REAL], NULL, to, counter_at(to, REAL), GEX_OP_ADD, 0.5, 0, 0);
        gex_AD_OpNBI_FLT(domains[FLAT], NULL, to, counter_at(to, FLAT), GEX_OP_SUB, 1, 0, 0);
        gex_AD_OpNBI_I64(domains[LEAST], NULL, to, counter_at(to, LEAST), GEX_OP_MIN, -mine, 0, 0);
        gex_AD_OpNBI_U32(domains[MOST], NULL, to, counter_at(to, MOST), GEX_OP_MAX, (uint32_t)mine,
                         0, 0);
    }
    gex_NBI_Wait(GEX_EC_RMW, 0);
    return NULL;
}

static void check_tickets(void)
{
    uint64_t value;

    memcpy(&value, counter_at(0, TICKET), 8);
    CHECK(value == (uint64_t)COUNTS * job.size, "%llu tickets were issued instead of %llu",
          (unsigned long long)value, (unsigned long long)COUNTS * job.size);
    for (size_t i = 0; i < (size_t)COUNTS / 64 * job.size; i++) {
        memcpy(&value, inbox_at(0, BITS + 8 * i), 8);
        CHECK(value == UINT64_MAX, "of tickets %zu to %zu only those in 0x%llx were given", 64 * i,
              64 * i + 63, (unsigned long long)value);
    }
}

/* Compares the counters of this rank with the additions that all threads of all ranks made. */
static void check_counters(void)
{
    int64_t additions = 0, most = 0;
    int32_t small;
    double real;
    float flat;
    int64_t least;
    uint32_t top;

    for (gex_Rank_t r = 0; r < job.size; r++)
        for (int t = 0; t < job.threads; t++)
            for (int i = 0; i < counts_of(t); i++) {
                const int64_t mine = (int64_t)r * 100000 + t * 1000 + i;
                if ((gex_Rank_t)i / HOT % job.size != job.rank)
                    continue;
                additions++;
                most = mine > most ? mine : most;
            }
    memcpy(&small, counter_at(job.rank, SMALL), sizeof(small));
    memcpy(&real, counter_at(job.rank, REAL), sizeof(real));
    memcpy(&flat, counter_at(job.rank, FLAT), sizeof(flat));
    memcpy(&least, counter_at(job.rank, LEAST), sizeof(least));
    memcpy(&top, counter_at(job.rank, MOST), sizeof(top));
    CHECK(small == -additions, "DEC gave %d instead of %lld", (int)small, -(long long)additions);
    CHECK(real == 0.5 * (double)additions, "ADD gave %g instead of %g", real,
          0.5 * (double)additions);
    CHECK((double)flat == -(double)additions, "SUB gave %g instead of %lld", (double)flat,
          -(long long)additions);
    CHECK(least == -most, "MIN gave %lld instead of %lld", (long long)least, -(long long)most);
    CHECK(top == most, "MAX gave %u instead of %lld", (unsigned)top, (long long)most);
}

static void test_count(void)
{
    static const gex_DT_t dts[COUNTERS] = {GEX_DT_U64, GEX_DT_I32, GEX_DT_DBL,
                                           GEX_DT_FLT, GEX_DT_I64, GEX_DT_U32};
    static const gex_OP_t ops[COUNTERS] = {GEX_OP_FADD, GEX_OP_DEC, GEX_OP_ADD,
                                           GEX_OP_SUB,  GEX_OP_MIN, GEX_OP_MAX};

    memset(inbox_at(job.rank, SHARED), 0, BITS - SHARED + COUNTS / 8 * job.size);
    for (int i = 0; i < COUNTERS; i++)
        domains[i] = make_domain(dts[i], ops[i], 0);
    bit_domain = make_domain(GEX_DT_U64, GEX_OP_FOR, 0);
    conform_barrier();
    run_threads(count_body);
    conform_barrier();
    if (job.rank == 0)
        check_tickets();
    check_counters();
    for (int i = 0; i < COUNTERS; i++)
        drop_domain(domains[i]);
    drop_domain(bit_domain);
}

/* ---- one indivisible read, computation and write ---- */

static gex_AD_t sum_domain, product_domain;

/* There are many operations if the memory of rank 0 is mapped: two threads must collide between a
 * read and a write. */
static int hammer_count(void)
{
    void *here = NULL;

    gex_Segment_QueryBound(job.tm, 0, NULL, &here, NULL);
    return (here ? 400000 : 300) / job.threads;
}

static void *hammer_body(void *arg)
{
    const int n = hammer_count();

    (void)arg;
    for (int i = 0; i < n; i++) {
        gex_AD_OpNBI_DBL(sum_domain, NULL, 0, inbox_at(0, SHARED), GEX_OP_ADD, 1, 0, 0);
        gex_AD_OpNBI_U64(product_domain, NULL, 0, inbox_at(0, SHARED + 64), GEX_OP_MULT, 3, 0, 0);
    }
    gex_NBI_Wait(GEX_EC_RMW, 0);
    return NULL;
}

static void check_hammered(uint64_t hammered)
{
    double sum;
    uint64_t product, expected = 1;

    memcpy(&sum, inbox_at(0, SHARED), sizeof(sum));
    memcpy(&product, inbox_at(0, SHARED + 64), sizeof(product));
    for (uint64_t i = 0; i < hammered; i++)
        expected *= 3;
    CHECK(sum == (double)hammered, "the sum is %g instead of %llu", sum,
          (unsigned long long)hammered);
    CHECK(product == expected, "the product is 0x%llx instead of 0x%llx",
          (unsigned long long)product, (unsigned long long)expected);
}

static void test_hammer(void)
{
    const double zero = 0;
    const uint64_t one = 1;
    uint64_t each[64], total = 0;

    memcpy(inbox_at(job.rank, SHARED), &zero, sizeof(zero));
    memcpy(inbox_at(job.rank, SHARED + 64), &one, sizeof(one));
    sum_domain = make_domain(GEX_DT_DBL, GEX_OP_ADD, 0);
    product_domain = make_domain(GEX_DT_U64, GEX_OP_MULT, 0);
    conform_exchange((uint64_t)hammer_count() * (uint64_t)job.threads, each);
    run_threads(hammer_body);
    conform_barrier();
    for (gex_Rank_t r = 0; r < job.size; r++)
        total += each[r];
    if (job.rank == 0)
        check_hammered(total);
    drop_domain(sum_domain);
    drop_domain(product_domain);
}

/* ---- a lock made of compare-and-swap ---- */

static gex_AD_t lock_domain;

static void lock_acquire(uint32_t me)
{
    uint32_t holder;

    for (;;) {
        gex_Event_Wait(gex_AD_OpNB_U32(lock_domain, &holder, 0, inbox_at(0, SHARED), GEX_OP_FCAS, 0,
                                       me, GEX_FLAG_AD_ACQ));
        CHECK(holder != me, "0x%x holds the lock that it tries to take", (unsigned)me);
        if (holder == 0)
            return;
        gasnet_AMPoll();
    }
}

/* Plain gets and puts change the data that the lock protects: if two ranks hold the lock, one
 * update is lost. */
static void *take_turns(void *arg)
{
    const int thread = *(const int *)arg;
    const uint32_t me = (uint32_t)job.rank * THREADS_MAX + (uint32_t)thread + 1;
    const int turns = LOCKED / job.threads + (thread < LOCKED % job.threads);
    uint64_t pair[2];

    for (int i = 0; i < turns; i++) {
        lock_acquire(me);
        gex_RMA_GetBlocking(job.tm, pair, 0, inbox_at(0, SHARED + 64), sizeof(pair), 0);
        CHECK(pair[0] == pair[1], "the two words differ: %llu and %llu",
              (unsigned long long)pair[0], (unsigned long long)pair[1]);
        pair[0]++;
        pair[1]++;
        gex_RMA_PutBlocking(job.tm, 0, inbox_at(0, SHARED + 64), &pair[0], 8, 0);
        gex_RMA_PutBlocking(job.tm, 0, inbox_at(0, SHARED + 72), &pair[1], 8, 0);
        gex_Event_Wait(gex_AD_OpNB_U32(lock_domain, NULL, 0, inbox_at(0, SHARED), GEX_OP_SET, 0, 0,
                                       GEX_FLAG_AD_REL));
    }
    return NULL;
}

static void test_lock(void)
{
    uint64_t pair[2];

    memset(inbox_at(job.rank, SHARED), 0, 128);
    lock_domain = make_domain(GEX_DT_U32, GEX_OP_FCAS | GEX_OP_SET, 0);
    conform_barrier();
    run_threads(take_turns);
    conform_barrier();
    gex_RMA_GetBlocking(job.tm, pair, 0, inbox_at(0, SHARED + 64), sizeof(pair), 0);
    CHECK(pair[0] == (uint64_t)LOCKED * job.size, "%llu turns were counted instead of %llu",
          (unsigned long long)pair[0], (unsigned long long)LOCKED * job.size);
    drop_domain(lock_domain);
}

/* ---- implicit operations ---- */

#define BURST 40

/* Initiates many at a time with IMMEDIATE. Those that are refused must have no effect. */
static void fadd_burst(gex_AD_t ad, gex_Rank_t to, int64_t *accepted)
{
    int64_t fetched[BURST];
    char used[BURST] = {0};

    for (int i = 0; i < BURST; i++) {
        const int refused =
            gex_AD_OpNBI_I64(ad, &fetched[i], to, inbox_at(to, 64 * (size_t)job.rank), GEX_OP_FADD,
                             1, 0, GEX_FLAG_IMMEDIATE);
        used[i] = !refused;
        if (refused)
            gasnet_AMPoll();
    }
    gex_NBI_Wait(GEX_EC_RMW, 0);
    for (int i = 0, j; i < BURST; i++) {
        for (j = 0; used[i] && j < i; j++)
            CHECK(!used[j] || fetched[i] != fetched[j], "%lld was fetched twice",
                  (long long)fetched[i]);
        CHECK(!used[i] || (fetched[i] >= 0 && fetched[i] < *accepted + BURST),
              "%lld was fetched, but never stored", (long long)fetched[i]);
        *accepted += used[i];
    }
}

/* Checks a word that only this rank changes. */
static void check_word(gex_AD_t ad, gex_Rank_t to, int64_t expected)
{
    int64_t value = -1;
    gex_Event_t event;

    gex_NBI_BeginAccessRegion(0);
    gex_AD_OpNBI_I64(ad, &value, to, inbox_at(to, 64 * (size_t)job.rank), GEX_OP_GET, 0, 0, 0);
    event = gex_NBI_EndAccessRegion(0);
    gex_Event_Wait(event);
    CHECK(value == expected, "rank %u has %lld instead of %lld", (unsigned)to, (long long)value,
          (long long)expected);
}

static void test_implicit(void)
{
    const gex_AD_t ad = make_domain(GEX_DT_I64, GEX_OP_SET | GEX_OP_GET | GEX_OP_FADD, 0);

    for (gex_Rank_t to = 0; to < job.size; to++) {
        int64_t accepted = 0, before = 0;
        gex_AD_OpNBI_I64(ad, NULL, to, inbox_at(to, 64 * (size_t)job.rank), GEX_OP_SET, 0, 0, 0);
        gex_NBI_Wait(GEX_EC_PUT, 0);
        fadd_burst(ad, to, &accepted);
        check_word(ad, to, accepted);
        gex_AD_OpNBI_I64(ad, &before, to, inbox_at(to, 64 * (size_t)job.rank), GEX_OP_FADD, -5, 0,
                         0);
        while (gex_NBI_Test(GEX_EC_RMW, 0) != GASNET_OK)
            gasnet_AMPoll();
        CHECK(before == accepted, "the fetched value is %lld instead of %lld", (long long)before,
              (long long)accepted);
        check_word(ad, to, accepted - 5);
    }
    drop_domain(ad);
}

/* ---- sums and swaps ---- */

#define SWAP_ROUNDS 40

/* Changes the memory of rank `to`: a counter that only grows, a sum, and a counter made of
 * compare-and-swaps. */
static void sum_and_swap(gex_AD_t ad, gex_Rank_t to, uint64_t *last)
{
    uint64_t seen, old, *const results[] = {&seen, NULL, NULL, NULL};
    static const gex_OP_t ops[] = {GEX_OP_FADD, GEX_OP_SUB, GEX_OP_INC, GEX_OP_DEC};

    for (int i = 0; i < 4; i++)
        gex_AD_OpNBI_U64(ad, results[i], to, counter_at(to, i > 0), ops[i], i ? 5 : 1, 0, 0);
    gex_NBI_Wait(GEX_EC_RMW, 0);
    CHECK(*last == UINT64_MAX || seen > *last, "rank %u: %llu came after %llu", (unsigned)to,
          (unsigned long long)seen, (unsigned long long)*last);
    *last = seen;
    gex_Event_Wait(gex_AD_OpNB_U64(ad, &old, to, counter_at(to, 2), GEX_OP_GET, 0, 0, 0));
    for (;;) {
        gex_Event_Wait(
            gex_AD_OpNB_U64(ad, &seen, to, counter_at(to, 2), GEX_OP_FCAS, old, old + 1, 0));
        if (seen == old)
            break;
        old = seen;
        gasnet_AMPoll();
    }
}

/* Uses operations that network adapters offer, on memory that its owner does not access. So
 * adapters need not be atomic with respect to processors. */
static void test_away(void)
{
    const gex_AD_t ad = make_domain(
        GEX_DT_U64, GEX_OP_FADD | GEX_OP_SUB | GEX_OP_INC | GEX_OP_DEC | GEX_OP_GET | GEX_OP_FCAS,
        0);
    const uint64_t all = SWAP_ROUNDS * (uint64_t)(job.size - 1), wanted[] = {all, 0 - 5 * all, all};
    uint64_t last[64], value;

    memset(inbox_at(job.rank, SHARED), 0, 3 * 64);
    memset(last, 0xff, sizeof(last));
    conform_barrier();
    for (int i = 0; i < SWAP_ROUNDS; i++)
        for (gex_Rank_t to = 0; to < job.size; to++)
            if (to != job.rank)
                sum_and_swap(ad, to, &last[to]);
    conform_barrier();
    for (int which = 0; which < 3; which++) {
        memcpy(&value, counter_at(job.rank, which), sizeof(value));
        CHECK(value == wanted[which], "word %d has 0x%llx instead of 0x%llx", which,
              (unsigned long long)value, (unsigned long long)wanted[which]);
    }
    drop_domain(ad);
}

/* ---- domains ---- */

static void check_domain(gex_DT_t dt, gex_OP_t ops, gex_Flags_t flags)
{
    int word = 0;
    const gex_AD_t ad = make_domain(dt, ops, flags);

    CHECK(gex_AD_QueryTM(ad) == job.tm, "a domain should name its team");
    CHECK(gex_AD_QueryDT(ad) == dt, "a domain of type 0x%x reports 0x%x", (unsigned)dt,
          (unsigned)gex_AD_QueryDT(ad));
    CHECK(gex_AD_QueryOps(ad) == ops, "a domain of operations 0x%x reports 0x%x", (unsigned)ops,
          (unsigned)gex_AD_QueryOps(ad));
    CHECK(gex_AD_QueryFlags(ad) == flags, "a domain of flags 0x%x reports 0x%x", (unsigned)flags,
          (unsigned)gex_AD_QueryFlags(ad));
    CHECK(gex_AD_QueryCData(ad) == NULL, "the CData of a new domain should be NULL");
    gex_AD_SetCData(ad, &word);
    CHECK(gex_AD_QueryCData(ad) == &word, "a domain lost its CData");
    drop_domain(ad);
}

/* Uses two domains of the same type on different words, and a third one of another type. */
static void use_three_domains(void)
{
    const gex_AD_t first = make_domain(GEX_DT_U32, GEX_OP_ADD, 0);
    const gex_AD_t second = make_domain(GEX_DT_U32, GEX_OP_ADD, 0);
    const gex_AD_t third = make_domain(GEX_DT_DBL, GEX_OP_MULT, 0);
    uint32_t sums[2];
    double product;
    double one = 1;

    CHECK(first != second, "domains made by two calls should differ");
    memset(inbox_at(job.rank, SHARED), 0, 192);
    memcpy(inbox_at(job.rank, SHARED + 128), &one, sizeof(one));
    conform_barrier();
    for (gex_Rank_t to = 0; to < job.size; to++) {
        gex_AD_OpNBI_U32(first, NULL, to, inbox_at(to, SHARED), GEX_OP_ADD, 3, 0, 0);
        gex_AD_OpNBI_U32(second, NULL, to, inbox_at(to, SHARED + 64), GEX_OP_ADD, 5, 0, 0);
        gex_AD_OpNBI_DBL(third, NULL, to, inbox_at(to, SHARED + 128), GEX_OP_MULT, 2, 0, 0);
    }
    gex_NBI_Wait(GEX_EC_ALL, 0);
    conform_barrier();
    memcpy(&sums[0], inbox_at(job.rank, SHARED), 4);
    memcpy(&sums[1], inbox_at(job.rank, SHARED + 64), 4);
    memcpy(&product, inbox_at(job.rank, SHARED + 128), 8);
    CHECK(sums[0] == 3 * job.size && sums[1] == 5 * job.size,
          "the sums are %u and %u with %u ranks", (unsigned)sums[0], (unsigned)sums[1],
          (unsigned)job.size);
    for (gex_Rank_t r = 0; r < job.size; r++)
        product /= 2;
    CHECK(product == 1, "the product is %g times the expected one", product);
    drop_domain(third);
    drop_domain(first);
    drop_domain(second);
}

static void test_domains(void)
{
    for (int t = 0; t < TYPES; t++)
        check_domain(types[t].dt, ops_of(&types[t]), 0);
    check_domain(GEX_DT_I64, GEX_OP_GET, GEX_FLAG_AD_FAVOR_MY_RANK);
    check_domain(GEX_DT_I64, GEX_OP_FADD, GEX_FLAG_AD_FAVOR_MY_NBRHD);
    check_domain(GEX_DT_DBL, GEX_OP_SET | GEX_OP_FMAX, GEX_FLAG_AD_FAVOR_REMOTE);
    use_three_domains();
}

const conform_test_t conform_ratomic_tests[] = {
    {"atomic-ops", test_operations, "each atomic operation on each type, against a serial model"},
    {"atomic-count", test_count, "contended counters; each ticket is given once"},
    {"atomic-hammer", test_hammer, "all threads add to and multiply the same words"},
    {"atomic-lock", test_lock, "a lock made of compare-and-swap protects plain puts and gets"},
    {"atomic-nbi", test_implicit, "implicit atomics, their categories, and IMMEDIATE"},
    {"atomic-away", test_away, "sums and swaps in memory that its owner does not access"},
    {"atomic-domains", test_domains, "queries of atomic domains; several domains at once"},
    {NULL, NULL, NULL},
};
