// SPDX-License-Identifier: BSD-3-Clause
// Active message calls by number of arguments: thin wrappers that put the arguments into an array.
//
// Include <gasnetex.h>, not this file. Specification: "Fixed-payload AM APIs" and "gex_AM_Commit
// calls". A request may block for flow control, and then runs handlers of requests and replies;
// with GEX_FLAG_IMMEDIATE it does nothing and returns non-zero instead. A reply is allowed once, in
// the handler of a request; it may block, and then runs handlers of replies only. Otherwise calls
// return 0. The client may overwrite a payload (nbytes bytes at src) after the local completion
// that lc_opt selects. The names without a number count their arguments.
#ifndef GASNETEX_AM_H
#define GASNETEX_AM_H

#include "gasnetex_core.h"

#ifdef __cplusplus
extern "C" {
#endif

AQ_API int aq_api_request_short(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler,
                                gex_Flags_t flags, unsigned nargs, const gex_AM_Arg_t *args);
AQ_API int aq_api_request_medium(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler,
                                 const void *src, size_t nbytes, gex_Event_t *lc_opt,
                                 gex_Flags_t flags, unsigned nargs, const gex_AM_Arg_t *args);
AQ_API int aq_api_request_long(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler,
                               const void *src, size_t nbytes, void *dest, gex_Event_t *lc_opt,
                               gex_Flags_t flags, unsigned nargs, const gex_AM_Arg_t *args);
AQ_API int aq_api_reply_short(gex_Token_t token, gex_AM_Index_t handler, gex_Flags_t flags,
                              unsigned nargs, const gex_AM_Arg_t *args);
AQ_API int aq_api_reply_medium(gex_Token_t token, gex_AM_Index_t handler, const void *src,
                               size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags,
                               unsigned nargs, const gex_AM_Arg_t *args);
AQ_API int aq_api_reply_long(gex_Token_t token, gex_AM_Index_t handler, const void *src,
                             size_t nbytes, void *dest, gex_Event_t *lc_opt, gex_Flags_t flags,
                             unsigned nargs, const gex_AM_Arg_t *args);
AQ_API int aq_api_commit(gex_AM_SrcDesc_t sd, gex_AM_Index_t handler, size_t nbytes, void *dest,
                         gex_Flags_t flags, unsigned nargs, const gex_AM_Arg_t *args,
                         unsigned kind);

// The kind of a Prepare call, which has to match its Commit or Cancel; bits.
#define AQ_API_SD_REPLY 1u
#define AQ_API_SD_LONG 2u

// Parameter lists and argument lists by count. A function cannot have a varying number of
// parameters and still check their types, hence this one family of macros.
#define AQ_API_P0
#define AQ_API_P1 , gex_AM_Arg_t a0
#define AQ_API_P2 AQ_API_P1, gex_AM_Arg_t a1
#define AQ_API_P3 AQ_API_P2, gex_AM_Arg_t a2
#define AQ_API_P4 AQ_API_P3, gex_AM_Arg_t a3
#define AQ_API_P5 AQ_API_P4, gex_AM_Arg_t a4
#define AQ_API_P6 AQ_API_P5, gex_AM_Arg_t a5
#define AQ_API_P7 AQ_API_P6, gex_AM_Arg_t a6
#define AQ_API_P8 AQ_API_P7, gex_AM_Arg_t a7
#define AQ_API_P9 AQ_API_P8, gex_AM_Arg_t a8
#define AQ_API_P10 AQ_API_P9, gex_AM_Arg_t a9
#define AQ_API_P11 AQ_API_P10, gex_AM_Arg_t a10
#define AQ_API_P12 AQ_API_P11, gex_AM_Arg_t a11
#define AQ_API_P13 AQ_API_P12, gex_AM_Arg_t a12
#define AQ_API_P14 AQ_API_P13, gex_AM_Arg_t a13
#define AQ_API_P15 AQ_API_P14, gex_AM_Arg_t a14
#define AQ_API_P16 AQ_API_P15, gex_AM_Arg_t a15
#define AQ_API_L1 a0
#define AQ_API_L2 AQ_API_L1, a1
#define AQ_API_L3 AQ_API_L2, a2
#define AQ_API_L4 AQ_API_L3, a3
#define AQ_API_L5 AQ_API_L4, a4
#define AQ_API_L6 AQ_API_L5, a5
#define AQ_API_L7 AQ_API_L6, a6
#define AQ_API_L8 AQ_API_L7, a7
#define AQ_API_L9 AQ_API_L8, a8
#define AQ_API_L10 AQ_API_L9, a9
#define AQ_API_L11 AQ_API_L10, a10
#define AQ_API_L12 AQ_API_L11, a11
#define AQ_API_L13 AQ_API_L12, a12
#define AQ_API_L14 AQ_API_L13, a13
#define AQ_API_L15 AQ_API_L14, a14
#define AQ_API_L16 AQ_API_L15, a15

// All calls with N arguments. P: the parameters; ARRAY: the declaration of args, or nothing; ARGS:
// args, or NULL.
#define AQ_API_AM_CALLS(N, P, ARRAY, ARGS)                                                         \
    AQ_API_INLINE int gex_AM_RequestShort##N(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t h,       \
                                             gex_Flags_t flags P)                                  \
    {                                                                                              \
        ARRAY return aq_api_request_short(tm, rank, h, flags, N, ARGS);                            \
    }                                                                                              \
    AQ_API_INLINE int gex_AM_RequestMedium##N(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t h,      \
                                              const void *src, size_t nbytes, gex_Event_t *lc_opt, \
                                              gex_Flags_t flags P)                                 \
    {                                                                                              \
        ARRAY return aq_api_request_medium(tm, rank, h, src, nbytes, lc_opt, flags, N, ARGS);      \
    }                                                                                              \
    AQ_API_INLINE int gex_AM_RequestLong##N(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t h,        \
                                            const void *src, size_t nbytes, void *dest,            \
                                            gex_Event_t *lc_opt, gex_Flags_t flags P)              \
    {                                                                                              \
        ARRAY return aq_api_request_long(tm, rank, h, src, nbytes, dest, lc_opt, flags, N, ARGS);  \
    }                                                                                              \
    AQ_API_INLINE int gex_AM_ReplyShort##N(gex_Token_t token, gex_AM_Index_t h,                    \
                                           gex_Flags_t flags P)                                    \
    {                                                                                              \
        ARRAY return aq_api_reply_short(token, h, flags, N, ARGS);                                 \
    }                                                                                              \
    AQ_API_INLINE int gex_AM_ReplyMedium##N(gex_Token_t token, gex_AM_Index_t h, const void *src,  \
                                            size_t nbytes, gex_Event_t *lc_opt,                    \
                                            gex_Flags_t flags P)                                   \
    {                                                                                              \
        ARRAY return aq_api_reply_medium(token, h, src, nbytes, lc_opt, flags, N, ARGS);           \
    }                                                                                              \
    AQ_API_INLINE int gex_AM_ReplyLong##N(gex_Token_t token, gex_AM_Index_t h, const void *src,    \
                                          size_t nbytes, void *dest, gex_Event_t *lc_opt,          \
                                          gex_Flags_t flags P)                                     \
    {                                                                                              \
        ARRAY return aq_api_reply_long(token, h, src, nbytes, dest, lc_opt, flags, N, ARGS);       \
    }                                                                                              \
    AQ_API_INLINE void gex_AM_CommitRequestMedium##N(gex_AM_SrcDesc_t sd, gex_AM_Index_t h,        \
                                                     size_t nbytes P)                              \
    {                                                                                              \
        ARRAY(void) aq_api_commit(sd, h, nbytes, NULL, 0, N, ARGS, 0u);                            \
    }                                                                                              \
    AQ_API_INLINE void gex_AM_CommitRequestLong##N(gex_AM_SrcDesc_t sd, gex_AM_Index_t h,          \
                                                   size_t nbytes, void *dest P)                    \
    {                                                                                              \
        ARRAY(void) aq_api_commit(sd, h, nbytes, dest, 0, N, ARGS, AQ_API_SD_LONG);                \
    }                                                                                              \
    AQ_API_INLINE int gex_AM_CommitRequestMedium##N##_v2(gex_AM_SrcDesc_t sd, gex_AM_Index_t h,    \
                                                         size_t nbytes, gex_Flags_t flags P)       \
    {                                                                                              \
        ARRAY return aq_api_commit(sd, h, nbytes, NULL, flags, N, ARGS, 0u);                       \
    }                                                                                              \
    AQ_API_INLINE int gex_AM_CommitRequestLong##N##_v2(                                            \
        gex_AM_SrcDesc_t sd, gex_AM_Index_t h, size_t nbytes, void *dest, gex_Flags_t flags P)     \
    {                                                                                              \
        ARRAY return aq_api_commit(sd, h, nbytes, dest, flags, N, ARGS, AQ_API_SD_LONG);           \
    }                                                                                              \
    AQ_API_INLINE void gex_AM_CommitReplyMedium##N(gex_AM_SrcDesc_t sd, gex_AM_Index_t h,          \
                                                   size_t nbytes P)                                \
    {                                                                                              \
        ARRAY(void) aq_api_commit(sd, h, nbytes, NULL, 0, N, ARGS, AQ_API_SD_REPLY);               \
    }                                                                                              \
    AQ_API_INLINE void gex_AM_CommitReplyLong##N(gex_AM_SrcDesc_t sd, gex_AM_Index_t h,            \
                                                 size_t nbytes, void *dest P)                      \
    {                                                                                              \
        ARRAY(void)                                                                                \
        aq_api_commit(sd, h, nbytes, dest, 0, N, ARGS, AQ_API_SD_REPLY | AQ_API_SD_LONG);          \
    }                                                                                              \
    AQ_API_INLINE int gex_AM_CommitReplyMedium##N##_v2(gex_AM_SrcDesc_t sd, gex_AM_Index_t h,      \
                                                       size_t nbytes, gex_Flags_t flags P)         \
    {                                                                                              \
        ARRAY return aq_api_commit(sd, h, nbytes, NULL, flags, N, ARGS, AQ_API_SD_REPLY);          \
    }                                                                                              \
    AQ_API_INLINE int gex_AM_CommitReplyLong##N##_v2(                                              \
        gex_AM_SrcDesc_t sd, gex_AM_Index_t h, size_t nbytes, void *dest, gex_Flags_t flags P)     \
    {                                                                                              \
        ARRAY return aq_api_commit(sd, h, nbytes, dest, flags, N, ARGS,                            \
                                   AQ_API_SD_REPLY | AQ_API_SD_LONG);                              \
    }

#define AQ_API_ARRAY(...) const gex_AM_Arg_t args[] = {__VA_ARGS__};

// Expands CALLS for each number of arguments.
#define AQ_API_AM_EACH(CALLS)                                                                      \
    CALLS(0, AQ_API_P0, , NULL)                                                                    \
    CALLS(1, AQ_API_P1, AQ_API_ARRAY(AQ_API_L1), args)                                             \
    CALLS(2, AQ_API_P2, AQ_API_ARRAY(AQ_API_L2), args)                                             \
    CALLS(3, AQ_API_P3, AQ_API_ARRAY(AQ_API_L3), args)                                             \
    CALLS(4, AQ_API_P4, AQ_API_ARRAY(AQ_API_L4), args)                                             \
    CALLS(5, AQ_API_P5, AQ_API_ARRAY(AQ_API_L5), args)                                             \
    CALLS(6, AQ_API_P6, AQ_API_ARRAY(AQ_API_L6), args)                                             \
    CALLS(7, AQ_API_P7, AQ_API_ARRAY(AQ_API_L7), args)                                             \
    CALLS(8, AQ_API_P8, AQ_API_ARRAY(AQ_API_L8), args)                                             \
    CALLS(9, AQ_API_P9, AQ_API_ARRAY(AQ_API_L9), args)                                             \
    CALLS(10, AQ_API_P10, AQ_API_ARRAY(AQ_API_L10), args)                                          \
    CALLS(11, AQ_API_P11, AQ_API_ARRAY(AQ_API_L11), args)                                          \
    CALLS(12, AQ_API_P12, AQ_API_ARRAY(AQ_API_L12), args)                                          \
    CALLS(13, AQ_API_P13, AQ_API_ARRAY(AQ_API_L13), args)                                          \
    CALLS(14, AQ_API_P14, AQ_API_ARRAY(AQ_API_L14), args)                                          \
    CALLS(15, AQ_API_P15, AQ_API_ARRAY(AQ_API_L15), args)                                          \
    CALLS(16, AQ_API_P16, AQ_API_ARRAY(AQ_API_L16), args)
AQ_API_AM_EACH(AQ_API_AM_CALLS)

// Count the arguments that follow the fixed ones: AQ_API_COUNT2 is for calls with 2 fixed
// arguments.
#define AQ_API_NTH(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17,     \
                   a18, a19, a20, a21, a22, a23, a24, n, ...)                                      \
    n
#define AQ_API_COUNT2(...)                                                                         \
    AQ_API_NTH(__VA_ARGS__, bad, bad, bad, bad, bad, bad, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6,  \
               5, 4, 3, 2, 1, 0, bad, )
#define AQ_API_COUNT3(...)                                                                         \
    AQ_API_NTH(__VA_ARGS__, bad, bad, bad, bad, bad, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, \
               3, 2, 1, 0, bad, bad, )
#define AQ_API_COUNT4(...)                                                                         \
    AQ_API_NTH(__VA_ARGS__, bad, bad, bad, bad, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3,   \
               2, 1, 0, bad, bad, bad, )
#define AQ_API_COUNT5(...)                                                                         \
    AQ_API_NTH(__VA_ARGS__, bad, bad, bad, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1,  \
               0, bad, bad, bad, bad, )
#define AQ_API_COUNT6(...)                                                                         \
    AQ_API_NTH(__VA_ARGS__, bad, bad, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0,    \
               bad, bad, bad, bad, bad, )
#define AQ_API_COUNT7(...)                                                                         \
    AQ_API_NTH(__VA_ARGS__, bad, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, bad,    \
               bad, bad, bad, bad, bad, )
#define AQ_API_COUNT8(...)                                                                         \
    AQ_API_NTH(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, bad, bad,    \
               bad, bad, bad, bad, bad, )
#define AQ_API_PASTE(name, n) name##n
#define AQ_API_PASTE2(name, n) AQ_API_PASTE(name, n)
#define AQ_API_PASTEV(name, n) name##n##_v2
#define AQ_API_PASTEV2(name, n) AQ_API_PASTEV(name, n)
#define gex_AM_RequestShort(...)                                                                   \
    AQ_API_PASTE2(gex_AM_RequestShort, AQ_API_COUNT4(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_RequestMedium(...)                                                                  \
    AQ_API_PASTE2(gex_AM_RequestMedium, AQ_API_COUNT7(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_RequestLong(...)                                                                    \
    AQ_API_PASTE2(gex_AM_RequestLong, AQ_API_COUNT8(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_ReplyShort(...)                                                                     \
    AQ_API_PASTE2(gex_AM_ReplyShort, AQ_API_COUNT3(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_ReplyMedium(...)                                                                    \
    AQ_API_PASTE2(gex_AM_ReplyMedium, AQ_API_COUNT6(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_ReplyLong(...)                                                                      \
    AQ_API_PASTE2(gex_AM_ReplyLong, AQ_API_COUNT7(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitRequestMedium(...)                                                            \
    AQ_API_PASTE2(gex_AM_CommitRequestMedium, AQ_API_COUNT3(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitRequestLong(...)                                                              \
    AQ_API_PASTE2(gex_AM_CommitRequestLong, AQ_API_COUNT4(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitRequestMedium_v2(...)                                                         \
    AQ_API_PASTEV2(gex_AM_CommitRequestMedium, AQ_API_COUNT4(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitRequestLong_v2(...)                                                           \
    AQ_API_PASTEV2(gex_AM_CommitRequestLong, AQ_API_COUNT5(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitReplyMedium(...)                                                              \
    AQ_API_PASTE2(gex_AM_CommitReplyMedium, AQ_API_COUNT3(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitReplyLong(...)                                                                \
    AQ_API_PASTE2(gex_AM_CommitReplyLong, AQ_API_COUNT4(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitReplyMedium_v2(...)                                                           \
    AQ_API_PASTEV2(gex_AM_CommitReplyMedium, AQ_API_COUNT4(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitReplyLong_v2(...)                                                             \
    AQ_API_PASTEV2(gex_AM_CommitReplyLong, AQ_API_COUNT5(__VA_ARGS__))(__VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
