// SPDX-License-Identifier: BSD-3-Clause
// Address vectors of the fake provider.
//
// A name is the endpoint's id in four bytes, then bytes of a pattern up to the length of the
// preset. Addresses of a vector of type FI_AV_TABLE are indices; those of type FI_AV_MAP are not,
// and begin far from 0, so that an application notices that it took one for an index.
#include "fake_provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const fi_addr_t map_start = 0x7fa000000000, map_step = 0x140;

void fake_name_write(uint32_t id, void *name)
{
    const size_t bytes = fake_preset()->address_bytes;
    memset(name, 0xa5, bytes);
    memcpy(name, &id, sizeof id);
}

static fi_addr_t address_of(const fake_av_t *av, size_t index)
{
    return av->type == FI_AV_TABLE ? index : map_start + index * map_step;
}

static bool index_of(const fake_av_t *av, fi_addr_t address, size_t *index)
{
    const fi_addr_t away = address - map_start;
    if (av->type != FI_AV_TABLE && (address < map_start || away % map_step))
        return false;
    *index = av->type == FI_AV_TABLE ? address : away / map_step;
    return *index < av->count && av->ids[*index] != 0;
}

uint32_t fake_av_find(const fake_av_t *av, fi_addr_t address)
{
    size_t index;
    return index_of(av, address, &index) ? av->ids[index] : 0;
}

fi_addr_t fake_av_reverse(const fake_av_t *av, uint32_t id)
{
    for (size_t i = 0; av && i < av->count; i++)
        if (av->ids[i] == id)
            return address_of(av, i);
    return FI_ADDR_NOTAVAIL;
}

static fi_addr_t address_add(fake_av_t *av, uint32_t id)
{
    if (av->count == av->capacity) {
        av->capacity = av->capacity ? 2 * av->capacity : 16;
        av->ids = realloc(av->ids, av->capacity * sizeof *av->ids);
        if (!av->ids)
            fake_die("no memory for %zu addresses", av->capacity);
    }
    av->ids[av->count] = id;
    return address_of(av, av->count++);
}

static int av_insert(struct fid_av *fid, const void *names, size_t count, fi_addr_t *out,
                     uint64_t flags, void *context)
{
    fake_av_t *av = (fake_av_t *)fid;
    (void)flags, (void)context;
    int inserted = 0;
    pthread_mutex_lock(&fake_lock);
    for (size_t i = 0; i < count; i++) {
        uint32_t id;
        memcpy(&id, (const char *)names + i * fake_preset()->address_bytes, sizeof id);
        const fi_addr_t address = id ? address_add(av, id) : FI_ADDR_NOTAVAIL;
        inserted += id != 0;
        if (out)
            out[i] = address;
    }
    pthread_mutex_unlock(&fake_lock);
    return inserted;
}

static int av_remove(struct fid_av *fid, fi_addr_t *addresses, size_t count, uint64_t flags)
{
    fake_av_t *av = (fake_av_t *)fid;
    (void)flags;
    int error = 0;
    pthread_mutex_lock(&fake_lock);
    for (size_t i = 0; i < count; i++) {
        size_t index;
        if (index_of(av, addresses[i], &index))
            av->ids[index] = 0;
        else
            error = -FI_EINVAL;
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}

static int av_lookup(struct fid_av *fid, fi_addr_t address, void *name, size_t *bytes)
{
    char full[FAKE_ADDRESS_BYTES];
    pthread_mutex_lock(&fake_lock);
    const uint32_t id = fake_av_find((fake_av_t *)fid, address);
    const size_t have = fake_preset()->address_bytes;
    if (id) {
        fake_name_write(id, full);
        memcpy(name, full, *bytes < have ? *bytes : have);
        *bytes = have;
    }
    pthread_mutex_unlock(&fake_lock);
    return id ? 0 : -FI_EINVAL;
}

static const char *av_text(struct fid_av *fid, const void *name, char *text, size_t *bytes)
{
    uint32_t id;
    (void)fid;
    memcpy(&id, name, sizeof id);
    *bytes = (size_t)snprintf(text, *bytes, "fake://%08x", (unsigned)id) + 1;
    return text;
}

static int av_insert_service(struct fid_av *fid, const char *node, const char *service,
                             fi_addr_t *out, uint64_t flags, void *context)
{
    (void)fid, (void)node, (void)service, (void)out, (void)flags, (void)context;
    return -FI_ENOSYS;
}

static int av_close(struct fid *fid)
{
    fake_av_t *av = (fake_av_t *)fid;
    pthread_mutex_lock(&fake_lock);
    av->domain->users--;
    pthread_mutex_unlock(&fake_lock);
    free(av->ids);
    free(av);
    return 0;
}

static int av_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
    (void)fid, (void)to, (void)flags;
    return -FI_ENOSYS;
}

static struct fi_ops av_fid_ops = {.size = sizeof av_fid_ops, .close = av_close, .bind = av_bind};
static struct fi_ops_av av_ops = {
    .size = sizeof av_ops,
    .insert = av_insert,
    .insertsvc = av_insert_service,
    .remove = av_remove,
    .lookup = av_lookup,
    .straddr = av_text,
};

static bool type_fits(enum fi_av_type type)
{
    return !(type == FI_AV_TABLE && fake_word(WORD_AV_MAP)) &&
           !(type == FI_AV_MAP && fake_word(WORD_AV_TABLE));
}

int fake_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **out,
                 void *context)
{
    if (!type_fits(attr->type))
        return -FI_EINVAL;
    if (attr->flags & FI_EVENT || attr->name)
        return -FI_ENOSYS;
    if (attr->type == FI_AV_UNSPEC)
        attr->type = fake_word(WORD_AV_MAP) ? FI_AV_MAP : FI_AV_TABLE;
    fake_av_t *av = fake_alloc(sizeof *av);
    av->fid.fid = (struct fid){FI_CLASS_AV, context, &av_fid_ops};
    av->fid.ops = &av_ops;
    av->type = attr->type;
    pthread_mutex_lock(&fake_lock);
    av->domain = (fake_domain_t *)domain;
    av->domain->users++;
    pthread_mutex_unlock(&fake_lock);
    *out = &av->fid;
    return 0;
}
