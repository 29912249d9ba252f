// SPDX-License-Identifier: BSD-3-Clause
// Annotations for compilers: README-tools, "Compiler annotations", "Feature control" and "Macro
// argument evaluation". Include <gasnet_tools.h>, not this file.
//
// A client whose compiler does not know an annotation defines its GASNETT_USE_... to 0 first.
#ifndef GASNET_TOOLS_ANNOTATE_H
#define GASNET_TOOLS_ANNOTATE_H

#include "gasnet_portable_platform.h"

#ifndef GASNETT_USE_GCC_ATTRIBUTE_ALWAYSINLINE
#define GASNETT_USE_GCC_ATTRIBUTE_ALWAYSINLINE 1
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_NOINLINE
#define GASNETT_USE_GCC_ATTRIBUTE_NOINLINE 1
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_MALLOC
#define GASNETT_USE_GCC_ATTRIBUTE_MALLOC 1
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_WARNUNUSEDRESULT
#define GASNETT_USE_GCC_ATTRIBUTE_WARNUNUSEDRESULT 1
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_USED
#define GASNETT_USE_GCC_ATTRIBUTE_USED 1
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_MAYALIAS
#define GASNETT_USE_GCC_ATTRIBUTE_MAYALIAS 1
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_NORETURN
#define GASNETT_USE_GCC_ATTRIBUTE_NORETURN 1
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_PURE
#define GASNETT_USE_GCC_ATTRIBUTE_PURE 1
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_CONST
#define GASNETT_USE_GCC_ATTRIBUTE_CONST 1
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_DEPRECATED
#define GASNETT_USE_GCC_ATTRIBUTE_DEPRECATED 1
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_FORMAT
#define GASNETT_USE_GCC_ATTRIBUTE_FORMAT 1
#endif
#ifndef GASNETT_USE_GCC_ATTRIBUTE_FORMAT_FUNCPTR
#define GASNETT_USE_GCC_ATTRIBUTE_FORMAT_FUNCPTR 1
#endif
#ifndef GASNETT_USE_BUILTIN_CONSTANT_P
#define GASNETT_USE_BUILTIN_CONSTANT_P 1
#endif
#ifndef GASNETT_USE_BUILTIN_EXPECT
#define GASNETT_USE_BUILTIN_EXPECT 1
#endif
#ifndef GASNETT_USE_BUILTIN_UNREACHABLE
#define GASNETT_USE_BUILTIN_UNREACHABLE 1
#endif
#ifndef GASNETT_USE_BUILTIN_ASSUME
#ifdef __clang__
#define GASNETT_USE_BUILTIN_ASSUME 1
#else
#define GASNETT_USE_BUILTIN_ASSUME 0
#endif
#endif
#ifndef GASNETT_USE_RESTRICT
#define GASNETT_USE_RESTRICT __restrict__
#endif

// The second argument if the first is 1, nothing if it is 0.
#define AQ_API_USE_0(annotation)
#define AQ_API_USE_1(annotation) annotation
#define AQ_API_USE_WORD(use, annotation) AQ_API_USE_##use(annotation)
#define AQ_API_USE(use, annotation) AQ_API_USE_WORD(use, annotation)

#define GASNETT_INLINE(fnname)                                                                     \
    static inline AQ_API_USE(GASNETT_USE_GCC_ATTRIBUTE_ALWAYSINLINE,                               \
                             __attribute__((__always_inline__)))
#define GASNETT_NEVER_INLINE(fnname, definition)                                                   \
    AQ_API_USE(GASNETT_USE_GCC_ATTRIBUTE_NOINLINE, __attribute__((__noinline__))) definition
#define GASNETT_RESTRICT GASNETT_USE_RESTRICT
#define AQ_API_FORMAT(format, first) __attribute__((__format__(__printf__, format, first)))
#define GASNETT_FORMAT_PRINTF(fnname, fmtarg, firstvararg, declarator)                             \
    AQ_API_USE(GASNETT_USE_GCC_ATTRIBUTE_FORMAT, AQ_API_FORMAT(fmtarg, firstvararg)) declarator
#define GASNETT_FORMAT_PRINTF_FUNCPTR(fnname, fmtarg, firstvararg, declarator)                     \
    AQ_API_USE(GASNETT_USE_GCC_ATTRIBUTE_FORMAT_FUNCPTR, AQ_API_FORMAT(fmtarg, firstvararg))       \
    declarator
#define GASNETT_NORETURN                                                                           \
    AQ_API_USE(GASNETT_USE_GCC_ATTRIBUTE_NORETURN, __attribute__((__noreturn__)))
#define GASNETT_MALLOC AQ_API_USE(GASNETT_USE_GCC_ATTRIBUTE_MALLOC, __attribute__((__malloc__)))
#define GASNETT_PURE AQ_API_USE(GASNETT_USE_GCC_ATTRIBUTE_PURE, __attribute__((__pure__)))
#define GASNETT_CONST AQ_API_USE(GASNETT_USE_GCC_ATTRIBUTE_CONST, __attribute__((__const__)))
#define GASNETT_HOT __attribute__((__hot__))
#define GASNETT_COLD __attribute__((__cold__))
#define GASNETT_DEPRECATED                                                                         \
    AQ_API_USE(GASNETT_USE_GCC_ATTRIBUTE_DEPRECATED, __attribute__((__deprecated__)))
#define GASNETT_WARN_UNUSED_RESULT                                                                 \
    AQ_API_USE(GASNETT_USE_GCC_ATTRIBUTE_WARNUNUSEDRESULT, __attribute__((__warn_unused_result__)))
#define GASNETT_USED AQ_API_USE(GASNETT_USE_GCC_ATTRIBUTE_USED, __attribute__((__used__)))
// These macros serve compilers that annotate by pragmas; here they are empty.
#define GASNETT_NORETURNP(fnname)
#define GASNETT_MALLOCP(fnname)
#define GASNETT_PUREP(fnname)
#define GASNETT_CONSTP(fnname)

#if GASNETT_USE_BUILTIN_EXPECT
#define GASNETT_PREDICT_TRUE(expr) __builtin_expect(!!(expr), 1)
#define GASNETT_PREDICT_FALSE(expr) __builtin_expect(!!(expr), 0)
#else
#define GASNETT_PREDICT_TRUE(expr) (expr)
#define GASNETT_PREDICT_FALSE(expr) (expr)
#endif
#define if_pf(cond) if (GASNETT_PREDICT_FALSE(cond))
#define if_pt(cond) if (GASNETT_PREDICT_TRUE(cond))

#if GASNETT_USE_BUILTIN_CONSTANT_P
#define gasnett_constant_p(expr) __builtin_constant_p(expr)
#else
#define gasnett_constant_p(expr) 0
#endif
#if GASNETT_USE_BUILTIN_UNREACHABLE
#define gasnett_unreachable() __builtin_unreachable()
#else
#define gasnett_unreachable() ((void)0)
#endif
#if defined(GASNET_DEBUG)
#define gasnett_assume(cond)                                                                       \
    (GASNETT_PREDICT_TRUE(cond) ? (void)0 : gasnett_fatalerror("assumption failed: %s", #cond))
#elif GASNETT_USE_BUILTIN_ASSUME
#define gasnett_assume(cond) __builtin_assume(cond)
#else
#define gasnett_assume(cond) ((cond) ? (void)0 : gasnett_unreachable())
#endif

// Placed after the last statement of a case, without a semicolon.
#if defined(__cplusplus) && defined(GASNETT_USE_CXX11_ATTRIBUTE_FALLTHROUGH) &&                    \
    GASNETT_USE_CXX11_ATTRIBUTE_FALLTHROUGH
#define GASNETT_FALLTHROUGH [[fallthrough]];
#elif defined(__cplusplus) && defined(GASNETT_USE_CXX11_ATTRIBUTE_CLANG__FALLTHROUGH) &&           \
    GASNETT_USE_CXX11_ATTRIBUTE_CLANG__FALLTHROUGH
#define GASNETT_FALLTHROUGH [[clang::fallthrough]];
#else
#define GASNETT_FALLTHROUGH __attribute__((__fallthrough__));
#endif

// Evaluates each argument once and ignores it.
#define GASNETT_UNUSED_ARGS1(a) ((void)(a))
#define GASNETT_UNUSED_ARGS2(a, b) ((void)(a), (void)(b))
#define GASNETT_UNUSED_ARGS3(a, b, c) ((void)(a), (void)(b), (void)(c))
#define GASNETT_UNUSED_ARGS4(a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#define GASNETT_UNUSED_ARGS5(a, b, c, d, e) ((void)(a), (void)(b), (void)(c), (void)(d), (void)(e))
#define GASNETT_UNUSED_ARGS6(a, b, c, d, e, f)                                                     \
    ((void)(a), (void)(b), (void)(c), (void)(d), (void)(e), (void)(f))
#define GASNETT_UNUSED_ARGS7(a, b, c, d, e, f, g)                                                  \
    ((void)(a), (void)(b), (void)(c), (void)(d), (void)(e), (void)(f), (void)(g))
#define GASNETT_UNUSED_ARGS8(a, b, c, d, e, f, g, h)                                               \
    ((void)(a), (void)(b), (void)(c), (void)(d), (void)(e), (void)(f), (void)(g), (void)(h))

// Embeds text in the executable, for the program `ident`; used at file scope, with a semicolon.
#define GASNETT_IDENT(identName, identText)                                                        \
    extern char identName[];                                                                       \
    GASNETT_USED char identName[] = identText

#ifdef __cplusplus
#define GASNETT_EXTERNC extern "C"
#define GASNETT_BEGIN_EXTERNC extern "C" {
#define GASNETT_END_EXTERNC }
#else
#define GASNETT_EXTERNC extern
#define GASNETT_BEGIN_EXTERNC
#define GASNETT_END_EXTERNC
#endif

#endif
