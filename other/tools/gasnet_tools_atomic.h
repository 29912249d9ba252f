// SPDX-License-Identifier: BSD-3-Clause
// Memory barriers and atomic operations: the sections of README-tools with these names. Include
// <gasnet_tools.h>, not this file. Everything is inline, no call blocks, and everything is safe in
// signal handlers except for the weak atomics of a program compiled without threads.
#ifndef GASNET_TOOLS_ATOMIC_H
#define GASNET_TOOLS_ATOMIC_H

#include <stdint.h>

#include "gasnet_config.h"
#include "gasnet_tools_annotate.h"

#if !defined(GASNETT_THREAD_SAFE) && (defined(GASNET_PAR) || defined(GASNET_PARSYNC))
#define GASNETT_THREAD_SAFE 1
#endif
#if defined(GASNETT_THREAD_SAFE) && GASNETT_THREAD_SAFE
#define AQ_API_CONCURRENT 1
#else
#define AQ_API_CONCURRENT 0
#endif

// ---- memory barriers ----

// The specification requires a write barrier to complete stores before later loads, too: it is a
// full barrier.
#define gasnett_compiler_fence() __asm__ __volatile__("" : : : "memory")
#if defined(__SANITIZE_THREAD__)
// The thread sanitizer does not support fences; it sees the memory orders of the atomic operations
// instead.
#define gasnett_local_mb() __sync_synchronize()
#define gasnett_local_rmb() __sync_synchronize()
#else
#define gasnett_local_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define gasnett_local_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif
#define gasnett_local_wmb() gasnett_local_mb()
#if AQ_API_CONCURRENT
#define gasnett_weak_mb() gasnett_local_mb()
#define gasnett_weak_rmb() gasnett_local_rmb()
#define gasnett_weak_wmb() gasnett_local_wmb()
#else
#define gasnett_weak_mb() ((void)0)
#define gasnett_weak_rmb() ((void)0)
#define gasnett_weak_wmb() ((void)0)
#endif

// A pause for spin loops, and a compiler fence.
#if defined(PLATFORM_ARCH_X86_64)
#define gasnett_spinloop_hint() __asm__ __volatile__("pause" : : : "memory")
#elif defined(PLATFORM_ARCH_AARCH64)
#define gasnett_spinloop_hint() __asm__ __volatile__("yield" : : : "memory")
#else
#define gasnett_spinloop_hint() gasnett_compiler_fence()
#endif

// ---- fences of atomic operations: flags, to be combined with | ----

#define GASNETT_ATOMIC_NONE 0
#define GASNETT_ATOMIC_RMB_PRE 1
#define GASNETT_ATOMIC_WMB_PRE 2
#define GASNETT_ATOMIC_MB_PRE (GASNETT_ATOMIC_RMB_PRE | GASNETT_ATOMIC_WMB_PRE)
#define GASNETT_ATOMIC_RMB_POST 4
#define GASNETT_ATOMIC_WMB_POST 8
#define GASNETT_ATOMIC_MB_POST (GASNETT_ATOMIC_RMB_POST | GASNETT_ATOMIC_WMB_POST)
#define GASNETT_ATOMIC_RMB_POST_IF_TRUE 16
#define GASNETT_ATOMIC_RMB_POST_IF_FALSE 32
#define GASNETT_ATOMIC_REL GASNETT_ATOMIC_WMB_PRE
#define GASNETT_ATOMIC_ACQ GASNETT_ATOMIC_RMB_POST
#define GASNETT_ATOMIC_ACQ_IF_TRUE GASNETT_ATOMIC_RMB_POST_IF_TRUE
#define GASNETT_ATOMIC_ACQ_IF_FALSE GASNETT_ATOMIC_RMB_POST_IF_FALSE

#ifdef __cplusplus
extern "C" {
#endif

// For the compiler an operation with any flag is sequentially consistent. On x86-64 an operation
// that writes is a full fence for the processor as well; the missing fences of reads and of other
// processors are added here. Flags are usually constants, so the compiler keeps only the needed
// instructions.
#if defined(PLATFORM_ARCH_X86_64)
#define AQ_API_WRITE_IS_FENCE 1
#else
#define AQ_API_WRITE_IS_FENCE 0
#endif

static inline void aq_api_fence(int needed, int read, int write)
{
    if (needed & write)
        gasnett_local_wmb();
    else if (needed & read)
        gasnett_local_rmb();
}
static inline void aq_api_fence_pre(int flags)
{
    aq_api_fence(flags, GASNETT_ATOMIC_RMB_PRE, GASNETT_ATOMIC_WMB_PRE);
}
static inline void aq_api_fence_post(int flags)
{
    aq_api_fence(flags, GASNETT_ATOMIC_RMB_POST, GASNETT_ATOMIC_WMB_POST);
}
// After a boolean operation: its result may require a read fence.
static inline int aq_api_fence_outcome(int flags, int outcome)
{
    aq_api_fence(flags,
                 outcome ? GASNETT_ATOMIC_RMB_POST_IF_TRUE : GASNETT_ATOMIC_RMB_POST_IF_FALSE, 0);
    return outcome;
}

// Each type has its natural size. may_alias: the specification lets clients point at other scalars
// of the same size, for example double.
typedef uint32_t AQ_API_USE(GASNETT_USE_GCC_ATTRIBUTE_MAYALIAS,
                            __attribute__((__may_alias__))) aq_api_word32_t;
typedef uint64_t AQ_API_USE(GASNETT_USE_GCC_ATTRIBUTE_MAYALIAS,
                            __attribute__((__may_alias__))) aq_api_word64_t;
typedef struct {
    aq_api_word32_t aq_value;
} gasnett_atomic32_t;
typedef struct {
    aq_api_word64_t aq_value;
} gasnett_atomic64_t;
typedef gasnett_atomic32_t gasnett_atomic_t;
typedef gasnett_atomic_t gasnett_strongatomic_t;
typedef gasnett_atomic32_t gasnett_strongatomic32_t;
typedef gasnett_atomic64_t gasnett_strongatomic64_t;
typedef uint32_t gasnett_atomic_val_t;
typedef int32_t gasnett_atomic_sval_t;
typedef gasnett_atomic_val_t gasnett_strongatomic_val_t;
typedef gasnett_atomic_sval_t gasnett_strongatomic_sval_t;

// Static initializers.
#define gasnett_atomic32_init(v)                                                                   \
    {                                                                                              \
        (uint32_t)(v)                                                                              \
    }
#define gasnett_atomic64_init(v)                                                                   \
    {                                                                                              \
        (uint64_t)(v)                                                                              \
    }
#define gasnett_atomic_init(v) gasnett_atomic32_init(v)
#define gasnett_strongatomic_init(v) gasnett_atomic32_init(v)
#define gasnett_strongatomic32_init(v) gasnett_atomic32_init(v)
#define gasnett_strongatomic64_init(v) gasnett_atomic64_init(v)

// The value as a signed number, and the range of gasnett_atomic_t.
#define gasnett_atomic_signed(v) ((gasnett_atomic_sval_t)(v))
#define gasnett_strongatomic_signed(v) gasnett_atomic_signed(v)
#define GASNETT_ATOMIC_MAX 0xffffffffU
#define GASNETT_ATOMIC_SIGNED_MIN (-0x7fffffff - 1)
#define GASNETT_ATOMIC_SIGNED_MAX 0x7fffffff
#define GASNETT_STRONGATOMIC_MAX GASNETT_ATOMIC_MAX
#define GASNETT_STRONGATOMIC_SIGNED_MIN GASNETT_ATOMIC_SIGNED_MIN
#define GASNETT_STRONGATOMIC_SIGNED_MAX GASNETT_ATOMIC_SIGNED_MAX
#define GASNETT_HAVE_ATOMIC_ADD_SUB 1
#define GASNETT_HAVE_ATOMIC_CAS 1
#define GASNETT_HAVE_STRONGATOMIC_ADD_SUB 1
#define GASNETT_HAVE_STRONGATOMIC_CAS 1

// The operations of one family: NAME_t holds a `value`; with `concurrent` 0 all operations are
// plain loads and stores. One macro serves six families of nine functions that differ only in these
// words; written out they would take 300 lines.
#define AQ_API_ORDER(flags) ((flags) ? __ATOMIC_SEQ_CST : __ATOMIC_RELAXED)
#define AQ_API_WRITE_FENCES(concurrent, flags)                                                     \
    ((concurrent) && !AQ_API_WRITE_IS_FENCE ? (flags) : 0)
#define AQ_API_ATOMICS(name, value, concurrent)                                                    \
    AQ_API_INLINE value name##_read(const name##_t *p, int flags)                                  \
    {                                                                                              \
        aq_api_fence_pre((concurrent) ? flags : 0);                                                \
        value now = __atomic_load_n(&p->aq_value, AQ_API_ORDER(flags));                            \
        aq_api_fence_post((concurrent) ? flags : 0);                                               \
        return now;                                                                                \
    }                                                                                              \
    AQ_API_INLINE value name##_swap(name##_t *p, value v, int flags)                               \
    {                                                                                              \
        aq_api_fence_pre(AQ_API_WRITE_FENCES(concurrent, flags));                                  \
        value old = (concurrent) ? __atomic_exchange_n(&p->aq_value, v, AQ_API_ORDER(flags))       \
                                 : p->aq_value;                                                    \
        if (!(concurrent))                                                                         \
            p->aq_value = v;                                                                       \
        aq_api_fence_post(AQ_API_WRITE_FENCES(concurrent, flags));                                 \
        return old;                                                                                \
    }                                                                                              \
    AQ_API_INLINE void name##_set(name##_t *p, value v, int flags)                                 \
    {                                                                                              \
        aq_api_fence_pre(AQ_API_WRITE_FENCES(concurrent, flags));                                  \
        if (concurrent)                                                                            \
            __atomic_store_n(&p->aq_value, v, AQ_API_ORDER(flags));                                \
        else                                                                                       \
            p->aq_value = v;                                                                       \
        aq_api_fence_post(AQ_API_WRITE_FENCES(concurrent, flags));                                 \
    }                                                                                              \
    AQ_API_INLINE value name##_add(name##_t *p, value v, int flags)                                \
    {                                                                                              \
        aq_api_fence_pre(AQ_API_WRITE_FENCES(concurrent, flags));                                  \
        value now = (concurrent) ? __atomic_add_fetch(&p->aq_value, v, AQ_API_ORDER(flags))        \
                                 : (p->aq_value += v);                                             \
        aq_api_fence_post(AQ_API_WRITE_FENCES(concurrent, flags));                                 \
        return now;                                                                                \
    }                                                                                              \
    AQ_API_INLINE value name##_subtract(name##_t *p, value v, int flags)                           \
    {                                                                                              \
        return name##_add(p, (value)0 - v, flags);                                                 \
    }                                                                                              \
    AQ_API_INLINE void name##_increment(name##_t *p, int flags)                                    \
    {                                                                                              \
        name##_add(p, 1, flags);                                                                   \
    }                                                                                              \
    AQ_API_INLINE void name##_decrement(name##_t *p, int flags)                                    \
    {                                                                                              \
        name##_subtract(p, 1, flags);                                                              \
    }                                                                                              \
    AQ_API_INLINE int name##_decrement_and_test(name##_t *p, int flags)                            \
    {                                                                                              \
        return aq_api_fence_outcome(AQ_API_WRITE_FENCES(concurrent, flags),                        \
                                    name##_subtract(p, 1, flags) == 0);                            \
    }                                                                                              \
    AQ_API_INLINE int name##_compare_and_swap(name##_t *p, value oldval, value newval, int flags)  \
    {                                                                                              \
        aq_api_fence_pre(AQ_API_WRITE_FENCES(concurrent, flags));                                  \
        int done = (concurrent)                                                                    \
                       ? __atomic_compare_exchange_n(&p->aq_value, &oldval, newval, 0,             \
                                                     AQ_API_ORDER(flags), AQ_API_ORDER(flags))     \
                       : p->aq_value == oldval;                                                    \
        if (!(concurrent) && done)                                                                 \
            p->aq_value = newval;                                                                  \
        aq_api_fence_post(AQ_API_WRITE_FENCES(concurrent, flags));                                 \
        return aq_api_fence_outcome(AQ_API_WRITE_FENCES(concurrent, flags), done);                 \
    }

AQ_API_ATOMICS(gasnett_strongatomic, gasnett_atomic_val_t, 1)
AQ_API_ATOMICS(gasnett_strongatomic32, uint32_t, 1)
AQ_API_ATOMICS(gasnett_strongatomic64, uint64_t, 1)
AQ_API_ATOMICS(gasnett_atomic, gasnett_atomic_val_t, AQ_API_CONCURRENT)
AQ_API_ATOMICS(gasnett_atomic32, uint32_t, AQ_API_CONCURRENT)
AQ_API_ATOMICS(gasnett_atomic64, uint64_t, AQ_API_CONCURRENT)

#ifdef __cplusplus
}
#endif

#endif
