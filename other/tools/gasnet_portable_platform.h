// SPDX-License-Identifier: BSD-3-Clause
// The target of a compilation, under names that do not depend on the compiler: README-tools,
// "Portable platform defines". A macro PLATFORM_<kind>_<name> is 1 where it holds and not defined
// elsewhere, for use in #if. Needs no other header; C11 and C++11.
//
// Other projects carry a header of this kind with the same macros: mpi.h of Open MPI does. The
// number in PLATFORM_HEADER_VERSION settles which one counts: from version 5 on, that of Open MPI
// stands back where _PORTABLE_PLATFORM_H and PLATFORM_HEADER_VERSION are the same number, of at
// least 22. Where another header came first, the macros here replace its own.
#ifndef GASNET_PORTABLE_PLATFORM_H
#define GASNET_PORTABLE_PLATFORM_H

#undef PLATFORM_HEADER_VERSION
#define PLATFORM_HEADER_VERSION 22
#undef _PORTABLE_PLATFORM_H
#define _PORTABLE_PLATFORM_H PLATFORM_HEADER_VERSION

#undef PLATFORM_COMPILER_FAMILYNAME
#undef PLATFORM_COMPILER_FAMILYID
#undef PLATFORM_COMPILER_VERSION_INT
#undef PLATFORM_COMPILER_VERSION
#undef PLATFORM_COMPILER_VERSION_STR
#undef PLATFORM_COMPILER_IDSTR
#undef PLATFORM_COMPILER_CLANG
#undef PLATFORM_COMPILER_CLANG_C
#undef PLATFORM_COMPILER_CLANG_CXX
#undef PLATFORM_COMPILER_GNU
#undef PLATFORM_COMPILER_GNU_C
#undef PLATFORM_COMPILER_GNU_CXX
#undef PLATFORM_COMPILER_C_LANGLVL
#undef PLATFORM_COMPILER_CXX_LANGLVL
#undef PLATFORM_COMPILER_VERSION_GT
#undef PLATFORM_COMPILER_VERSION_GE
#undef PLATFORM_COMPILER_VERSION_EQ
#undef PLATFORM_COMPILER_VERSION_LE
#undef PLATFORM_COMPILER_VERSION_LT
#undef PLATFORM_OS_LINUX
#undef PLATFORM_OS_UNKNOWN
#undef PLATFORM_OS_FAMILYNAME
#undef PLATFORM_ARCH_X86_64
#undef PLATFORM_ARCH_AARCH64
#undef PLATFORM_ARCH_POWERPC
#undef PLATFORM_ARCH_RISCV
#undef PLATFORM_ARCH_UNKNOWN
#undef PLATFORM_ARCH_FAMILYNAME
#undef PLATFORM_ARCH_32
#undef PLATFORM_ARCH_64
#undef PLATFORM_ARCH_LITTLE_ENDIAN
#undef PLATFORM_ARCH_BIG_ENDIAN

#ifndef _STRINGIFY
#define _STRINGIFY_HELPER(x) #x
#define _STRINGIFY(x) _STRINGIFY_HELPER(x)
#endif

// ---- compiler ----

// PLATFORM_COMPILER_VERSION grows with the version and is for comparisons; compare it with
// PLATFORM_COMPILER_VERSION_INT, or use PLATFORM_COMPILER_VERSION_GE(9, 1, 0) and its relatives.
#define PLATFORM_COMPILER_VERSION_INT(major, minor, patch)                                         \
    (((major) << 16) | ((minor) << 8) | (patch))
#if defined(__clang__)
#define PLATFORM_COMPILER_CLANG 1
#define PLATFORM_COMPILER_FAMILYNAME CLANG
#define PLATFORM_COMPILER_FAMILYID 19
#define PLATFORM_COMPILER_VERSION                                                                  \
    PLATFORM_COMPILER_VERSION_INT(__clang_major__, __clang_minor__, __clang_patchlevel__)
#define PLATFORM_COMPILER_VERSION_STR __clang_version__
#elif defined(__GNUC__)
#define PLATFORM_COMPILER_GNU 1
#define PLATFORM_COMPILER_FAMILYNAME GNU
#define PLATFORM_COMPILER_FAMILYID 1
#define PLATFORM_COMPILER_VERSION                                                                  \
    PLATFORM_COMPILER_VERSION_INT(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__)
#define PLATFORM_COMPILER_VERSION_STR                                                              \
    _STRINGIFY(__GNUC__) "." _STRINGIFY(__GNUC_MINOR__) "." _STRINGIFY(__GNUC_PATCHLEVEL__)
#else
#error "gasnet_portable_platform.h knows gcc and clang only; compile with one of them"
#endif

// The same macros with the language: PLATFORM_COMPILER_GNU_C, PLATFORM_COMPILER_CLANG_CXX ...
#if defined(PLATFORM_COMPILER_CLANG) && defined(__cplusplus)
#define PLATFORM_COMPILER_CLANG_CXX 1
#elif defined(PLATFORM_COMPILER_CLANG)
#define PLATFORM_COMPILER_CLANG_C 1
#elif defined(__cplusplus)
#define PLATFORM_COMPILER_GNU_CXX 1
#else
#define PLATFORM_COMPILER_GNU_C 1
#endif
#ifdef __cplusplus
#define PLATFORM_COMPILER_CXX_LANGLVL __cplusplus
#else
#define PLATFORM_COMPILER_C_LANGLVL __STDC_VERSION__
#endif

#define PLATFORM_COMPILER_VERSION_GT(major, minor, patch)                                          \
    (PLATFORM_COMPILER_VERSION > PLATFORM_COMPILER_VERSION_INT(major, minor, patch))
#define PLATFORM_COMPILER_VERSION_GE(major, minor, patch)                                          \
    (PLATFORM_COMPILER_VERSION >= PLATFORM_COMPILER_VERSION_INT(major, minor, patch))
#define PLATFORM_COMPILER_VERSION_EQ(major, minor, patch)                                          \
    (PLATFORM_COMPILER_VERSION == PLATFORM_COMPILER_VERSION_INT(major, minor, patch))
#define PLATFORM_COMPILER_VERSION_LE(major, minor, patch)                                          \
    (PLATFORM_COMPILER_VERSION <= PLATFORM_COMPILER_VERSION_INT(major, minor, patch))
#define PLATFORM_COMPILER_VERSION_LT(major, minor, patch)                                          \
    (PLATFORM_COMPILER_VERSION < PLATFORM_COMPILER_VERSION_INT(major, minor, patch))

// The compiler as text, for GASNETT_IDENT; undocumented, but clients put it into their executables.
#define PLATFORM_COMPILER_IDSTR                                                                    \
    "|COMPILER_FAMILY:" _STRINGIFY(                                                                \
        PLATFORM_COMPILER_FAMILYNAME) "|COMPILER_VERSION:" PLATFORM_COMPILER_VERSION_STR           \
                                      "|COMPILER_FAMILYID:" _STRINGIFY(                            \
                                          PLATFORM_COMPILER_FAMILYID) "|"
#define GASNETT_PLATFORM_COMPILER_IDSTR PLATFORM_COMPILER_IDSTR

// ---- operating system ----

#if defined(__linux__)
#define PLATFORM_OS_LINUX 1
#define PLATFORM_OS_FAMILYNAME LINUX
#else
#define PLATFORM_OS_UNKNOWN 1
#define PLATFORM_OS_FAMILYNAME UNKNOWN
#endif

// ---- architecture: of the code, not of the kernel ----

#if defined(__x86_64__)
#define PLATFORM_ARCH_X86_64 1
#define PLATFORM_ARCH_FAMILYNAME X86_64
#elif defined(__aarch64__)
#define PLATFORM_ARCH_AARCH64 1
#define PLATFORM_ARCH_FAMILYNAME AARCH64
#elif defined(__powerpc__)
#define PLATFORM_ARCH_POWERPC 1
#define PLATFORM_ARCH_FAMILYNAME POWERPC
#elif defined(__riscv)
#define PLATFORM_ARCH_RISCV 1
#define PLATFORM_ARCH_FAMILYNAME RISCV
#else
#define PLATFORM_ARCH_UNKNOWN 1
#define PLATFORM_ARCH_FAMILYNAME UNKNOWN
#endif

// The width of a pointer, and the byte order.
#if defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ == 4
#define PLATFORM_ARCH_32 1
#else
#define PLATFORM_ARCH_64 1
#endif
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define PLATFORM_ARCH_LITTLE_ENDIAN 1
#else
#define PLATFORM_ARCH_BIG_ENDIAN 1
#endif

#endif
