// SPDX-License-Identifier: BSD-3-Clause
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fake_expose.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"

enum {
    MOST = 256,
    READS = 8,            // that are under way at a time
    READ_BYTES = 50000,   // of a read at most
    EXPOSE_BYTES = 70000, // of an exposure at most
};

// What is exposed; bytes 0: nothing.
typedef struct entry {
    uint64_t start, bytes;
} entry_t;

typedef struct fake_read {
    aq_rma_t rma;
    uint64_t key;
} fake_read_t;

static int list = -1;
static unsigned most;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry_t entries[MOST];
static fake_read_t reads[READS];
static unsigned reads_first, reads_count;

bool fake_expose_start(void)
{
    const char *setting = getenv("AQ_FAKE_EXPOSE");
    most = setting ? (unsigned)atoi(setting) : 0;
    if (!most)
        return false;
    most = aq_min(most, MOST);
    list = memfd_create("aq-fake", MFD_CLOEXEC);
    if (list < 0)
        aq_log_error("the fake conduit cannot make its list: %s", strerror(errno));
    return list >= 0;
}

static void entry_set(unsigned place, entry_t entry)
{
    entries[place] = entry;
    if (pwrite(list, &entry, sizeof entry, (off_t)(place * sizeof entry)) != sizeof entry)
        abort();
}

aq_status_t fake_expose(aq_conduit_t *conduit, const void *memory, size_t nbytes,
                        aq_exposure_t *out)
{
    (void)conduit;
    unsigned place = 0;
    nbytes = aq_min(nbytes, (size_t)EXPOSE_BYTES);
    pthread_mutex_lock(&lock);
    while (place < most && entries[place].bytes)
        place++;
    if (place < most)
        entry_set(place, (entry_t){(uintptr_t)memory, nbytes});
    pthread_mutex_unlock(&lock);
    *out = (aq_exposure_t){nbytes, (uint64_t)getpid() << 32 | (unsigned)list << 8 | place,
                           &entries[place % MOST]};
    return place < most ? AQ_OK : AQ_AGAIN;
}

void fake_conceal(aq_conduit_t *conduit, const aq_exposure_t *exposure)
{
    (void)conduit;
    pthread_mutex_lock(&lock);
    entry_set((unsigned)((entry_t *)exposure->handle - entries), (entry_t){0});
    pthread_mutex_unlock(&lock);
}

aq_status_t fake_get_exposed(aq_conduit_t *conduit, void *link, aq_rma_t *rma, uint64_t key)
{
    (void)conduit, (void)link;
    pthread_mutex_lock(&lock);
    const bool room = reads_count < READS;
    if (room) {
        fake_read_t *read = &reads[(reads_first + reads_count++) % READS];
        *read = (fake_read_t){*rma, key};
        read->rma.nbytes = aq_min(rma->nbytes, (size_t)READ_BYTES);
        atomic_fetch_add_explicit(rma->pending, 1, memory_order_relaxed);
        aq_rma_advance(rma, read->rma.nbytes);
    }
    pthread_mutex_unlock(&lock);
    return room ? AQ_OK : AQ_AGAIN;
}

// Whether the bytes of a read are exposed with its key.
static bool read_allowed(const fake_read_t *read)
{
    char name[64];
    entry_t entry = {0};
    const uint64_t start = (uintptr_t)read->rma.remote;
    snprintf(name, sizeof name, "/proc/%u/fd/%u", (unsigned)(read->key >> 32),
             (unsigned)(read->key >> 8 & 0xffffff));
    const int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    const ssize_t got =
        pread(file, &entry, sizeof entry, (off_t)((read->key & 0xff) * sizeof entry));
    close(file);
    return got == sizeof entry && start >= entry.start &&
           start + read->rma.nbytes <= entry.start + entry.bytes;
}

static bool read_make(const fake_read_t *read)
{
    const struct iovec from = {read->rma.remote, read->rma.nbytes},
                       to = {read->rma.local, read->rma.nbytes};
    return process_vm_readv((pid_t)(read->key >> 32), &to, 1, &from, 1, 0) ==
           (ssize_t)read->rma.nbytes;
}

void fake_expose_poll(aq_conduit_t *conduit)
{
    fake_read_t read;
    pthread_mutex_lock(&lock);
    const bool any = reads_count;
    if (any) {
        read = reads[reads_first];
        reads_first = (reads_first + 1) % READS;
        reads_count--;
    }
    pthread_mutex_unlock(&lock);
    if (!any)
        return;
    if (!read_allowed(&read) || !read_make(&read)) {
        aq_log_error("fatal: the fake conduit may not read %zu bytes at %p", read.rma.nbytes,
                     read.rma.remote);
        conduit->env->boot->ops->abort(conduit->env->boot, 1);
    }
    atomic_fetch_sub_explicit(read.rma.pending, 1, memory_order_release);
}
