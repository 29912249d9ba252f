// GASNet-EX memory kinds ("GASNet-EX API: Memory Kinds", section 6). This library knows the memory
// of the host; it has no device support, so that no GASNET_HAVE_MK_CLASS_* is defined.
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

// What of its class the new kind shall be; zero what is not set.
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

// Makes a kind of memory. Local. GEX_MK_CLASS_HOST: *kind_p becomes GEX_MK_HOST, GASNET_OK. Every
// other class, and flags that are not 0: GASNET_ERR_BAD_ARG with a message, *kind_p untouched.
AQ_API int gex_MK_Create(gex_MK_t *kind_p, gex_Client_t client, const gex_MK_Create_args_t *args,
                         gex_Flags_t flags);
// Ends the use of what gex_MK_Create made. Local. GEX_MK_HOST stays valid. flags: 0.
AQ_API void gex_MK_Destroy(gex_MK_t kind, gex_Flags_t flags);

#ifdef __cplusplus
}
#endif

#endif
