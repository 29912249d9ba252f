// SPDX-License-Identifier: BSD-3-Clause
// A library for LD_PRELOAD that lets system calls fail, as they may at any time: calls that wait
// are interrupted by a signal that somebody handles, streams take and give fewer bytes than asked
// for, nonblocking calls find nothing, and memory, processes and descriptors run out.
//
//   AQ_INJECT_KINDS   of these: eintr short again lack, separated by commas
//   AQ_INJECT_RATE    how many of 1,000 calls fail
//   AQ_INJECT_SEED    of the random numbers
//   AQ_INJECT_FILE    in which all processes count what they injected: a number of 64 bits each of
//                     processes, of calls that could have failed, and of each kind
//
// Nothing is injected that the kernel never does: where a call does not wait, or where it promises
// all bytes or none (pipes up to PIPE_BUF, datagrams, files).
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef enum inject_kind { EINTR_KIND, SHORT_KIND, AGAIN_KIND, LACK_KIND, KINDS } inject_kind_t;

typedef struct inject_counts {
    _Atomic uint64_t processes, calls, injected[KINDS];
} inject_counts_t;

enum {
    SPARED = 100, // of so many calls for datagrams one may fail
    SENT_AT_ONCE = 1024
};

static const char *const kind_names[KINDS] = {"eintr", "short", "again", "lack"};
static inject_counts_t own_counts, *counts = &own_counts;
static unsigned kinds, rate;
static uint64_t seed;
static _Thread_local uint64_t state;

// The next function of that name behind this library.
static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

#define NEXT(name) ((__typeof__(&name))next(#name))

__attribute__((constructor)) static void inject_start(void)
{
    const char *list = getenv("AQ_INJECT_KINDS"), *file = getenv("AQ_INJECT_FILE");
    const char *text = getenv("AQ_INJECT_RATE");
    const int fd = file ? (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC, 0) : -1;
    void *shared =
        fd < 0 ? MAP_FAILED
               : NEXT(mmap)(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    if (shared == MAP_FAILED || !list || !text)
        return;
    counts = shared;
    for (unsigned i = 0; i < KINDS; i++)
        kinds |= (unsigned)(strstr(list, kind_names[i]) != NULL) << i;
    rate = (unsigned)atoi(text);
    text = getenv("AQ_INJECT_SEED");
    seed =
        (text ? strtoull(text, NULL, 10) : 1) * 1000003 + atomic_fetch_add(&counts->processes, 1);
}

// xorshift64*
static uint64_t draw(void)
{
    if (!state)
        state = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)syscall(SYS_gettid) << 32;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * UINT64_C(0x2545F4914F6CDD1D) >> 16;
}

static bool strikes(inject_kind_t kind)
{
    if (!(kinds & 1u << kind))
        return false;
    atomic_fetch_add(&counts->calls, 1);
    if (draw() % 1000 >= rate)
        return false;
    atomic_fetch_add(&counts->injected[kind], 1);
    return true;
}

// Whether the call fails with that errno.
static bool fails(inject_kind_t kind, int error)
{
    if (!strikes(kind))
        return false;
    errno = error;
    return true;
}

static bool is_nonblocking(int fd, int flags)
{
    return flags & MSG_DONTWAIT || NEXT(fcntl)(fd, F_GETFL) & O_NONBLOCK;
}

// SOCK_STREAM, SOCK_DGRAM ...; 0: no socket.
static int type_of(int fd)
{
    int type = 0;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){sizeof type}) == 0 ? type : 0;
}

static bool is_pipe(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

// Whether a call for bytes fails; else *bytes may become less. sends: to this descriptor. A buffer
// that is empty, as that of each connection at its start, takes SENT_AT_ONCE.
static bool transfer_fails(int fd, int flags, size_t *bytes, bool sends)
{
    const int before = errno, type = type_of(fd);
    errno = before;
    if (type == SOCK_DGRAM && draw() % SPARED) // polls, of which there are very many
        return false;
    const bool finds_nothing = type && (!sends || *bytes > SENT_AT_ONCE || type == SOCK_DGRAM);
    if (fails(EINTR_KIND, EINTR) ||
        (finds_nothing && is_nonblocking(fd, flags) && fails(AGAIN_KIND, EAGAIN)))
        return true;
    if (*bytes > 1 && (type == SOCK_STREAM || (*bytes > PIPE_BUF && is_pipe(fd))) &&
        strikes(SHORT_KIND))
        *bytes = 1 + draw() % (*bytes - 1);
    errno = before;
    return false;
}

// ---- bytes ----

ssize_t read(int fd, void *buf, size_t n)
{
    return transfer_fails(fd, 0, &n, false) ? -1 : NEXT(read)(fd, buf, n);
}

ssize_t write(int fd, const void *buf, size_t n)
{
    return transfer_fails(fd, 0, &n, true) ? -1 : NEXT(write)(fd, buf, n);
}

ssize_t recv(int fd, void *buf, size_t n, int flags)
{
    return transfer_fails(fd, flags, &n, false) ? -1 : NEXT(recv)(fd, buf, n, flags);
}

ssize_t send(int fd, const void *buf, size_t n, int flags)
{
    return transfer_fails(fd, flags, &n, true) ? -1 : NEXT(send)(fd, buf, n, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    return transfer_fails(fd, flags, &(size_t){0}, false) ? -1 : NEXT(recvmsg)(fd, message, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    return transfer_fails(fd, flags, &(size_t){0}, true) ? -1 : NEXT(sendmsg)(fd, message, flags);
}

int recvmmsg(int fd, struct mmsghdr *list, unsigned n, int flags, struct timespec *limit)
{
    return transfer_fails(fd, flags, &(size_t){0}, false)
               ? -1
               : NEXT(recvmmsg)(fd, list, n, flags, limit);
}

int sendmmsg(int fd, struct mmsghdr *list, unsigned n, int flags)
{
    return transfer_fails(fd, flags, &(size_t){0}, true) ? -1 : NEXT(sendmmsg)(fd, list, n, flags);
}

// ---- waits ----

int poll(struct pollfd *fds, nfds_t n, int ms)
{
    return ms != 0 && fails(EINTR_KIND, EINTR) ? -1 : NEXT(poll)(fds, n, ms);
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit, const sigset_t *mask)
{
    return fails(EINTR_KIND, EINTR) ? -1 : NEXT(ppoll)(fds, n, limit, mask);
}

int epoll_wait(int fd, struct epoll_event *events, int most, int ms)
{
    return ms != 0 && fails(EINTR_KIND, EINTR) ? -1 : NEXT(epoll_wait)(fd, events, most, ms);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
    return !(options & WNOHANG) && fails(EINTR_KIND, EINTR) ? -1
                                                            : NEXT(waitpid)(pid, status, options);
}

int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    return fails(EINTR_KIND, EINTR) ? -1 : NEXT(sigwaitinfo)(set, info);
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    if (!fails(EINTR_KIND, EINTR))
        return NEXT(nanosleep)(time, left);
    if (left)
        *left = *time;
    return -1;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
    if (!strikes(EINTR_KIND))
        return NEXT(clock_nanosleep)(clock, flags, time, left);
    if (left && !(flags & TIMER_ABSTIME))
        *left = *time;
    return EINTR;
}

int ftruncate(int fd, off_t length)
{
    return fails(EINTR_KIND, EINTR) ? -1 : NEXT(ftruncate)(fd, length);
}

// Sleeps on a word of memory.
long syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (unsigned i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT && fails(EINTR_KIND, EINTR))
        return -1;
    return NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

// ---- connections ----

// A connection that is being made goes on after a signal. A local one that a signal interrupts,
// while it waits for a place in the queue, is not begun.
int connect(int fd, const struct sockaddr *to, socklen_t length)
{
    if (to->sa_family == AF_UNIX && !is_nonblocking(fd, 0) && fails(EINTR_KIND, EINTR))
        return -1;
    const int code = NEXT(connect)(fd, to, length);
    if (code < 0 && errno == EINPROGRESS)
        (void)fails(EINTR_KIND, EINTR);
    return code;
}

int accept4(int fd, struct sockaddr *from, socklen_t *length, int flags)
{
    if (fails(EINTR_KIND, EINTR) || (is_nonblocking(fd, 0) && fails(AGAIN_KIND, EAGAIN)) ||
        fails(LACK_KIND, EMFILE))
        return -1;
    return NEXT(accept4)(fd, from, length, flags);
}

// ---- what runs out ----

int socket(int family, int type, int protocol)
{
    return fails(LACK_KIND, EMFILE) ? -1 : NEXT(socket)(family, type, protocol);
}

int pipe2(int fds[2], int flags)
{
    return fails(LACK_KIND, EMFILE) ? -1 : NEXT(pipe2)(fds, flags);
}

int eventfd(unsigned value, int flags)
{
    int (*real)(unsigned, int) = (int (*)(unsigned, int))next("eventfd");
    return fails(LACK_KIND, EMFILE) ? -1 : real(value, flags);
}

int memfd_create(const char *name, unsigned flags)
{
    return fails(LACK_KIND, EMFILE) ? -1 : NEXT(memfd_create)(name, flags);
}

int signalfd(int fd, const sigset_t *mask, int flags)
{
    int (*real)(int, const sigset_t *, int) = (int (*)(int, const sigset_t *, int))next("signalfd");
    return fails(LACK_KIND, EMFILE) ? -1 : real(fd, mask, flags);
}

int epoll_create1(int flags)
{
    return fails(LACK_KIND, EMFILE) ? -1 : NEXT(epoll_create1)(flags);
}

void *mmap(void *addr, size_t length, int protection, int flags, int fd, off_t at)
{
    return fails(LACK_KIND, ENOMEM) ? MAP_FAILED
                                    : NEXT(mmap)(addr, length, protection, flags, fd, at);
}

pid_t fork(void)
{
    return fails(LACK_KIND, EAGAIN) ? -1 : NEXT(fork)();
}

int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
    return fails(LACK_KIND, EAGAIN) ? -1 : NEXT(clone)(fn, stack, flags, arg);
}
