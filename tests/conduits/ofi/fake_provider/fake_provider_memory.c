// SPDX-License-Identifier: BSD-3-Clause
// Memory registration of the fake provider.
#include "fake_provider.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool memory_is_mapped(const void *memory, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), mask = ~(page - 1);
    const uintptr_t start = (uintptr_t)memory & mask;
    const uintptr_t end = ((uintptr_t)memory + bytes + page - 1) & mask;
    unsigned char present[1024];
    for (uintptr_t at = start; at < end; at += sizeof present * page) {
        const uintptr_t left = end - at, most = sizeof present * page;
        if (mincore((void *)at, left < most ? left : most, present) != 0)
            return false;
    }
    return true;
}

static bool region_is_usable(const fake_region_t *region)
{
    return !fake_word(WORD_MR_ENDPOINT) || (region->bound && region->enabled);
}

static fake_region_t *region_find(const fake_domain_t *domain, uint64_t key)
{
    for (fake_region_t *region = domain->regions; region; region = region->next)
        if (region->fid.key == key && region_is_usable(region))
            return region;
    return NULL;
}

void *fake_region_resolve(fake_domain_t *domain, uint64_t key, uint64_t address, uint64_t bytes,
                          uint64_t access, int *error)
{
    const fake_region_t *region = region_find(domain, key);
    *error = FI_EACCES;
    if (!region || (region->access & access) != access)
        return NULL;
    const uint64_t offset =
        fake_word(WORD_MR_VIRT) ? address - (uint64_t)(uintptr_t)region->base : address;
    *error = FI_EINVAL;
    if (offset > region->bytes || bytes > region->bytes - offset)
        return NULL;
    *error = FI_EIO;
    if (!memory_is_mapped(region->base + offset, bytes))
        return NULL;
    *error = 0;
    return region->base + offset;
}

// ---- descriptors ----

static const fake_region_t *descriptor_region(const fake_domain_t *domain, const void *desc)
{
    for (const fake_region_t *region = domain->regions; region; region = region->next)
        if (region->fid.mem_desc == desc)
            return region;
    return NULL;
}

static bool region_covers(const fake_region_t *region, const struct iovec *part)
{
    const uintptr_t base = (uintptr_t)region->base, start = (uintptr_t)part->iov_base;
    return start >= base && start - base <= region->bytes &&
           part->iov_len <= region->bytes - (start - base);
}

void fake_descriptors_check(fake_domain_t *domain, const struct iovec *iov, void *const *desc,
                            size_t count, const char *what)
{
    for (size_t i = 0; fake_word(WORD_MR_LOCAL) && i < count; i++) {
        if (iov[i].iov_len == 0)
            continue;
        const fake_region_t *region = desc ? descriptor_region(domain, desc[i]) : NULL;
        if (!region)
            fake_die("mr-local: the descriptor of %s of %zu bytes at %p belongs to no region", what,
                     iov[i].iov_len, iov[i].iov_base);
        if (!region_covers(region, &iov[i]))
            fake_die("mr-local: the region of %zu bytes at %p does not cover %s of %zu bytes at %p",
                     region->bytes, (void *)region->base, what, iov[i].iov_len, iov[i].iov_base);
        if (!region_is_usable(region))
            fake_die("mr-endpoint: the region of %s was not bound and enabled", what);
    }
}

// ---- regions ----

static void region_unlink(fake_region_t *region)
{
    for (fake_region_t **at = &region->domain->regions; *at; at = &(*at)->next)
        if (*at == region) {
            *at = region->next;
            return;
        }
}

static int region_close(struct fid *fid)
{
    fake_region_t *region = (fake_region_t *)fid;
    pthread_mutex_lock(&fake_lock);
    if (region->uses)
        fake_die("mr-local: the region of %zu bytes at %p was closed, and %u operations use it",
                 region->bytes, (void *)region->base, region->uses);
    region_unlink(region);
    region->domain->users--;
    pthread_mutex_unlock(&fake_lock);
    memset(region, 0xdb, sizeof *region);
    free(region);
    return 0;
}

static int region_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
    (void)flags;
    if (to->fclass != FI_CLASS_EP)
        return -FI_EINVAL;
    pthread_mutex_lock(&fake_lock);
    ((fake_region_t *)fid)->bound = true;
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

// A key that the provider makes: nobody can guess it from another one.
static uint64_t key_make(fake_domain_t *domain)
{
    const uint64_t key = ++domain->next_key * 0x9e3779b97f4a7c15;
    const size_t bytes = fake_preset()->key_bytes;
    return bytes < 8 ? (uint32_t)domain->next_key * 0x9e3779b1u : key;
}

static int region_enable(fake_region_t *region)
{
    if (fake_word(WORD_MR_ENDPOINT) && !region->bound)
        return -FI_EOPBADSTATE;
    if (!region->enabled && fake_word(WORD_MR_PROV_KEY))
        region->fid.key = key_make(region->domain);
    region->enabled = true;
    return 0;
}

static int region_control(struct fid *fid, int command, void *argument)
{
    (void)argument;
    if (command != FI_ENABLE)
        return -FI_ENOSYS;
    pthread_mutex_lock(&fake_lock);
    const int error = region_enable((fake_region_t *)fid);
    pthread_mutex_unlock(&fake_lock);
    return error;
}

static struct fi_ops region_ops = {
    .size = sizeof region_ops,
    .close = region_close,
    .bind = region_bind,
    .control = region_control,
};

static bool key_is_taken(const fake_domain_t *domain, uint64_t key)
{
    for (const fake_region_t *region = domain->regions; region; region = region->next)
        if (region->fid.key == key)
            return true;
    return false;
}

static bool is_for_peers(uint64_t access)
{
    return access & (FI_REMOTE_READ | FI_REMOTE_WRITE);
}

// Bytes of all regions for peers, and of `more` bytes.
static uint64_t bytes_for_peers(const fake_domain_t *domain, uint64_t more)
{
    for (const fake_region_t *region = domain->regions; region; region = region->next)
        more += is_for_peers(region->access) ? region->bytes : 0;
    return more;
}

// mr-once, mr-most and mr-full.
static int amount_check(const fake_domain_t *domain, const struct fi_mr_attr *attr)
{
    const uintptr_t start = (uintptr_t)attr->mr_iov->iov_base;
    const size_t length = attr->mr_iov->iov_len;
    for (const fake_region_t *region = domain->regions; region; region = region->next)
        if (fake_word(WORD_MR_ONCE) && start - (uintptr_t)region->base < region->bytes)
            fake_die("mr-once: memory at %p is registered a second time", (void *)start);
        else if (fake_word(WORD_MR_ONCE) && (uintptr_t)region->base - start < length)
            fake_die("mr-once: memory at %p is registered a second time", (void *)region->base);
    if (!is_for_peers(attr->access))
        return 0;
    const uint64_t bytes = bytes_for_peers(domain, length);
    if (bytes > fake_number(WORD_MR_MAX))
        fake_die("mr-most: %llu bytes are registered for peers", (unsigned long long)bytes);
    return bytes > fake_number(WORD_MR_FULL) ? -FI_ENOMEM : 0;
}

static int request_check(const fake_domain_t *domain, const struct fi_mr_attr *attr)
{
    const struct iovec *memory = attr->mr_iov;
    const size_t bytes = fake_preset()->key_bytes;
    if (attr->iov_count != 1 || attr->offset)
        return -FI_EINVAL;
    if (fake_word(WORD_MR_ALLOCATED) && !memory_is_mapped(memory->iov_base, memory->iov_len))
        return -FI_EFAULT;
    const int error = amount_check(domain, attr);
    if (error || fake_word(WORD_MR_PROV_KEY))
        return error;
    if (bytes < 8 && attr->requested_key >> (8 * bytes))
        return -FI_EKEYREJECTED;
    return key_is_taken(domain, attr->requested_key) ? -FI_ENOKEY : 0;
}

static fake_region_t *region_make(fake_domain_t *domain, const struct fi_mr_attr *attr)
{
    fake_region_t *region = fake_alloc(sizeof *region);
    region->fid.fid = (struct fid){FI_CLASS_MR, attr->context, &region_ops};
    region->fid.mem_desc = region;
    region->fid.key = fake_word(WORD_MR_PROV_KEY) ? FI_KEY_NOTAVAIL : attr->requested_key;
    region->domain = domain;
    region->base = attr->mr_iov->iov_base;
    region->bytes = attr->mr_iov->iov_len;
    region->access = attr->access;
    region->next = domain->regions;
    domain->regions = region;
    domain->users++;
    return region;
}

static int mr_reg_attr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                       struct fid_mr **out)
{
    fake_domain_t *domain = (fake_domain_t *)fid;
    (void)flags;
    pthread_mutex_lock(&fake_lock);
    const int error = request_check(domain, attr);
    if (!error) {
        fake_region_t *region = region_make(domain, attr);
        if (!fake_word(WORD_MR_ENDPOINT))
            region_enable(region);
        *out = &region->fid;
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}

static int mr_reg_vector(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
                         uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **out,
                         void *context)
{
    const struct fi_mr_attr attr = {.mr_iov = iov,
                                    .iov_count = count,
                                    .access = access,
                                    .offset = offset,
                                    .requested_key = key,
                                    .context = context};
    return mr_reg_attr(fid, &attr, flags, out);
}

static int mr_reg(struct fid *fid, const void *memory, size_t bytes, uint64_t access,
                  uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **out, void *context)
{
    const struct iovec iov = {(void *)memory, bytes};
    return mr_reg_vector(fid, &iov, 1, access, offset, key, flags, out, context);
}

struct fi_ops_mr fake_mr_ops = {
    .size = sizeof fake_mr_ops,
    .reg = mr_reg,
    .regv = mr_reg_vector,
    .regattr = mr_reg_attr,
};
