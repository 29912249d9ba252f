// SPDX-License-Identifier: BSD-3-Clause
#include "../../unit/unit_test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fake_verbs.h"
#include "../../unit/assert_between.h"

fake_verbs_t fake_verbs;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static int region_refusal(uintptr_t start, size_t bytes, int access)
{
    if (bytes == SIZE_MAX)
        return start == 0 && fake_verbs.whole && access & IBV_ACCESS_ON_DEMAND ? 0 : EINVAL;
    int write = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    if (start + bytes > fake_verbs.none ||
        (start + bytes > fake_verbs.read_only && (access & write) != 0))
        return EFAULT;
    if (fake_verbs.bytes + bytes > fake_verbs.most_bytes ||
        fake_verbs.regions >= fake_verbs.most_regions)
        return fake_verbs.error;
    return 0;
}

static struct ibv_mr *add_region(struct ibv_pd *pd, void *start, size_t bytes, int access)
{
    uint32_t key = 1;
    while (key <= FAKE_VERBS_REGIONS && fake_verbs.table[key - 1] != NULL)
        key++;
    struct ibv_mr *region = calloc(1, sizeof *region);
    assert_true(region != NULL && key <= FAKE_VERBS_REGIONS);
    fake_verbs.bytes += bytes == SIZE_MAX ? 0 : bytes;
    fake_verbs.regions++;
    fake_verbs.table[key - 1] = region;
    fake_verbs.rights[key - 1] = access;
    *region = (struct ibv_mr){
        .pd = pd, .addr = start, .length = bytes, .lkey = key, .rkey = key + FAKE_VERBS_FOR_PEERS};
    return region;
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *start, size_t bytes, int access)
{
    pthread_mutex_lock(&table_lock);
    fake_verbs.registrations++;
    fake_verbs.access = access;
    int error = region_refusal((uintptr_t)start, bytes, access);
    struct ibv_mr *region = error == 0 ? add_region(pd, start, bytes, access) : NULL;
    pthread_mutex_unlock(&table_lock);
    errno = error;
    return region;
}

static int dereg_mr(struct ibv_mr *region)
{
    pthread_mutex_lock(&table_lock);
    assert_ptr_equal(fake_verbs.table[region->lkey - 1], region);
    fake_verbs.table[region->lkey - 1] = NULL;
    fake_verbs.bytes -= region->length == SIZE_MAX ? 0 : region->length;
    fake_verbs.regions--;
    free(region);
    pthread_mutex_unlock(&table_lock);
    return 0;
}

static enum ibv_fork_status is_fork_initialized(void)
{
    return fake_verbs.fork;
}

static int fork_init(void)
{
    fake_verbs.fork_inits++;
    return fake_verbs.fork_error;
}

const aq_ibv_calls_t fake_verbs_calls = {reg_mr, dereg_mr, is_fork_initialized, fork_init};

void fake_verbs_start(void)
{
    fake_verbs = (fake_verbs_t){.most_bytes = UINT64_MAX / 2,
                                .most_regions = FAKE_VERBS_REGIONS,
                                .error = ENOMEM,
                                .read_only = UINTPTR_MAX,
                                .none = UINTPTR_MAX};
}

void fake_verbs_use(uint32_t key, uintptr_t address, size_t bytes, bool write, bool local)
{
    int right = local ? (write ? IBV_ACCESS_LOCAL_WRITE : 0)
                      : (write ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ);
    key -= local ? 0 : FAKE_VERBS_FOR_PEERS;
    assert_between(key, 1, FAKE_VERBS_REGIONS);
    const struct ibv_mr *region = fake_verbs.table[key - 1];
    assert_non_null(region);
    assert_int_equal(fake_verbs.rights[key - 1] & right, right);
    uintptr_t offset = address - (uintptr_t)region->addr;
    assert_true(offset <= region->length && bytes <= region->length - offset);
}
