// SPDX-License-Identifier: BSD-3-Clause
// Creates, opens and maps memfds, with the remedy for each errno. Boot pages, the rings and windows
// of conduit smp, and segments live in such files.
#include "memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../log/log.h"

#ifndef MFD_HUGETLB
#define MFD_HUGETLB 0x0004U // Linux 4.14
#endif
#ifndef MFD_HUGE_SHIFT
#define MFD_HUGE_SHIFT 26
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U // Linux 6.3
#endif

static const char *create_remedy(int error)
{
    switch (error) {
    case EMFILE:
        return "raise the limit of open files of a process (ulimit -n)";
    case ENFILE:
        return "raise the limit of open files of this host (sysctl fs.file-max)";
    case ENOMEM:
    case ENOSPC:
        return "free memory on this host, or run fewer processes on it";
    case EFBIG:
        return "raise the limit of the size of a file (ulimit -f), or ask for less memory";
    case ENOSYS:
        return "run on Linux 3.17 or newer, which has memfd_create";
    case EPERM:
    case EACCES:
        return "allow memfd_create in the sandbox or container that runs this process";
    default:
        return "ask for less memory, with GASNET_MAX_SEGSIZE";
    }
}

static int create_anonymous(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    // A host with vm.memfd_noexec=2 refuses executable files; older kernels do not know the flag.
    if (fd < 0 && errno == EACCES)
        fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    return fd;
}

int aq_memfile_resize(int fd, size_t size)
{
    const struct timespec now = {0};
    sigset_t limit, before;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    (void)pthread_sigmask(SIG_BLOCK, &limit, &before);
    int error = TEMP_FAILURE_RETRY(ftruncate(fd, (off_t)size)) == 0 ? 0 : errno;
    // The kernel sends SIGXFSZ to this thread, so it is pending now, unless the process ignores it.
    if (error == EFBIG && !sigismember(&before, SIGXFSZ))
        (void)sigtimedwait(&limit, NULL, &now);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int aq_memfile_try_create(const char *name, size_t size, int *fd_out)
{
    const int fd = create_anonymous(name);
    const int error = fd < 0 ? errno : aq_memfile_resize(fd, size);
    if (error == 0)
        *fd_out = fd;
    else if (fd >= 0)
        close(fd);
    return error;
}

// Mapping all of the file reserves its pages, for as long as the file lives: the kernel refuses
// that if it has not so many.
int aq_memfile_try_create_huge(const char *name, size_t size, size_t page, int *fd_out)
{
    const unsigned shift = (unsigned)__builtin_ctzl(page);
    const int fd = memfd_create(name, MFD_CLOEXEC | MFD_HUGETLB | shift << MFD_HUGE_SHIFT);
    int error = fd < 0 ? errno : aq_memfile_resize(fd, size);
    void *all = MAP_FAILED;
    if (error == 0)
        all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (error == 0 && all == MAP_FAILED)
        error = errno;
    if (all != MAP_FAILED)
        munmap(all, size);
    if (error == 0)
        *fd_out = fd;
    else if (fd >= 0)
        close(fd);
    return error;
}

size_t aq_memfile_page(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? (size_t)st.st_blksize : 0;
}

aq_status_t aq_memfile_create(const char *name, size_t size, int *fd_out)
{
    if (size == 0 || size > INT64_MAX) {
        aq_log_error("shared memory '%s': %zu is not a possible size; this is a mistake in the "
                     "runtime, please report it",
                     name, size);
        return AQ_ERR_ARG;
    }
    const int error = aq_memfile_try_create(name, size, fd_out);
    if (error == 0)
        return AQ_OK;
    aq_log_error("shared memory '%s' of %zu bytes cannot be created (%s); %s", name, size,
                 strerror(error), create_remedy(error));
    return AQ_ERR_RESOURCE;
}

aq_status_t aq_memfile_ticket(int fd, aq_memfile_ticket_t *out)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        aq_log_error("shared memory: file descriptor %d cannot be examined (%s); the program must "
                     "not close descriptors that it did not open",
                     fd, strerror(errno));
        return AQ_ERR_RESOURCE;
    }
    *out = (aq_memfile_ticket_t){.pid = getpid(), .fd = fd, .inode = st.st_ino};
    return AQ_OK;
}

static const char *open_remedy(int error)
{
    switch (error) {
    case EACCES:
    case EPERM:
        return "all processes of a job on a host must run as the same user, from a program that "
               "this user may read and that has no extra privileges, in a container that allows it";
    case ENOENT:
    case ESRCH:
    case ENOTDIR:
        return "either that process has ended, or it cannot be seen: /proc must be mounted without "
               "hidepid for other users, and all processes of a job on a host must share one "
               "process id namespace (for containers, the option --pid=host)";
    case EMFILE:
        return "raise the limit of open files of a process (ulimit -n)";
    case ENFILE:
        return "raise the limit of open files of this host (sysctl fs.file-max)";
    default:
        return "check that /proc is mounted and that this process may read it";
    }
}

// Duplicating the own descriptor needs no /proc. Otherwise O_NONBLOCK and O_NOCTTY keep the open
// harmless if the number refers to a pipe or a terminal by now.
static int open_ticket(const aq_memfile_ticket_t *ticket)
{
    if (ticket->pid == getpid())
        return fcntl(ticket->fd, F_DUPFD_CLOEXEC, 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)ticket->pid, (int)ticket->fd);
    return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int aq_memfile_try_open(const aq_memfile_ticket_t *ticket, int *fd_out)
{
    struct stat st;
    const int fd = open_ticket(ticket);
    if (fd < 0)
        return errno;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_ino != ticket->inode) {
        close(fd);
        return ESTALE;
    }
    *fd_out = fd;
    return 0;
}

aq_status_t aq_memfile_open(const aq_memfile_ticket_t *ticket, int *fd_out)
{
    const int error = aq_memfile_try_open(ticket, fd_out);
    if (error == 0)
        return AQ_OK;
    if (error == ESTALE) {
        aq_log_error("shared memory of process %d: /proc/%d/fd/%d is now another file; either that "
                     "process has ended, or the processes of this host do not share one process id "
                     "namespace (for containers, the option --pid=host)",
                     (int)ticket->pid, (int)ticket->pid, (int)ticket->fd);
        return AQ_ERR_PEER;
    }
    aq_log_error("shared memory of process %d: /proc/%d/fd/%d cannot be opened (%s); %s",
                 (int)ticket->pid, (int)ticket->pid, (int)ticket->fd, strerror(error),
                 open_remedy(error));
    return AQ_ERR_RESOURCE;
}

static aq_status_t map_fault(size_t size)
{
    int error = errno;
    const char *remedy = "ask for less memory, with GASNET_MAX_SEGSIZE";
    if (error == ENOMEM)
        remedy = "raise the limit of the address space (ulimit -v) or of the number of mappings "
                 "(sysctl vm.max_map_count), or ask for less memory";
    else if (error == EAGAIN)
        remedy = "raise the limit of locked memory (ulimit -l)";
    aq_log_error("shared memory of %zu bytes cannot be mapped (%s); %s", size, strerror(error),
                 remedy);
    return AQ_ERR_RESOURCE;
}

aq_status_t aq_memfile_map(int fd, size_t offset, size_t size, void **out)
{
    void *addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    if (addr == MAP_FAILED)
        return map_fault(size);
    *out = addr;
    return AQ_OK;
}

aq_status_t aq_memfile_map_at(int fd, size_t offset, size_t size, void *addr)
{
    const int flags = MAP_SHARED | MAP_FIXED;
    if (size && mmap(addr, size, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset) == MAP_FAILED)
        return map_fault(size);
    return AQ_OK;
}

void aq_memfile_unmap(void *addr, size_t size)
{
    if (addr)
        munmap(addr, size);
}
