// SPDX-License-Identifier: BSD-3-Clause
// The configuration that a client is compiled for, as macros and as text.
//
// Include <gasnetex.h>, not this file.
#ifndef GASNETEX_BUILD_H
#define GASNETEX_BUILD_H

#include "gasnet_config.h"

// Version of the binary interface. A change means that clients must be compiled again.
#define AQ_API_ABI 2

// The conduit: <prefix>/include/<conduit>-conduit, which the makefile fragments and the pkg-config
// files put into the include path, holds a header that defines GASNET_<CONDUIT>_CONDUIT (1),
// GASNET_CONDUIT_<CONDUIT> (1) and AQ_API_CONDUIT (text). With <prefix>/include alone the conduit
// is smp. Only the names differ; the code is the same for every conduit.
#if defined(__has_include)
#if __has_include(<gasnet_conduit.h>)
#include <gasnet_conduit.h>
#endif
#endif
#ifndef AQ_API_CONDUIT
#define AQ_API_CONDUIT "SMP"
#define GASNET_CONDUIT_NAME SMP // not in the specification: clients turn it into text
#define GASNET_SMP_CONDUIT 1
#undef GASNET_CONDUIT_SMP
#define GASNET_CONDUIT_SMP 1
#endif
#define GASNET_CONDUIT_NAME_STR AQ_API_CONDUIT

#define GEX_SPEC_VERSION_MAJOR 0
#define GEX_SPEC_VERSION_MINOR 19
#define GASNET_SPEC_VERSION_MAJOR 1
#define GASNET_SPEC_VERSION_MINOR 8

// Thread mode and segment configuration, as the client chose them (see gasnetex_core.h).
#if defined(GASNET_PAR)
#ifndef AQ_API_MODE // "": the mode of the library
#define AQ_API_MODE "par"
#endif
#define AQ_API_MODE_WORD "PAR"
#elif defined(GASNET_PARSYNC)
#define AQ_API_MODE "parsync"
#define AQ_API_MODE_WORD "PARSYNC"
#else
#define AQ_API_MODE "seq"
#define AQ_API_MODE_WORD "SEQ"
#endif
#if defined(GASNET_SEGMENT_EVERYTHING)
#define AQ_API_SEGMENT "everything"
#define AQ_API_SEGMENT_WORD "EVERYTHING"
#elif defined(GASNET_SEGMENT_LARGE)
#define AQ_API_SEGMENT "large"
#define AQ_API_SEGMENT_WORD "LARGE"
#else
#define AQ_API_SEGMENT "fast"
#define AQ_API_SEGMENT_WORD "FAST"
#endif

#ifdef GASNET_DEBUG
#define AQ_API_DEBUG_WORD "debug"
#else
#define AQ_API_DEBUG_WORD "nodebug"
#endif

#define AQ_API_TEXT_OF(number) #number
#define AQ_API_TEXT(macro) AQ_API_TEXT_OF(macro)
#define AQ_API_PAIR(major, minor) AQ_API_TEXT(major) "." AQ_API_TEXT(minor)
#define AQ_API_RELEASE                                                                             \
    AQ_API_PAIR(GASNET_RELEASE_VERSION_MAJOR, GASNET_RELEASE_VERSION_MINOR)                        \
    "." AQ_API_TEXT(GASNET_RELEASE_VERSION_PATCH)
#define AQ_API_SPEC AQ_API_PAIR(GEX_SPEC_VERSION_MAJOR, GEX_SPEC_VERSION_MINOR)
#define AQ_API_PTR AQ_API_TEXT(__SIZEOF_POINTER__)

// The configuration as text: two parts of a program with equal texts can be linked together
// (GASNet-1 specification, "Constants"). Scripts look for CONDUIT=<NAME> and ,debug in this text.
// clang-format off
#define GASNET_CONFIG_STRING                                                                       \
    "RELEASE=" AQ_API_RELEASE ",SPEC=" AQ_API_SPEC ",ABI=" AQ_API_TEXT(AQ_API_ABI)                 \
    ",CONDUIT=" AQ_API_CONDUIT                                                                     \
    ",THREADMODEL=" AQ_API_MODE_WORD ",SEGMENT=" AQ_API_SEGMENT_WORD                               \
    ",PTRBYTES=" AQ_API_PTR ",PSHM," AQ_API_DEBUG_WORD ",notrace,nostats"
// clang-format on

// Text for clients' launch scripts, which look for it in an executable and choose the launcher by
// the conduit. The format is that of ident(1). Every executable that calls gex_Client_Init contains
// this text, because that inline function passes it to the library.
// clang-format off
#define AQ_API_IDENTITY                                                                            \
    "$GASNetConduitName: " AQ_API_CONDUIT " $\0"                                                   \
    "$GASNetCoreLibraryName: " AQ_API_CONDUIT " $\0"                                               \
    "$GASNetCoreLibraryVersion: " AQ_API_RELEASE " $\0"                                            \
    "$GASNetExtendedLibraryName: " AQ_API_CONDUIT " $\0"                                           \
    "$GASNetExtendedLibraryVersion: " AQ_API_RELEASE " $\0"                                        \
    "$GASNetEXAPIVersion: " AQ_API_SPEC " $\0"                                                     \
    "$GASNetThreadModel: GASNET_" AQ_API_MODE_WORD " $\0"                                          \
    "$GASNetSegment: GASNET_SEGMENT_" AQ_API_SEGMENT_WORD " $\0"                                   \
    "$GASNetConfig: (libgasnet.a) " GASNET_CONFIG_STRING " $"
// clang-format on

#endif
