// SPDX-License-Identifier: BSD-3-Clause
// Wrong calls on memory kinds.
#include "bad_calls.h"

#include <gasnet_mk.h>
#include <stddef.h>

static void create(gex_MK_Class_t class, gex_Flags_t flags)
{
    gex_MK_t kind;
    gex_MK_Create_args_t args = {.gex_class = class};
    bad_returned(gex_MK_Create(&kind, gex_EP_QueryClient(bad_ep), &args, flags),
                 GASNET_ERR_BAD_ARG);
}

static void create_cuda(void)
{
    create(GEX_MK_CLASS_CUDA_UVA, 0);
}

static void create_hip(void)
{
    create(GEX_MK_CLASS_HIP, 0);
}

static void create_ze(void)
{
    create(GEX_MK_CLASS_ZE, 0);
}

static void create_unknown(void)
{
    create((gex_MK_Class_t)9, 0);
}

static void create_flags(void)
{
    create(GEX_MK_CLASS_HOST, 6);
}

static void destroy_invalid(void)
{
    gex_MK_Destroy(GEX_MK_INVALID, 0);
}

static void destroy_flags(void)
{
    gex_MK_Destroy(GEX_MK_HOST, 3);
}

const bad_call_t bad_kind_calls[] = {
    {"kind-cuda", BAD_RETURNS, 0,
     "gex_MK_Create: class 1 \\(GEX_MK_CLASS_CUDA_UVA\\) .*: this library has no device support",
     create_cuda, NULL, NULL},
    {"kind-hip", BAD_RETURNS, 0,
     "gex_MK_Create: class 2 \\(GEX_MK_CLASS_HIP\\) .*: this library has no device support",
     create_hip, NULL, NULL},
    {"kind-ze", BAD_RETURNS, 0,
     "gex_MK_Create: class 3 \\(GEX_MK_CLASS_ZE\\) .*: this library has no device support",
     create_ze, NULL, NULL},
    {"kind-unknown", BAD_RETURNS, 0, "gex_MK_Create: class 9 \\(no class\\) is not GEX_MK_CLASS_",
     create_unknown, NULL, NULL},
    {"kind-flags", BAD_RETURNS, 0, "gex_MK_Create: flags 0x6 and args->gex_flags 0x0 have to be 0",
     create_flags, NULL, NULL},
    {"kind-destroy-invalid", BAD_FATAL, 0, "gex_MK_Destroy: 0x0 is no kind of memory",
     destroy_invalid, NULL, NULL},
    {"kind-destroy-flags", BAD_FATAL, 0, "gex_MK_Destroy: flags 0x3 have to be 0", destroy_flags,
     NULL, NULL},
    {NULL, BAD_FATAL, 0, NULL, NULL, NULL, NULL}};
