// SPDX-License-Identifier: BSD-3-Clause
// One of two processes that use a provider of libfabric: what fake_provider_check.c builds upon.
//
// Every function ends the process with a sentence and status 1 when it fails, unless its comment
// says otherwise. No function is thread-safe.
#ifndef AQ_TESTS_FAKE_PROVIDER_PAIR_H
#define AQ_TESTS_FAKE_PROVIDER_PAIR_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PAIR_REGION_BYTES = 2 << 20,
    PAIR_RECEIVE_BYTES = 8192,
    PAIR_RECEIVES = 16,
};

// An operation or a receive. The first field is what the provider writes into.
typedef struct pair_context {
    struct fi_context2 provider;
    bool done;
    int error; // an errno of libfabric, or 0
    unsigned receive;
} pair_context_t;

typedef struct pair {
    int rank, link; // link: a socket to the other process
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *queue;
    struct fid_ep *endpoint;
    int wait_fd; // -1: the queue has none
    fi_addr_t to[2];
    struct fid_mr *region_mr, *receive_mr;
    char *region;        // PAIR_REGION_BYTES
    char *receives;      // PAIR_RECEIVES of PAIR_RECEIVE_BYTES, or one FI_MULTI_RECV buffer
    uint64_t address[2]; // of the region of each rank, as an RMA names it
    uint64_t key[2];
    bool multi, delivery;
    pair_context_t contexts[PAIR_RECEIVES];
    void (*message)(struct pair *, const char *bytes, size_t length); // called by pair_progress
    unsigned messages;                                                // delivered
} pair_t;

_Noreturn void pair_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Ends the process unless the result is 0.
void pair_must(int64_t result, const char *what);

// Opens all objects for the rank. link stays the caller's. Returns false if no provider fits.
bool pair_open(pair_t *pair, int rank, int link, uint64_t caps, bool delivery);
void pair_close(pair_t *pair);

// Posts all receives. lies: the result of the first post where that is not a success.
int pair_post(pair_t *pair);

// Takes completions. Returns false if there are none; never blocks.
bool pair_progress(pair_t *pair);

// Waits for completions; may sleep on the queue's descriptor.
void pair_poll(pair_t *pair);
void pair_wait(pair_t *pair, const pair_context_t *context);

// Returns when the other process is there too. Makes progress meanwhile.
void pair_barrier(pair_t *pair);
void *pair_desc(const pair_t *pair);

#endif
