// SPDX-License-Identifier: BSD-3-Clause
// GASNet-EX memory kinds ("GASNet-EX API: Memory Kinds", section 6). This library supports the
// memory of the host only, so GASNET_HAVE_MK_CLASS_* are not defined.
#ifndef GASNET_MK_H
#define GASNET_MK_H

#include <stdint.h>

#include "gasnetex_core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    GEX_MK_CLASS_HOST,
    GEX_MK_CLASS_CUDA_UVA,
    GEX_MK_CLASS_HIP,
    GEX_MK_CLASS_ZE
} gex_MK_Class_t;

// The class of the new kind and its properties; unused fields are 0.
typedef struct {
    uint64_t gex_flags; // 0
    gex_MK_Class_t gex_class;
    union {
        struct {
            int gex_CUdevice;
        } gex_class_cuda_uva;
        struct {
            int gex_hipDevice;
        } gex_class_hip;
        struct {
            void *gex_zeDevice;
            void *gex_zeContext;
            uint32_t gex_zeMemoryOrdinal;
        } gex_class_ze;
    } gex_args;
} gex_MK_Create_args_t;

// Creates a kind of memory. With GEX_MK_CLASS_HOST it sets *kind_p to GEX_MK_HOST and returns
// GASNET_OK. With another class, or if flags is not 0, it leaves *kind_p unchanged and returns
// GASNET_ERR_BAD_ARG with a message. Local.
AQ_API int gex_MK_Create(gex_MK_t *kind_p, gex_Client_t client, const gex_MK_Create_args_t *args,
                         gex_Flags_t flags);
// Destroys a kind that gex_MK_Create returned; GEX_MK_HOST stays valid. flags is 0. Local.
AQ_API void gex_MK_Destroy(gex_MK_t kind, gex_Flags_t flags);

#ifdef __cplusplus
}
#endif

#endif
