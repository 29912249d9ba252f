// SPDX-License-Identifier: BSD-3-Clause
// The client's calls on kinds of memory, of which this library has one: memory of the host.
#include "../ground/fatal.h"
#include "../gasnet_mk.h"

static const char *class_name(gex_MK_Class_t class)
{
    static const char *const names[] = {"GEX_MK_CLASS_HOST", "GEX_MK_CLASS_CUDA_UVA",
                                        "GEX_MK_CLASS_HIP", "GEX_MK_CLASS_ZE"};
    return (unsigned)class < sizeof names / sizeof names[0] ? names[class] : "no class";
}

int gex_MK_Create(gex_MK_t *kind_p, gex_Client_t client, const gex_MK_Create_args_t *args,
                  gex_Flags_t flags)
{
    (void)client;
    if (args->gex_class != GEX_MK_CLASS_HOST) {
        aq_log_error("gex_MK_Create: class %u (%s) is not GEX_MK_CLASS_HOST: this library has no "
                     "device support; use memory of the host",
                     (unsigned)args->gex_class, class_name(args->gex_class));
        return GASNET_ERR_BAD_ARG;
    }
    if (flags || args->gex_flags) {
        aq_log_error("gex_MK_Create: flags 0x%x and args->gex_flags 0x%lx have to be 0", flags,
                     (unsigned long)args->gex_flags);
        return GASNET_ERR_BAD_ARG;
    }
    *kind_p = GEX_MK_HOST;
    return GASNET_OK;
}

void gex_MK_Destroy(gex_MK_t kind, gex_Flags_t flags)
{
    (void)kind, (void)flags;
    AQ_CHECK(kind == GEX_MK_HOST,
             "gex_MK_Destroy: 0x%lx is no kind of memory; GEX_MK_HOST is the only one",
             (unsigned long)(uintptr_t)kind);
    AQ_CHECK(!flags, "gex_MK_Destroy: flags 0x%x have to be 0", flags);
}
