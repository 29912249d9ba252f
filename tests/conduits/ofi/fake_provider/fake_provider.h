// SPDX-License-Identifier: BSD-3-Clause
// The fake provider of libfabric: what its files share. fake_provider.c says how to use it.
//
// What is always true:
// - One lock, fake_lock, guards every object of the provider in the process. Each function that
//   libfabric's interface calls takes it; the functions declared here expect it to be held, unless
//   their comment says otherwise.
// - An operation that was accepted is in its endpoint's list of operations until its completion is
//   written, or until it ended without one.
#ifndef AQ_TESTS_FAKE_PROVIDER_H
#define AQ_TESTS_FAKE_PROVIDER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "fake_provider_die.h"
#include "fake_provider_words.h"

enum {
    FAKE_CHUNK = 32 << 10, // payload bytes of one datagram, at most
    FAKE_IOV_MAX = 8,
    FAKE_ENDPOINTS_MAX = 8, // that share a completion queue
    FAKE_ADDRESS_BYTES = 64,
};

extern pthread_mutex_t fake_lock;

// ---- the wire ----

typedef enum fake_kind {
    FAKE_SEND,
    FAKE_WRITE,
    FAKE_READ,
    FAKE_ATOMIC,  // an atomic without a result
    FAKE_FETCH,   // an atomic with a result; operands follow
    FAKE_COMPARE, // the same; operands, then the values to compare, follow
    FAKE_REQUESTS,
    FAKE_ACK = FAKE_REQUESTS, // ends an operation of the receiver, with a status
    FAKE_DATA,                // result of a read or an atomic
    FAKE_PING,                // does nothing: the kernel says whether the peer is there
    FAKE_KINDS,
} fake_kind_t;

// The head of each datagram. The payload is the bytes [offset, offset + rest of the datagram) of
// an operation with total bytes.
typedef struct fake_head {
    uint32_t magic, source; // source: the endpoint that sends, see fake_endpoint_t.id
    uint32_t kind, status;  // status: of FAKE_ACK, an errno of libfabric or 0
    uint64_t number;        // of the operation at its initiator
    uint64_t total, offset;
    uint64_t data;    // remote completion data, with has_data
    uint64_t address; // in the memory of the target, as the initiator gave it
    uint64_t key;
    uint64_t length; // bytes to read; elements of an atomic
    uint8_t has_data, delivery, datatype, operation;
    uint32_t pad;
} fake_head_t;

// ---- objects ----

typedef struct fake_domain {
    struct fid_domain fid;
    struct fake_region *regions;
    uint64_t next_key;
    size_t users; // objects that are open
} fake_domain_t;

typedef struct fake_region {
    struct fid_mr fid;
    struct fake_region *next;
    fake_domain_t *domain;
    char *base;
    size_t bytes;
    uint64_t access;
    bool bound, enabled;
    unsigned uses; // as descriptors of operations
} fake_region_t;

typedef struct fake_av {
    struct fid_av fid;
    fake_domain_t *domain;
    enum fi_av_type type;
    uint32_t *ids; // 0: removed
    size_t count, capacity;
} fake_av_t;

typedef struct fake_completion {
    struct fake_completion *next;
    void *context;
    uint64_t flags;
    size_t length;
    void *buffer;
    uint64_t data;
    fi_addr_t source;
    int error;   // an errno of libfabric, or 0
    size_t lost; // bytes that did not fit
} fake_completion_t;

typedef struct fake_cq {
    struct fid_cq fid;
    fake_domain_t *domain;
    enum fi_cq_format format;
    bool can_wait;
    int wait_fd;  // an epoll descriptor: the sockets of the endpoints, and event_fd
    int event_fd; // readable while there are completions
    fake_completion_t *head, **tail;
    fake_completion_t *error_head, **error_tail;
    struct fake_endpoint *endpoints[FAKE_ENDPOINTS_MAX];
    size_t endpoint_count;
} fake_cq_t;

// An operation of the initiator.
typedef struct fake_operation {
    struct fake_operation *next;
    fake_kind_t kind;
    uint64_t number;
    uint32_t target;
    uint64_t flags; // of the completion
    bool wants_completion, delivery, has_result;
    void *context; // of the application
    struct iovec source[FAKE_IOV_MAX];
    size_t source_count, source_bytes;
    char *copy; // owned: the bytes of an injected operation or of an atomic's operands
    struct iovec result[FAKE_IOV_MAX];
    size_t result_count, result_bytes;
    fake_region_t *regions[2 * FAKE_IOV_MAX]; // whose descriptors it uses
    size_t region_count;
} fake_operation_t;

// Something to send, which ends after its last byte.
typedef struct fake_out {
    struct fake_out *next;
    fake_head_t head;
    fake_operation_t *operation; // whose bytes it sends, or NULL:
    char *owned;                 // sends these
    bool started;
} fake_out_t;

// Another endpoint, or this one.
typedef struct fake_peer {
    struct fake_peer *next;
    uint32_t id;
    bool gone;
    size_t operations; // accepted since the start
    fake_out_t *head, **tail;
} fake_peer_t;

// A request that arrives or has arrived.
typedef struct fake_arrival {
    struct fake_arrival *next;
    fake_head_t head;
    size_t got;
    char *bytes; // exactly head.total, owned
} fake_arrival_t;

typedef struct fake_receive {
    struct fake_receive *next;
    struct iovec iov[FAKE_IOV_MAX];
    size_t iov_count, bytes, used;
    bool multi, wants_completion;
    void *context;
} fake_receive_t;

typedef struct fake_endpoint {
    struct fid_ep fid;
    fake_domain_t *domain;
    fake_av_t *av;
    fake_cq_t *tx_cq, *rx_cq;
    bool tx_selective, rx_selective, enabled;
    uint64_t tx_flags, rx_flags; // FI_... flags of operations without flags of their own
    size_t least_multi;
    uint64_t caps;
    uint32_t id; // names its socket; never 0
    int socket;
    uint64_t next_number;
    size_t operation_count, receive_count, progress_count;
    fake_operation_t *operations;
    fake_peer_t *peers;
    fake_arrival_t *partial, *arrived, *unexpected;
    fake_receive_t *receives;
    pthread_t thread; // of FAKE_OFI=auto
    bool thread_runs, thread_ends;
} fake_endpoint_t;

// ---- fake_provider_info.c ----

int fake_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                 const struct fi_info *hints, struct fi_info **info);

// ---- fake_provider_wire.c ----

// Opens the endpoint's socket and gives the endpoint its id. Returns 0 or a negative errno.
int fake_socket_open(fake_endpoint_t *endpoint);

// The record of the endpoint with the id, made at the first call.
fake_peer_t *fake_peer_find(fake_endpoint_t *endpoint, uint32_t id);

// Queues something for the peer. Takes ownership of out, which malloc made.
void fake_out_queue(fake_endpoint_t *endpoint, fake_peer_t *peer, fake_out_t *out);

// Sends all that the kernel takes now.
void fake_out_flush(fake_endpoint_t *endpoint);

// Takes datagrams from the socket and executes what is complete.
void fake_progress(fake_endpoint_t *endpoint);
bool fake_out_pending(const fake_endpoint_t *endpoint);
void fake_wire_close(fake_endpoint_t *endpoint);

// ---- fake_provider_target.c ----

// Executes requests that have arrived, or holds some back if the words say so.
void fake_arrivals_run(fake_endpoint_t *endpoint);

// Acknowledges a write that needs no more than to have arrived, before it is executed.
void fake_arrival_accept(fake_endpoint_t *endpoint, const fake_arrival_t *arrival);

// Gives messages that came early to receives that were posted since.
void fake_unexpected_match(fake_endpoint_t *endpoint);
void fake_reply(fake_endpoint_t *endpoint, const fake_head_t *to, int status, char *owned,
                size_t bytes);

// ---- fake_provider_atomic.c ----

// Bytes of an element; 0 if the provider does not know the type.
size_t fake_datatype_bytes(unsigned datatype);
bool fake_operation_is_known(unsigned kind, unsigned operation);

// Executes count elements on target, which is aligned; result (may be NULL) gets the old values.
void fake_atomic_run(const fake_head_t *head, void *target, const char *operands,
                     const char *compare, char *result);
extern struct fi_ops_atomic fake_atomic_ops;

// ---- fake_provider_operation.c ----

typedef struct fake_request {
    fake_kind_t kind;
    const struct iovec *source;
    void **source_desc;
    size_t source_count;
    const struct iovec *result;
    void **result_desc;
    size_t result_count;
    fi_addr_t to;
    uint64_t address, key, length, data;
    uint64_t flags; // FI_COMPLETION, FI_INJECT, FI_DELIVERY_COMPLETE, FI_REMOTE_CQ_DATA
    uint8_t datatype, operation;
    bool silent; // an inject call: no completion
    void *context;
} fake_request_t;

// Accepts an operation; takes the lock itself. Returns 0, -FI_EAGAIN or another negative error.
ssize_t fake_operation_start(struct fid_ep *ep, const fake_request_t *request);

// Ends an operation with a completion, where it wants one or failed, and frees it.
void fake_operation_end(fake_endpoint_t *endpoint, fake_operation_t *operation, int error);

// Frees an operation that is in no list; its regions are not in use by it any more.
void fake_operation_free(fake_operation_t *operation);
fake_operation_t *fake_operation_find(fake_endpoint_t *endpoint, uint64_t number);

// Ends the operations that wait for a peer that is gone.
void fake_operations_fail(fake_endpoint_t *endpoint, uint32_t target, int error);

// Whether this call shall be refused with -FI_EAGAIN for no reason.
bool fake_again(void);

// The context modes: marks the application's context as in use, and checks that mark at the end.
void fake_context_take(void *context);
void fake_context_give_back(void *context);

extern struct fi_ops_rma fake_rma_ops;
extern struct fi_ops_msg fake_msg_ops; // fake_provider_message.c

// ---- fake_provider_endpoint.c ----

int fake_endpoint_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                       void *context);

// ---- fake_provider_queue.c ----

int fake_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
                 void *context);

// Copies the completion into the queue.
void fake_cq_add(fake_cq_t *queue, const fake_completion_t *completion);
int fake_trywait(struct fid_fabric *fabric, struct fid **fids, int count);

// ---- fake_provider_memory.c ----

extern struct fi_ops_mr fake_mr_ops;

// The memory that a peer names, or NULL with an errno of libfabric in *error.
void *fake_region_resolve(fake_domain_t *domain, uint64_t key, uint64_t address, uint64_t bytes,
                          uint64_t access, int *error);

// FAKE_OFI=mr-local: ends the process unless each descriptor covers its part of the buffer.
void fake_descriptors_check(fake_domain_t *domain, const struct iovec *iov, void *const *desc,
                            size_t count, const char *what);

// ---- fake_provider_address.c ----

int fake_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
                 void *context);

// The endpoint's id, 0 if the address is not in the vector.
uint32_t fake_av_find(const fake_av_t *av, fi_addr_t address);

// The address of the endpoint, FI_ADDR_NOTAVAIL if the vector does not have it.
fi_addr_t fake_av_reverse(const fake_av_t *av, uint32_t id);

// Writes an endpoint's name: FAKE_ADDRESS_BYTES at most, fake_preset()->address_bytes exactly.
void fake_name_write(uint32_t id, void *name);

#endif
