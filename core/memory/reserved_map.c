// SPDX-License-Identifier: BSD-3-Clause
// Makes the reserved segment of this process a file, maps those of neighbours, and adds and removes
// pages of the file. segment_reserved.c calls it.
#include "reserved_map.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../ground/fatal.h"
#include "../../other/base/memory/memfile.h"
#include "../conduit.h"
#include "../state/job.h"
#include "mapped.h"
#include "../endpoint/team.h"

#ifndef UFFD_USER_MODE_ONLY // Linux 5.11
#define UFFD_USER_MODE_ONLY 1
#endif

int aq_reserved_file = -1;

static int watch = -1; // of userfaultfd, open until the process ends

// ---- pages of this process ----

static int file_change(int mode, size_t offset, size_t size)
{
    int error;
    do
        error = fallocate(aq_reserved_file, mode, (off_t)offset, (off_t)size) == 0 ? 0 : errno;
    while (error == EINTR);
    return error;
}

static int pages_remove(size_t offset, size_t size)
{
    return file_change(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, size);
}

// Neighbours access the pages without a call, so all of them exist from now on. They enter the page
// table of this process, too, so that its first accesses do not fault. A dump of the process has
// allocated pages only: otherwise the kernel would look at all pages of the segment.
int aq_reserved_map_allocate(void *addr, size_t size, size_t offset)
{
    int error = file_change(0, offset, size);
    if (error == 0 && mprotect(addr, size, PROT_READ | PROT_WRITE) != 0) {
        error = errno;
        (void)pages_remove(offset, size);
    }
    if (error == 0) {
        (void)madvise(addr, size, MADV_DODUMP);
        (void)aq_mapped(addr, size, true);
    }
    return error;
}

int aq_reserved_map_free(void *addr, size_t size, size_t offset)
{
    if (mprotect(addr, size, PROT_NONE) != 0)
        return errno;
    const int error = pages_remove(offset, size);
    if (error)
        (void)mprotect(addr, size, PROT_READ | PROT_WRITE);
    else
        (void)madvise(addr, size, MADV_DONTDUMP); // so that the kernel joins adjacent mappings
    return error;
}

// ---- attach ----

// What a rank exchanges: its file, and then how many neighbours it could not map.
typedef struct offer {
    aq_memfile_ticket_t file; // pid 0: there is none
    uint32_t missing;         // neighbours that are not mapped
    int32_t error;            // why
} offer_t;

// Returns 0 or errno.
static int watch_open(void)
{
    struct uffdio_api api = {.api = UFFD_API,
                             .features = UFFD_FEATURE_SIGBUS | UFFD_FEATURE_MISSING_SHMEM};
    const long flags = O_CLOEXEC | O_NONBLOCK;
    watch = (int)syscall(SYS_userfaultfd, flags | UFFD_USER_MODE_ONLY);
    if (watch < 0 && errno == EINVAL)
        watch = (int)syscall(SYS_userfaultfd, flags);
    if (watch < 0 || ioctl(watch, UFFDIO_API, &api) == 0)
        return watch < 0 ? errno : 0;
    const int error = errno;
    close(watch);
    watch = -1;
    return error;
}

// The file takes the place of the reserved addresses. Returns 0 or errno.
static int file_place(void *base, size_t size)
{
    const int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
    int error = aq_memfile_try_create("gasnet-reserved", size, &aq_reserved_file);
    if (error == 0 && mmap(base, size, PROT_NONE, flags, aq_reserved_file, 0) == MAP_FAILED) {
        error = errno;
        close(aq_reserved_file);
        aq_reserved_file = -1;
    }
    if (error == 0)
        (void)madvise(base, size, MADV_DONTDUMP);
    return error;
}

// Maps a file with guards beside it. Accesses to pages that it does not have fault. Returns 0 or
// errno.
static int file_map(int fd, size_t size, char **here)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    const size_t capacity = size + 2 * AQ_SEGMENT_GUARD;
    char *at = mmap(NULL, capacity, PROT_NONE, flags, -1, 0);
    if (at == MAP_FAILED)
        return errno;
    *here = at + AQ_SEGMENT_GUARD;
    struct uffdio_register pages = {.range = {(uintptr_t)*here, size},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (mmap(*here, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0) !=
            MAP_FAILED &&
        madvise(*here, size, MADV_DONTDUMP) == 0 && ioctl(watch, UFFDIO_REGISTER, &pages) == 0)
        return 0;
    const int error = errno;
    munmap(at, capacity);
    return error;
}

// Returns 0 or errno.
static int neighbour_map(uint32_t rank, const offer_t *offer, void *base, size_t size)
{
    int fd;
    char *here = NULL;
    if (!offer->file.pid || watch < 0)
        return watch < 0 ? ENOSYS : offer->error;
    int error = aq_memfile_try_open(&offer->file, &fd);
    if (error)
        return error;
    error = file_map(fd, size, &here);
    close(fd);
    if (error == 0)
        aq_team_map(rank, here - (char *)base);
    return error;
}

static void map_neighbours(const offer_t *all, void *base, size_t size, offer_t *mine)
{
    for (uint32_t i = 0; i < aq_job.env.nbrhd_size; i++) {
        const uint32_t rank = aq_job.env.nbrhd[i];
        if (rank == aq_job.rank)
            continue;
        const int error = neighbour_map(rank, &all[rank], base, size);
        mine->missing += error != 0;
        if (error && !mine->error)
            mine->error = error;
    }
}

static const char *remedy_of(int error)
{
    if (error == ENOMEM)
        return "reserve less, or raise the limit of the address space (ulimit -v)";
    if (error == ENOSYS || error == EPERM)
        return "allow the system call userfaultfd in the sandbox or container of the job";
    if (error == EFBIG)
        return "raise the limit of the size of a file (ulimit -f)";
    return "check that the processes of a host see each other in /proc";
}

// The first rank that could not map a neighbour logs why.
static void tell_of_missing(const offer_t *all)
{
    uint32_t first = 0;
    while (first < aq_job.size && !all[first].missing)
        first++;
    if (first == aq_job.rank)
        aq_log_warn("gasnetx_Segment_AttachReserved: rank %u accesses the segments of %u of its %u "
                    "neighbours by messages, since it cannot map them (%s); %s",
                    first, all[first].missing, aq_job.env.nbrhd_size - 1,
                    strerror(all[first].error), remedy_of(all[first].error));
}

aq_status_t aq_reserved_map_share(void *base, size_t size)
{
    aq_boot_t *boot = aq_job.boot;
    offer_t mine = {0};
    offer_t *all = aq_allocate(aq_job.size * sizeof *all, "the reserved segments of all ranks");
    int error = aq_job.env.nbrhd_size > 1 ? watch_open() : 0;
    if (watch >= 0 && (error = file_place(base, size)) == 0)
        (void)aq_memfile_ticket(aq_reserved_file, &mine.file);
    mine.error = error;
    aq_status_t status = boot->ops->exchange(boot, &mine, sizeof mine, all);
    if (status == AQ_OK) {
        map_neighbours(all, base, size, &mine);
        status = boot->ops->exchange(boot, &mine, sizeof mine, all);
    }
    if (status == AQ_OK)
        tell_of_missing(all);
    free(all);
    return status;
}
