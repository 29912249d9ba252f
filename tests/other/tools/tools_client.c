// SPDX-License-Identifier: BSD-3-Clause
// A client of the tools, in C and in C++, without a job or with one: uses each macro and function
// of README-tools that a unit test of the library cannot, since it depends on how a client is
// compiled. check-tools.sh compiles and runs it. Prints "tools: ok"; ends with 1 and the place of
// what is not as it should be.
#ifdef TOOLS_WITH_JOB
#include <gasnetex.h>
#endif
#include <gasnet_tools.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#if (defined(GASNETT_THREAD_SAFE) && GASNETT_THREAD_SAFE) != TOOLS_THREADS
#error "the mode of the tools is not the one that the client was compiled for"
#endif
#if !PLATFORM_OS_LINUX || !(PLATFORM_ARCH_64 ^ PLATFORM_ARCH_32) ||                                \
    !(PLATFORM_COMPILER_GNU ^ PLATFORM_COMPILER_CLANG) || !PLATFORM_COMPILER_VERSION_GE(4, 0, 0)
#error "gasnet_portable_platform.h does not know this platform"
#endif
// Other headers of this kind, such as that in mpi.h of Open MPI 5, stand back only then.
#if _PORTABLE_PLATFORM_H != PLATFORM_HEADER_VERSION || PLATFORM_HEADER_VERSION < 22
#error "gasnet_portable_platform.h has no number that other platform headers respect"
#endif
#if GASNETT_SPEC_VERSION_MAJOR != 1 || GASNETT_SPEC_VERSION_MINOR != 20
#error "not the specification that this client is written for"
#endif

GASNETT_IDENT(tools_client_ident, "$ToolsClient: (check-tools) a client of the tools $");

GASNETT_BEGIN_EXTERNC

GASNETT_THREADKEY_DECLARE(tools_key);
GASNETT_THREADKEY_DEFINE(tools_key);

GASNETT_INLINE(twice) int twice(int value)
{
    return 2 * value;
}
GASNETT_NEVER_INLINE(thrice, static int thrice(int value))
{
    return 3 * value;
}
static int square(int value) GASNETT_CONST;
GASNETT_CONSTP(square)
static int square(int value)
{
    return value * value;
}
GASNETT_PURE GASNETT_HOT static int first(const int *GASNETT_RESTRICT values)
{
    return values[0];
}
GASNETT_PUREP(first)
GASNETT_MALLOC GASNETT_WARN_UNUSED_RESULT static char *fresh(void)
{
    return (char *)calloc(1, 1);
}
GASNETT_MALLOCP(fresh)
GASNETT_COLD GASNETT_NORETURN static void leave(void)
{
    gasnett_killmyprocess(3);
}
GASNETT_NORETURNP(leave)
GASNETT_DEPRECATED int old_call(void);
GASNETT_USED static int nobody_calls_me(void)
{
    return 1;
}
static char said[32];
GASNETT_FORMAT_PRINTF(say, 1, 2, static void say(const char *format, ...))
{
    (void)snprintf(said, sizeof said, "%s", format);
}
GASNETT_FORMAT_PRINTF_FUNCPTR(sayer, 1, 2, static void (*sayer)(const char *, ...)) = say;

GASNETT_END_EXTERNC

static int fall_through(int from)
{
    int passed = 0;
    switch (from) {
    case 0:
        passed++;
        GASNETT_FALLTHROUGH
    case 1:
        passed++;
    }
    return passed;
}

static int sign_of(int value)
{
    gasnett_assume(value > -100);
    if_pf(value < 0) return -1;
    if_pt(value > 0) return 1;
    return 0;
}

static int sum_of_first(int a, int b)
{
    int turns = 0;
    GASNETT_UNUSED_ARGS1(turns++);
    GASNETT_UNUSED_ARGS2(turns++, 0);
    GASNETT_UNUSED_ARGS3(turns++, 0, 0);
    GASNETT_UNUSED_ARGS4(turns++, 0, 0, 0);
    GASNETT_UNUSED_ARGS5(turns++, 0, 0, 0, 0);
    GASNETT_UNUSED_ARGS6(turns++, 0, 0, 0, 0, 0);
    GASNETT_UNUSED_ARGS7(turns++, 0, 0, 0, 0, 0, 0);
    GASNETT_UNUSED_ARGS8(turns++, 0, 0, 0, 0, 0, 0, 0);
    CHECK(turns == 8);
    return GASNETT_UNUSED_ARGS1(b), a;
}

static void try_annotations(void)
{
    const int one[] = {1};
    char *memory = fresh();
    CHECK(twice(2) == 4 && thrice(2) == 6 && square(3) == 9 && first(one) == 1);
    CHECK(memory && *memory == 0);
    free(memory);
    sayer("%s", "x");
    CHECK(strcmp(said, "%s") == 0);
    CHECK(fall_through(0) == 2 && fall_through(1) == 1);
    CHECK(sign_of(-5) == -1 && sign_of(5) == 1 && sign_of(0) == 0);
    CHECK(sum_of_first(1, 2) == 1);
    CHECK(GASNETT_PREDICT_TRUE(4) && !GASNETT_PREDICT_FALSE(0));
    CHECK(gasnett_constant_p(3));
    CHECK(strstr(tools_client_ident, "ToolsClient"));
    CHECK(strcmp(GASNETT_CURRENT_FUNCTION, "try_annotations") == 0);
    CHECK((GASNETT_CACHE_LINE_BYTES & (GASNETT_CACHE_LINE_BYTES - 1)) == 0);
    CHECK(strlen(GASNETT_SYSTEM_TUPLE) > 2 && strlen(GASNETT_CONFIG_STRING) > 2);
    CHECK(GASNETT_SET_AFFINITY_SUPPORT);
}

static void try_trace(void)
{
    GASNETT_TRACE_SETMASK(GASNETT_TRACE_GETMASK());
    GASNETT_STATS_SETMASK(GASNETT_STATS_GETMASK());
    if (GASNETT_TRACE_ENABLED)
        GASNETT_TRACE_PRINTF("%d", 1);
    GASNETT_TRACE_PRINTF_FORCE("%d", 1);
    GASNETT_STATS_PRINTF("%d", 1);
    GASNETT_STATS_PRINTF_FORCE("%d", 1);
    GASNETT_STATS_DUMP(1);
}

static void try_barriers(void)
{
    gasnett_local_mb();
    gasnett_local_rmb();
    gasnett_local_wmb();
    gasnett_weak_mb();
    gasnett_weak_rmb();
    gasnett_weak_wmb();
    gasnett_compiler_fence();
    gasnett_spinloop_hint();
}

// Without threads a lock is nothing, in a debug build a flag.
static void try_locks(void)
{
    static gasnett_mutex_t mutex = GASNETT_MUTEX_INITIALIZER;
    static gasnett_cond_t cond = GASNETT_COND_INITIALIZER;
    static gasnett_rwlock_t rwlock = GASNETT_RWLOCK_INITIALIZER;
    gasnett_mutex_assertunlocked(&mutex);
    gasnett_mutex_lock(&mutex);
    gasnett_mutex_assertlocked(&mutex);
#if TOOLS_THREADS
    CHECK(gasnett_mutex_trylock(&mutex) == EBUSY);
#endif
    gasnett_cond_signal(&cond);
    gasnett_cond_broadcast(&cond);
    gasnett_mutex_unlock(&mutex);
    CHECK(gasnett_mutex_trylock(&mutex) == 0);
    gasnett_mutex_unlock(&mutex);
    gasnett_rwlock_rdlock(&rwlock);
    gasnett_rwlock_assertrdlocked(&rwlock);
    gasnett_rwlock_unlock(&rwlock);
    CHECK(gasnett_rwlock_trywrlock(&rwlock) == 0);
    gasnett_rwlock_assertwrlocked(&rwlock);
    gasnett_rwlock_unlock(&rwlock);
    gasnett_rwlock_assertunlocked(&rwlock);
}

static gasnett_atomic_t counted = gasnett_atomic_init(0);
static gasnett_atomic64_t counted64 = gasnett_atomic64_init(0);
static gasnett_strongatomic_t strongly = gasnett_strongatomic_init(0);

enum { THREADS = 4, TURNS = 10000 };

static void *count_up(void *unused)
{
    void *before = gasnett_threadkey_get(tools_key);
    gasnett_threadkey_set(tools_key, &counted);
    for (int i = 0; i < TURNS; i++) {
        gasnett_atomic_increment(&counted, GASNETT_ATOMIC_NONE);
        gasnett_atomic64_add(&counted64, 2, GASNETT_ATOMIC_MB_PRE | GASNETT_ATOMIC_MB_POST);
        gasnett_strongatomic_increment(&strongly, 0);
    }
    return before ? before : unused;
}

static void try_atomics(void)
{
    int threads = 1;
#if TOOLS_THREADS
    pthread_t thread[THREADS];
    void *before;
    threads = THREADS;
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, count_up, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(thread[i], &before) == 0 && before == NULL);
    CHECK(gasnett_threadkey_get(tools_key) == NULL);
#else
    CHECK(count_up(NULL) == NULL);
    CHECK(gasnett_threadkey_get(tools_key) == &counted);
#endif
    CHECK(gasnett_atomic_read(&counted, GASNETT_ATOMIC_ACQ) ==
          (gasnett_atomic_val_t)(threads * TURNS));
    CHECK(gasnett_atomic64_read(&counted64, 0) == (uint64_t)(2 * threads * TURNS));
    CHECK(gasnett_strongatomic_read(&strongly, 0) == (gasnett_atomic_val_t)(threads * TURNS));
    CHECK(gasnett_atomic_swap(&counted, 1, 0) == (gasnett_atomic_val_t)(threads * TURNS));
    CHECK(gasnett_atomic_compare_and_swap(&counted, 1, 2, GASNETT_ATOMIC_ACQ_IF_TRUE));
    CHECK(!gasnett_atomic_compare_and_swap(&counted, 1, 3, GASNETT_ATOMIC_ACQ_IF_FALSE));
    CHECK(!gasnett_atomic_decrement_and_test(&counted, 0));
    CHECK(gasnett_atomic_decrement_and_test(&counted, GASNETT_ATOMIC_REL));
    CHECK(gasnett_atomic_subtract(&counted, 1, 0) == GASNETT_ATOMIC_MAX);
}

static void try_library(void)
{
    char buf[40];
    gasnett_tick_t start = gasnett_ticks_now();
    CHECK(gasnett_nsleep(1000) == 0 && gasnett_ticks_to_ns(gasnett_ticks_now() - start) >= 1000);
    CHECK(strcmp(gasnett_format_number(2048, buf, sizeof buf, 1), "2 KB") == 0);
    CHECK(gasnett_parse_int(buf, 1) == 2048);
    CHECK(gasnett_count0s("\0x\0", 3) == 2);
    CHECK(gasnett_getenv_int_withdefault("TOOLS_CLIENT_UNSET", 5, 0) == 5);
    CHECK(strstr(gasnett_exe_name(), "tools-"));
    CHECK(gasnett_release_version() / 1000000 == GASNETT_RELEASE_VERSION_MAJOR);
    CHECK(gasnett_performance_warning_str() != NULL);
    gasnett_sched_yield();
}

static int backtraces;

GASNETT_EXTERNC int client_backtrace(int fd);
int client_backtrace(int fd)
{
    (void)fd;
    backtraces++;
    return 0;
}

gasnett_backtrace_type_t gasnett_backtrace_user = {"CLIENT", &client_backtrace, 1};

static void try_backtrace(const char *exename)
{
    gasnett_backtrace_init(exename);
    CHECK(gasnett_print_backtrace(1) == 0 && backtraces == 1);
}

int main(int argc, char **argv)
{
    try_annotations();
    try_trace();
    try_barriers();
    try_locks();
    try_atomics();
    try_library();
    try_backtrace(argv[0]);
#ifdef TOOLS_WITH_JOB
    CHECK(gex_Client_Init(NULL, NULL, NULL, "TOOLS", &argc, &argv, 0) == GASNET_OK);
    CHECK(gasnett_verboseenv() == 0);
    if (gex_System_QueryJobRank() == 0)
        printf("tools: ok\n");
    gasnet_exit(0);
#endif
    if (argc > 1) {
        if (strcmp(argv[1], "fatal") == 0)
            gasnett_fatalerror("argument %s", argv[1]);
        leave();
    }
    printf("tools: ok\n");
    return 0;
}
