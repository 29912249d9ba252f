// SPDX-License-Identifier: BSD-3-Clause
// Registers the segment, or all addresses, and exchanges the keys. ofi_rma.c and ofi_atomic.c look
// up memory of peers here first.
#include "ofi_keys.h"

#include "../../../other/base/log/log.h"

#define ACCESS (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

// Returns 0, or a negative error of libfabric.
static int memory_register(ofi_keys_t *keys, void *memory, size_t bytes)
{
    keys->start = (uintptr_t)memory;
    keys->bytes = bytes;
    if (!bytes)
        return 0;
    const int error = ofi_fabric_register(keys->fabric, memory, bytes, ACCESS, &keys->region);
    if (error) {
        keys->region = NULL;
        return error;
    }
    keys->key = fi_mr_key(keys->region);
    return keys->key == FI_KEY_NOTAVAIL ? -FI_ENOKEY : 0;
}

static void memory_unregister(ofi_keys_t *keys)
{
    if (keys->region)
        fi_close(&keys->region->fid);
    keys->region = NULL;
    keys->bytes = 0;
}

static void refusal_tell(const ofi_keys_t *keys, size_t bytes, int error)
{
    aq_log_notice(
        "provider %s does not register %s of rank %u (%zu bytes: %s), so put and get register "
        "parts of it or travel in messages; a lower limit may be the cause (ulimit -l)",
        keys->fabric->info->fabric_attr->prov_name, keys->whole ? "the memory" : "the segment",
        keys->env->rank, bytes, fi_strerror(-error));
}

// All ranks often have the same key, since they count alike.
static aq_status_t keys_exchange(ofi_keys_t *keys)
{
    aq_boot_t *boot = keys->env->boot;
    const void *all;
    bool first;
    uint64_t key = keys->key;
    aq_status_t status = boot->ops->broadcast(boot, &key, sizeof key, 0);
    if (status != AQ_OK)
        return status;
    const bool alike = key == keys->key || !keys->region;
    if (aq_boot_agree_quietly(boot, alike ? AQ_OK : AQ_ERR_ABSENT, &first) == AQ_OK) {
        keys->key = key;
        return AQ_OK;
    }
    status = aq_boot_exchange_kept(boot, &keys->key, sizeof keys->key, &all);
    keys->all = all;
    return status;
}

aq_status_t ofi_keys_share(ofi_keys_t *keys, void *memory, size_t bytes, bool wanted)
{
    bool first;
    const int error = wanted ? memory_register(keys, memory, bytes) : 0;
    keys->reached =
        aq_boot_agree_quietly(keys->env->boot, wanted && !error ? AQ_OK : AQ_ERR_RESOURCE,
                              &first) == AQ_OK;
    if (keys->reached)
        return keys_exchange(keys);
    memory_unregister(keys);
    if (first && error)
        refusal_tell(keys, bytes, error);
    return AQ_OK;
}

bool ofi_keys_own(const ofi_keys_t *keys, const void *memory, size_t bytes, void **descriptor)
{
    const uintptr_t offset = (uintptr_t)memory - keys->start;
    if (!keys->region || offset >= keys->bytes || bytes > keys->bytes - offset)
        return false;
    *descriptor = fi_mr_desc(keys->region);
    return true;
}

bool ofi_keys_remote(const ofi_keys_t *keys, uint32_t rank, const void *memory, size_t bytes,
                     struct fi_rma_iov *out)
{
    const uintptr_t start = keys->whole ? 0 : keys->env->segment_addr[rank];
    const uintptr_t size = keys->whole ? SIZE_MAX : keys->env->segment_size[rank];
    const uintptr_t offset = (uintptr_t)memory - start;
    if (!keys->reached || offset >= size || bytes > size - offset)
        return false;
    out->addr = keys->fabric->traits.mr_virt_addr ? (uintptr_t)memory : offset;
    out->len = bytes;
    out->key = keys->all ? keys->all[rank] : keys->key;
    return true;
}
