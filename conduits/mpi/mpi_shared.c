// SPDX-License-Identifier: BSD-3-Clause
// Memory that MPI shares among the processes of a host, in two MPI windows. One holds their
// mailboxes, through which they send each other messages; the other holds their segments, so that
// put, get, atomics and the payload of Longs are loads and stores. Neither needs calls of MPI.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../core/gasnetex_core.h"
#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "../common/guarded.h"
#include "mpi_shared.h"
#include "mpi_fail.h"
#include "mpi_profile.h"

enum { PAGE = GASNET_PAGESIZE };

// Where MPI libraries create the files behind such MPI windows.
#define STORE "/dev/shm"

static size_t round_up(size_t value)
{
    return (value + PAGE - 1) / PAGE * PAGE;
}

// The size of a part, with an extra page: MPI may place the memory at any offset in a page.
static size_t bytes_of(size_t size)
{
    return round_up(size) + PAGE;
}

static size_t mailboxes_bytes(const mpi_shm_group_t *group)
{
    return group->size * bytes_of(aq_mailbox_bytes());
}

// The index of a rank; group->size: it is not in the group.
static uint32_t group_index(const mpi_shm_group_t *group, uint32_t rank)
{
    uint32_t i = 0;
    while (i < group->size && group->ranks[i] != rank)
        i++;
    return i;
}

static bool group_has(const mpi_shm_group_t *group, uint32_t rank)
{
    return group_index(group, rank) < group->size;
}

// Whether there is room for an MPI window. Without room, an MPI fails in one process and hangs in
// the others, or the job is killed later when it accesses the memory. So ranks check the room
// first.
static bool has_room(size_t bytes)
{
    struct statvfs store;
    return access(STORE, W_OK) == 0 && statvfs(STORE, &store) == 0 &&
           bytes + bytes / 16 <= (size_t)store.f_bavail * store.f_frsize;
}

// ---- the processes that share memory with this one ----

static aq_status_t find_shm_group(mpi_conduit_t *mpi)
{
    const uint64_t most = (uint64_t)aq_setting_int(aq_mpi_setting(MPI_SET_SHARED_MAXSIZE));
    mpi_shm_group_t *group = &mpi->shared.group;
    group->ranks = malloc(mpi->mail.base.env->size * sizeof *group->ranks);
    if (!group->ranks) {
        aq_log_error("out of memory for the shared windows of %u ranks", mpi->mail.base.env->size);
        return AQ_ERR_RESOURCE;
    }
    group->size = 1;
    group->ranks[0] = mpi->mail.base.env->rank;
    if (most == 1)
        return AQ_OK;
    int error = mpi->mpi->split(mpi->comm, most ? (uint32_t)most : UINT32_MAX, &group->comm,
                                group->ranks, &group->size);
    return error ? mpi_conduit_error(mpi, "MPI_Comm_split_type", error) : AQ_OK;
}

// Maps an MPI window a second time, and translates the address of each part (in, out), which is
// then on a page of its own: MPI_Finalize unmaps MPI's own mapping, while threads or signal
// handlers of the client may still use the memory as the job ends. sizes: of the parts of all
// ranks, or NULL. Returns false if there is no room.
typedef bool win_remap_t(const mpi_conduit_t *mpi, const uintptr_t *sizes, void **parts);

// Creates an MPI window with `mine` bytes of this process; sizes: what remap needs. Returns the
// address of each part; the caller owns the array. NULL: fault (logged).
static void **win_share(mpi_conduit_t *mpi, size_t mine, const uintptr_t *sizes, win_remap_t *remap,
                        aq_mpilib_window_t **win)
{
    mpi_shm_group_t *group = &mpi->shared.group;
    void **parts = malloc(group->size * sizeof *parts);
    if (!parts) {
        aq_log_error("out of memory for a shared window of %u ranks", group->size);
        return NULL;
    }
    const int error = mpi->mpi->share(group->comm, mine, parts, win);
    if (!error && remap(mpi, sizes, parts))
        return parts;
    if (error)
        (void)mpi_conduit_error(mpi, "MPI_Win_allocate_shared", error);
    else
        aq_log_error("the shared window of MPI cannot be mapped a second time; raise the limit of "
                     "virtual memory (ulimit -v), or set GASNET_MPI_SHARED_MAXSIZE=1");
    free(parts);
    return NULL;
}

// ---- mailboxes ----

// Opens a private mailbox, in which this process sleeps.
static aq_status_t open_own_mailbox(mpi_conduit_t *mpi)
{
    aq_mail_areas_t areas = {.count = 1, .stride = aq_mailbox_bytes()};
    areas.first = mmap(NULL, areas.stride, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (areas.first == MAP_FAILED) {
        aq_log_error("no memory for a mailbox of %zu bytes; set GASNET_PSHM_NETWORK_DEPTH lower",
                     areas.stride);
        return AQ_ERR_RESOURCE;
    }
    aq_mail_open(&mpi->mail, &areas);
    return AQ_OK;
}

// Maps the MPI window of the mailboxes again, with the same distances between them.
static bool remap_mailboxes(const mpi_conduit_t *mpi, const uintptr_t *sizes, void **parts)
{
    const mpi_shm_group_t *group = &mpi->shared.group;
    const uintptr_t first = (uintptr_t)parts[0] / PAGE * PAGE;
    char *base = mremap((void *)first, 0, mailboxes_bytes(group), MREMAP_MAYMOVE);
    (void)sizes;
    for (uint32_t i = 0; base != MAP_FAILED && i < group->size; i++)
        parts[i] = base + round_up((uintptr_t)parts[i] - first);
    return base != MAP_FAILED;
}

static aq_status_t open_mailboxes(mpi_conduit_t *mpi)
{
    const mpi_shm_group_t *group = &mpi->shared.group;
    const size_t mine = bytes_of(aq_mailbox_bytes());
    mpi_enter(mpi);
    void **parts = win_share(mpi, mine, NULL, remap_mailboxes, &mpi->shared.mailboxes);
    mpi_leave(mpi);
    if (!parts)
        return AQ_ERR_RESOURCE;
    aq_mail_open(&mpi->mail, &(aq_mail_areas_t){parts[0], mine, group->size,
                                                group_index(group, mpi->mail.base.env->rank)});
    memset(aq_mailbox_at(&mpi->mail, mpi->mail.areas.index), 0, sizeof(aq_mailbox_t));
    mpi->shared.by_mail = true;
    mpi->bytes += mine;
    free(parts);
    return AQ_OK;
}

// The number of ranks that neither smp nor a mailbox reaches.
static uint32_t count_far(const mpi_conduit_t *mpi)
{
    const aq_conduit_env_t *env = mpi->mail.base.env;
    uint32_t far = 0;
    for (uint32_t rank = 0; rank < env->size; rank++)
        far += aq_index_in_nbrhd(env, rank) == UINT32_MAX &&
               !(mpi->shared.by_mail && group_has(&mpi->shared.group, rank));
    return far;
}

// Whether a mailbox is needed: not for ranks that share memory by smp.
static bool wants_mailbox(const mpi_conduit_t *mpi)
{
    for (uint32_t i = 0; i < mpi->shared.group.size; i++)
        if (aq_index_in_nbrhd(mpi->mail.base.env, mpi->shared.group.ranks[i]) == UINT32_MAX)
            return true;
    return false;
}

aq_status_t mpi_shared_open(mpi_conduit_t *mpi)
{
    bool all;
    mpi_enter(mpi);
    aq_status_t status = find_shm_group(mpi);
    mpi_leave(mpi);
    if (status != AQ_OK)
        return status;
    const bool wanted = wants_mailbox(mpi);
    status = mpi_agree(mpi, !wanted || has_room(mailboxes_bytes(&mpi->shared.group)), &all);
    if (status == AQ_OK)
        status = wanted && all ? open_mailboxes(mpi) : open_own_mailbox(mpi);
    mpi->shared.far = count_far(mpi);
    // All ranks have cleared their mailboxes.
    return status == AQ_OK ? mpi_agree(mpi, true, &all) : status;
}

void mpi_shared_link(const mpi_conduit_t *mpi, uint32_t rank, mpi_link_t *link)
{
    const uint32_t place = group_index(&mpi->shared.group, rank);
    if (mpi->shared.by_mail && place < mpi->shared.group.size)
        aq_mail_link(&mpi->mail, aq_mailbox_at(&mpi->mail, place), &link->mail);
}

// ---- segments ----

static size_t bytes_of_all(const mpi_shm_group_t *group, const uintptr_t *sizes)
{
    size_t total = 0;
    for (uint32_t i = 0; i < group->size; i++)
        total += bytes_of(sizes[group->ranks[i]]);
    return total;
}

// Whether an MPI window is usable for this process: all its neighbours have to be in it. Mailboxes
// may not have used their memory yet, so it is added.
static bool win_suffices(const mpi_conduit_t *mpi, const uintptr_t *sizes)
{
    const aq_conduit_env_t *env = mpi->mail.base.env;
    const mpi_shm_group_t *group = &mpi->shared.group;
    for (uint32_t i = 0; i < env->nbrhd_size; i++)
        if (!group_has(group, env->nbrhd[i]))
            return false;
    return has_room(bytes_of_all(group, sizes) +
                    (mpi->shared.by_mail ? mailboxes_bytes(group) : 0));
}

// Addresses for the segments, with guards between them if there is room for these. Returns NULL if
// there is none at all; the caller owns the array.
static uintptr_t *find_places(const mpi_conduit_t *mpi, const uintptr_t *sizes)
{
    const mpi_shm_group_t *group = &mpi->shared.group;
    const uint32_t own = group_index(group, mpi->mail.base.env->rank);
    uintptr_t *places = malloc(group->size * sizeof *places);
    for (uint32_t i = 0; places && i < group->size; i++)
        places[i] = round_up(sizes[group->ranks[i]]);
    if (places && (aq_guarded_reserve(places, group->size, own, AQ_HUGE_PAGE, true) ||
                   aq_guarded_reserve(places, group->size, own, AQ_HUGE_PAGE, false)))
        return places;
    free(places);
    return NULL;
}

// Maps memory a second time by a direct system call, since UCX replaces mremap by a function that
// loses the new address.
static bool map_again(void *from, size_t size, void *to)
{
    const long flags = MREMAP_MAYMOVE | MREMAP_FIXED;
    return syscall(SYS_mremap, from, (size_t)0, size, flags, to) == (long)to;
}

static bool remap_segments(const mpi_conduit_t *mpi, const uintptr_t *sizes, void **parts)
{
    const mpi_shm_group_t *group = &mpi->shared.group;
    uintptr_t *places = find_places(mpi, sizes);
    bool mapped = places != NULL;
    for (uint32_t i = 0; mapped && i < group->size; i++) {
        const size_t size = round_up(sizes[group->ranks[i]]);
        void *const from = (void *)round_up((uintptr_t)parts[i]), *const to = (void *)places[i];
        mapped = !size || map_again(from, size, to);
        parts[i] = to;
    }
    free(places);
    return mapped;
}

static aq_status_t share_in_win(mpi_conduit_t *mpi, const uintptr_t *sizes, void **here)
{
    const mpi_shm_group_t *group = &mpi->shared.group;
    const size_t mine = bytes_of(sizes[mpi->mail.base.env->rank]);
    mpi_enter(mpi);
    void **parts = win_share(mpi, mine, sizes, remap_segments, &mpi->shared.segments);
    mpi_leave(mpi);
    if (!parts)
        return AQ_ERR_RESOURCE;
    for (uint32_t i = 0; i < group->size; i++)
        here[group->ranks[i]] = parts[i];
    free(parts);
    return AQ_OK;
}

// Allocates a segment without MPI for a process that shares no memory with others: MPI would not
// share the segment either, but unmap it in MPI_Finalize.
static aq_status_t allocate_unshared(uint32_t rank, const uintptr_t *sizes, void **here)
{
    void *own = mmap(NULL, round_up(sizes[rank]), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (own == MAP_FAILED) {
        aq_log_error("no memory for a segment of %zu bytes; ask for less", (size_t)sizes[rank]);
        return AQ_ERR_RESOURCE;
    }
    here[rank] = own;
    return AQ_OK;
}

static void find_first_unmapped(mpi_conduit_t *mpi, void *const *here)
{
    const aq_conduit_env_t *env = mpi->mail.base.env;
    uint32_t rank = 0, i = 0;
    for (; rank < env->size; rank++) {
        if (i < env->nbrhd_size && env->nbrhd[i] == rank)
            i++;
        else if (!here[rank])
            break;
    }
    mpi->shared.first_unmapped = rank;
}

aq_status_t mpi_share_segments(aq_conduit_t *conduit, const uintptr_t *sizes, void **here)
{
    mpi_conduit_t *mpi = mpi_of(conduit);
    bool all = false;
    aq_status_t status = AQ_OK;
    if (strcmp(aq_setting_text(aq_mpi_setting(MPI_SET_RMA)), "0") != 0 &&
        aq_setting_int(aq_mpi_setting(MPI_SET_SHARED_MAXSIZE)) != 1)
        status = mpi_agree(mpi, win_suffices(mpi, sizes), &all);
    if (status == AQ_OK && all)
        status = mpi->shared.group.size > 1 ? share_in_win(mpi, sizes, here)
                                            : allocate_unshared(conduit->env->rank, sizes, here);
    find_first_unmapped(mpi, here);
    return status == AQ_OK && !all ? AQ_ERR_ABSENT : status;
}
