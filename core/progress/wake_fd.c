// SPDX-License-Identifier: BSD-3-Clause
// The eventfd that a client sleeps on. progress_thread_api.c opens it and counts its sleepers;
// progress.c and the progress threads ring it.
#include "wake_fd.h"

#include <pthread.h>
#include <sys/eventfd.h>

// The lock is one of the C library: threads of the library ring also where a client has one thread,
// and aq_lock_t does nothing.
static struct {
    pthread_mutex_t lock;
    int fd;
    unsigned sleepers; // threads
    bool rung;
} wake_fd = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

int aq_wake_fd_open(void)
{
    pthread_mutex_lock(&wake_fd.lock);
    if (wake_fd.fd < 0)
        wake_fd.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const int fd = wake_fd.fd;
    pthread_mutex_unlock(&wake_fd.lock);
    return fd;
}

void aq_wake_fd_enter(void)
{
    pthread_mutex_lock(&wake_fd.lock);
    wake_fd.sleepers++;
    pthread_mutex_unlock(&wake_fd.lock);
}

void aq_wake_fd_leave(void)
{
    pthread_mutex_lock(&wake_fd.lock);
    if (--wake_fd.sleepers == 0 && wake_fd.rung) {
        (void)eventfd_read(wake_fd.fd, &(eventfd_t){0});
        wake_fd.rung = false;
    }
    pthread_mutex_unlock(&wake_fd.lock);
}

void aq_wake_fd_ring(void)
{
    pthread_mutex_lock(&wake_fd.lock);
    if (wake_fd.sleepers && !wake_fd.rung)
        wake_fd.rung = eventfd_write(wake_fd.fd, 1) == 0;
    pthread_mutex_unlock(&wake_fd.lock);
}

bool aq_wake_fd_has_rung(void)
{
    pthread_mutex_lock(&wake_fd.lock);
    const bool rung = wake_fd.rung;
    pthread_mutex_unlock(&wake_fd.lock);
    return rung;
}
