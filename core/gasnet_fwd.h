// SPDX-License-Identifier: BSD-3-Clause
// GASNet-EX types and constants that need no other header (GASNet-EX specification, "The
// gasnet_fwd.h header"). Everything defined here begins with gex_, GEX_ or _GEX_ and may be
// included anywhere, in C11 and C++11.
#ifndef _GEX_FWD_H
#define _GEX_FWD_H

#include <stdint.h>

// A position in, or the size of, an ordered set such as a team.
typedef uint32_t gex_Rank_t;
// Larger than any legal rank; used where a rank is not known or does not exist.
#define GEX_RANK_INVALID ((gex_Rank_t)0xffffffffu)

// Number of an endpoint within its process; 0 is the primordial one.
typedef uint16_t gex_EP_Index_t;

// An address, or an offset into a bound segment if a flag says so.
typedef void *gex_Addr_t;

// An asynchronous event that has not been synchronized. Values may be compared and copied within
// the process.
typedef struct gex_event_part *gex_Event_t;
#define GEX_EVENT_INVALID ((gex_Event_t)(uintptr_t)0) // already complete
// The result of a call with GEX_FLAG_IMMEDIATE that did nothing; may not be waited for.
#define GEX_EVENT_NO_OP ((gex_Event_t)(uintptr_t)1)
// Values for lc_opt. Local completion happens before the call returns; at the latest with the whole
// operation; or is found with gex_NBI_Test and gex_NBI_Wait.
#define GEX_EVENT_NOW ((gex_Event_t *)(uintptr_t)1)
#define GEX_EVENT_DEFER ((gex_Event_t *)(uintptr_t)2)
#define GEX_EVENT_GROUP ((gex_Event_t *)(uintptr_t)3)

// Categories of events for gex_NBI_Test, gex_NBI_Wait and gex_Event_QueryLeaf.
typedef unsigned int gex_EC_t;
#define GEX_EC_PUT ((gex_EC_t)1)
#define GEX_EC_LC ((gex_EC_t)2)
#define GEX_EC_GET ((gex_EC_t)4)
#define GEX_EC_RMW ((gex_EC_t)8)
#define GEX_EC_AM ((gex_EC_t)16)
#define GEX_EC_ALL (~(gex_EC_t)0)

// Flags. The bits for one call are disjoint; unrelated calls share bits. The values have no casts
// because clients compare them with #if.
typedef uint32_t gex_Flags_t;

// Point-to-point communication. GEX_FLAG_AM_PREPARE_* are for gex_AM_Prepare calls, GEX_FLAG_AD_*
// for atomics, and GEX_FLAG_ENABLE_LEAF_LC for non-contiguous puts.
#define GEX_FLAG_IMMEDIATE (1u << 0)
#define GEX_FLAG_LC_COPY_YES (1u << 1)
#define GEX_FLAG_LC_COPY_NO (1u << 2)
#define GEX_FLAG_PEER_NEVER_SELF (1u << 15)
#define GEX_FLAG_PEER_NEVER_NBRHD (1u << 14)
#define GEX_FLAG_RANK_IS_JOBRANK (1u << 13)
#define GEX_FLAG_SELF_SEG_UNKNOWN (1u << 3)
#define GEX_FLAG_SELF_SEG_SOME (1u << 4)
#define GEX_FLAG_SELF_SEG_BOUND (1u << 5)
#define GEX_FLAG_SELF_SEG_OFFSET (1u << 6)
#define GEX_FLAG_PEER_SEG_UNKNOWN (1u << 7)
#define GEX_FLAG_PEER_SEG_SOME (1u << 8)
#define GEX_FLAG_PEER_SEG_BOUND (1u << 9)
#define GEX_FLAG_PEER_SEG_OFFSET (1u << 10)
#define GEX_FLAG_AM_PREPARE_LEAST_CLIENT (1u << 11)
#define GEX_FLAG_AM_PREPARE_LEAST_ALLOC (1u << 12)
#define GEX_FLAG_AD_MY_RANK (1u << 11)
#define GEX_FLAG_AD_MY_NBRHD (1u << 12)
#define GEX_FLAG_AD_ACQ (1u << 2)
#define GEX_FLAG_AD_REL (1u << 1)
#define GEX_FLAG_ENABLE_LEAF_LC (1u << 11)

// gex_AD_Create.
#define GEX_FLAG_AD_FAVOR_MY_RANK (1u << 0)
#define GEX_FLAG_AD_FAVOR_MY_NBRHD (1u << 1)
#define GEX_FLAG_AD_FAVOR_REMOTE (1u << 2)

// gex_TM_Split, gex_TM_Create, gex_TM_Destroy.
#define GEX_FLAG_TM_SCRATCH_SIZE_MIN (1u << 0)
#define GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED (1u << 1)
#define GEX_FLAG_TM_GLOBAL_SCRATCH (1u << 2)
#define GEX_FLAG_TM_LOCAL_SCRATCH (1u << 3)
#define GEX_FLAG_TM_SYMMETRIC_SCRATCH (1u << 4)
#define GEX_FLAG_TM_NO_SCRATCH (1u << 5)
#define GEX_FLAG_SCRATCH_SEG_OFFSET (1u << 6)
#define GEX_FLAG_GLOBALLY_QUIESCED (1u << 13)

// gex_Client_Init.
#define GEX_FLAG_USES_GASNET1 (1u << 0)
#define GEX_FLAG_DEFER_THREADS (1u << 1)

// gex_EP_Create.
#define GEX_FLAG_HINT_ACCEL_AD (1u << 0)
#define GEX_FLAG_HINT_ACCEL_COLL (1u << 1)
#define GEX_FLAG_HINT_ACCEL_ALL (GEX_FLAG_HINT_ACCEL_AD | GEX_FLAG_HINT_ACCEL_COLL)

// Handler registration: one of each group.
#define GEX_FLAG_AM_SHORT (1u << 0)
#define GEX_FLAG_AM_MEDIUM (1u << 1)
#define GEX_FLAG_AM_LONG (1u << 2)
#define GEX_FLAG_AM_MEDLONG (GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_LONG)
#define GEX_FLAG_AM_REQUEST (1u << 3)
#define GEX_FLAG_AM_REPLY (1u << 4)
#define GEX_FLAG_AM_REQREP (GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_REPLY)

// What an endpoint can do.
typedef uint32_t gex_EP_Capabilities_t;
#define GEX_EP_CAPABILITY_RMA (1u << 0)
#define GEX_EP_CAPABILITY_AM (1u << 1)
#define GEX_EP_CAPABILITY_VIS (1u << 2)
#define GEX_EP_CAPABILITY_COLL (1u << 3)
#define GEX_EP_CAPABILITY_AD (1u << 4)
#define GEX_EP_CAPABILITY_ALL 31u

// Data types of atomics and reductions: disjoint bits. Types and operations have no casts because
// clients compare them with #if.
typedef uint32_t gex_DT_t;
#define GEX_DT_I32 (1 << 0)
#define GEX_DT_U32 (1 << 1)
#define GEX_DT_I64 (1 << 2)
#define GEX_DT_U64 (1 << 3)
#define GEX_DT_FLT (1 << 4)
#define GEX_DT_DBL (1 << 5)
#define GEX_DT_USER (1 << 6)

// Operations of atomics and reductions: disjoint bits. The bit of a fetching operation is that of
// the plain operation, shifted left by 15.
typedef uint32_t gex_OP_t;
#define GEX_OP_AND (1 << 0)
#define GEX_OP_OR (1 << 1)
#define GEX_OP_XOR (1 << 2)
#define GEX_OP_ADD (1 << 3)
#define GEX_OP_SUB (1 << 4)
#define GEX_OP_MULT (1 << 5)
#define GEX_OP_MIN (1 << 6)
#define GEX_OP_MAX (1 << 7)
#define GEX_OP_INC (1 << 8)
#define GEX_OP_DEC (1 << 9)
#define GEX_OP_SET (1 << 10)
#define GEX_OP_CAS (1 << 11)
#define GEX_OP_FAND (1 << 15)
#define GEX_OP_FOR (1 << 16)
#define GEX_OP_FXOR (1 << 17)
#define GEX_OP_FADD (1 << 18)
#define GEX_OP_FSUB (1 << 19)
#define GEX_OP_FMULT (1 << 20)
#define GEX_OP_FMIN (1 << 21)
#define GEX_OP_FMAX (1 << 22)
#define GEX_OP_FINC (1 << 23)
#define GEX_OP_FDEC (1 << 24)
#define GEX_OP_SWAP (1 << 25)
#define GEX_OP_FCAS (1 << 26)
#define GEX_OP_CSWAP GEX_OP_FCAS
#define GEX_OP_GET (1 << 27)
#define GEX_OP_USER (1 << 30)
#define GEX_OP_USER_NC (1u << 31)
#define GEX_OP_TO_FETCHING(op) ((gex_OP_t)((op) << 15))
#define GEX_OP_TO_NONFETCHING(op) ((gex_OP_t)((op) >> 15))

#endif
