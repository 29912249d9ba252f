// SPDX-License-Identifier: BSD-3-Clause
// The fake conduit: a network for tests, between processes of one host, as a module loaded at run
// time. Unless AQ_FAKE_EXPOSE is set, it has only the mandatory operations, so that the core uses
// its defaults for the other operations (put and get over active messages, negotiated payload in a
// buffer), and it injects faults on request.
//
// To use it: GASNET_CONDUIT=fake GASNET_MODULE_PATH=<build>/modules GASNET_SUPERNODE_MAXSIZE=1, and
//
//     AQ_FAKE_AGAIN=P       P percent of the sends answer AQ_AGAIN and do nothing (0 to 95)
//     AQ_FAKE_HOLD=P        P percent of the arrivals wait for 1 to 8 polls: out of order
//     AQ_FAKE_SEED=N        another sequence of these decisions (default 1)
//     AQ_FAKE_FAIL_AFTER=N  the N-th send of a process fails with AQ_ERR_PEER
//     AQ_FAKE_EXPOSE=N      N parts of memory may be exposed at a time (fake_expose.h)
//
// A message is one datagram between sockets of the abstract name space. Each process has one socket
// for requests and one for replies; it also sends from these sockets, because the kernel limits the
// bytes in flight of each socket. The names follow from the job's key and the rank, so that the
// conduit needs no description.
//
//     fake_message_t (with all 16 arguments) | payload
//
// An arrival lies in memory of exactly its size, which is overwritten and freed when the handler
// has returned: a sanitizer detects reads that are too long or too late.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../../core/conduit.h"
#include "../../../other/base/log/log.h"
#include "fake_expose.h"
#include "fake_faults.h"

enum {
    // Small and different limits, so that large operations are split.
    MAX_MEDIUM = 16 << 10,
    MAX_LONG = 32 << 10,
    POLL_BUDGET = 16, // messages of each class that one poll delivers at most
    HELD_MAX = 16,
};

typedef struct fake_message {
    uint64_t dest; // of a Long
    uint32_t source, nbytes;
    uint8_t category, handler, nargs, reply;
    int32_t args[AQ_AM_MAX_ARGS];
    uint32_t pad;
} fake_message_t;

_Static_assert(sizeof(fake_message_t) % 8 == 0, "a Medium's payload is aligned to 8 bytes");

typedef struct fake_address {
    struct sockaddr_un name;
    socklen_t length;
} fake_address_t;

// A peer: the addresses of its sockets for requests and replies.
typedef struct fake_link {
    uint32_t rank;
    fake_address_t to[2];
} fake_link_t;

// Arrivals of one class. held[i] is delivered when polls[i] is zero.
typedef struct fake_inbox {
    int fd;
    atomic_flag busy; // set while a thread takes a message out, clear while handlers run
    unsigned held_count;
    fake_message_t *held[HELD_MAX];
    unsigned polls[HELD_MAX];
} fake_inbox_t;

typedef struct fake_conduit {
    aq_conduit_t base;
    fake_inbox_t inbox[2]; // requests, replies
    fake_faults_t faults;
    uint64_t job;
    // Counts sends, and is read before each delivery. So everything that a thread does before it
    // sends a message happens before the delivery of the answer in another thread. The sockets
    // guarantee this order, but the thread sanitizer does not see an order by way of another
    // process.
    atomic_uint sent;
} fake_conduit_t;

static fake_conduit_t *fake_of(aq_conduit_t *conduit)
{
    return (fake_conduit_t *)(void *)conduit;
}

// ---- open and connect ----

static bool fake_usable(char *errbuf, size_t errbuf_size)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        snprintf(errbuf, errbuf_size, "the kernel refuses a local datagram socket: %s",
                 strerror(errno));
        return false;
    }
    close(fd);
    return true;
}

// Returns a number that is different for each job and does not disclose the key (FNV-1a).
static uint64_t hash_of_key(const uint8_t key[AQ_KEY_BYTES])
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (unsigned i = 0; i < AQ_KEY_BYTES; i++)
        hash = (hash ^ key[i]) * 0x100000001b3u;
    return hash;
}

static void find_address(const fake_conduit_t *fake, uint32_t rank, unsigned class,
                         fake_address_t *out)
{
    *out = (fake_address_t){.name = {.sun_family = AF_UNIX}};
    char *text = out->name.sun_path + 1; // a zero in front: the abstract name space
    int length = snprintf(text, sizeof out->name.sun_path - 1, "aq-fake-%016llx-%u-%u",
                          (unsigned long long)fake->job, rank, class);
    out->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static aq_status_t open_inbox(fake_conduit_t *fake, unsigned class)
{
    fake_inbox_t *inbox = &fake->inbox[class];
    fake_address_t mine;
    find_address(fake, fake->base.env->rank, class, &mine);
    inbox->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (inbox->fd < 0 || bind(inbox->fd, (struct sockaddr *)(void *)&mine.name, mine.length) != 0) {
        aq_log_error("the fake conduit cannot open its socket '@%s': %s", mine.name.sun_path + 1,
                     strerror(errno));
        return AQ_ERR_RESOURCE;
    }
    return AQ_OK;
}

static aq_status_t fake_open(const aq_conduit_env_t *env, aq_conduit_t **out);

static aq_status_t start_conduit(fake_conduit_t *fake)
{
    fake->job = hash_of_key(fake->base.env->boot->key);
    aq_status_t status = fake_faults_start(&fake->faults, fake->base.env->rank);
    for (unsigned class = 0; status == AQ_OK && class < 2; class ++)
        status = open_inbox(fake, class);
    return status;
}

static bool fake_match(aq_conduit_t *conduit, const aq_peer_t *peer)
{
    const aq_conduit_env_t *env = conduit->env;
    return env->boot->host_of_rank[peer->rank] == env->boot->host_of_rank[env->rank];
}

static void fake_describe(aq_conduit_t *conduit, char description[AQ_DESCRIPTION_BYTES])
{
    (void)conduit, (void)description; // the names of the sockets follow from the ranks
}

static aq_status_t fake_connect(aq_conduit_t *conduit, const aq_peer_t *peer, void **out)
{
    fake_link_t *link = malloc(sizeof *link);
    if (!link) {
        aq_log_error("out of memory for the connection to rank %u (%zu bytes)", peer->rank,
                     sizeof *link);
        return AQ_ERR_RESOURCE;
    }
    link->rank = peer->rank;
    for (unsigned class = 0; class < 2; class ++)
        find_address(fake_of(conduit), peer->rank, class, &link->to[class]);
    *out = link;
    return AQ_OK;
}

static void fake_close(aq_conduit_t *conduit)
{
    (void)conduit; // other threads may still use the sockets, which end with the process
}

// ---- sending ----

static size_t message_bytes(const fake_message_t *message)
{
    return sizeof *message + message->nbytes;
}

// Returns the message as it is sent, in memory of exactly its size; NULL if memory is short. The
// caller owns the message.
static fake_message_t *write_message(const fake_conduit_t *fake, const aq_am_t *am)
{
    uint32_t nbytes = am->category == AQ_AM_SHORT ? 0 : (uint32_t)am->nbytes;
    fake_message_t *message = malloc(sizeof *message + nbytes);
    if (!message)
        return NULL;
    *message = (fake_message_t){
        .dest = (uintptr_t)am->dest,
        .source = fake->base.env->rank,
        .nbytes = nbytes,
        .category = am->category,
        .handler = am->handler,
        .nargs = am->nargs,
        .reply = am->reply,
    };
    if (am->nargs)
        memcpy(message->args, am->args, am->nargs * sizeof *am->args);
    if (nbytes)
        memcpy(message + 1, am->payload, nbytes);
    return message;
}

// If the peer's socket does not exist any more, its process has ended. The launcher then ends the
// job with the exit code of that process, and the core notices it in one of its next polls.
static aq_status_t send_failed(const fake_link_t *link, int error)
{
    if (error == EAGAIN || error == ENOBUFS || error == ENOMEM || error == EINTR ||
        error == ECONNREFUSED)
        return AQ_AGAIN;
    aq_log_error("the fake conduit cannot send to rank %u: %s", link->rank, strerror(error));
    return AQ_ERR_RESOURCE;
}

static aq_status_t fake_send(aq_conduit_t *conduit, void *pointer, const aq_am_t *am)
{
    fake_conduit_t *fake = fake_of(conduit);
    fake_link_t *link = pointer;
    fake_address_t *to = &link->to[am->reply];
    aq_status_t status = fake_faults_send(&fake->faults);
    if (status != AQ_OK)
        return status;
    fake_message_t *message = write_message(fake, am);
    if (!message)
        return AQ_AGAIN;
    atomic_fetch_add_explicit(&fake->sent, 1, memory_order_release);
    if (sendto(fake->inbox[am->reply].fd, message, message_bytes(message), MSG_DONTWAIT,
               (struct sockaddr *)(void *)&to->name, to->length) < 0)
        status = send_failed(link, errno);
    free(message);
    return status;
}

// ---- receiving ----

// Returns the next datagram, in memory of exactly its size; NULL if there is none. The caller has
// set inbox->busy.
static fake_message_t *receive_datagram(fake_inbox_t *inbox)
{
    char probe;
    ssize_t size = recv(inbox->fd, &probe, 1, MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC);
    if (size < (ssize_t)sizeof(fake_message_t))
        return NULL;
    fake_message_t *message = malloc((size_t)size);
    if (message)
        recv(inbox->fd, message, (size_t)size, MSG_DONTWAIT);
    return message;
}

// Counts one more poll for the messages that are held back. The caller has set inbox->busy.
static void age_held(fake_inbox_t *inbox)
{
    for (unsigned i = 0; i < inbox->held_count; i++)
        inbox->polls[i] -= inbox->polls[i] > 0;
}

static fake_message_t *take_held(fake_inbox_t *inbox)
{
    for (unsigned i = 0; i < inbox->held_count; i++) {
        if (inbox->polls[i])
            continue;
        fake_message_t *message = inbox->held[i];
        unsigned last = --inbox->held_count;
        inbox->held[i] = inbox->held[last];
        inbox->polls[i] = inbox->polls[last];
        return message;
    }
    return NULL;
}

static bool hold_back(fake_conduit_t *fake, fake_inbox_t *inbox, fake_message_t *message)
{
    unsigned polls = inbox->held_count < HELD_MAX ? fake_faults_hold(&fake->faults) : 0;
    if (!polls)
        return false;
    inbox->held[inbox->held_count] = message;
    inbox->polls[inbox->held_count++] = polls;
    return true;
}

static fake_message_t *next_message(fake_conduit_t *fake, fake_inbox_t *inbox, bool first)
{
    if (atomic_flag_test_and_set_explicit(&inbox->busy, memory_order_acquire))
        return NULL;
    if (first)
        age_held(inbox);
    fake_message_t *message = take_held(inbox);
    while (!message && (message = receive_datagram(inbox)) != NULL)
        if (hold_back(fake, inbox, message))
            message = NULL;
    atomic_flag_clear_explicit(&inbox->busy, memory_order_release);
    return message;
}

// Writes the payload of a Long. Ends the job if the destination is not in a segment of this
// process.
static void write_long(const fake_conduit_t *fake, const fake_message_t *message)
{
    const aq_conduit_env_t *env = fake->base.env;
    void *dest = (void *)(uintptr_t)message->dest;
    if (!env->segment_holds(dest, message->nbytes)) {
        aq_log_error("fatal: a Long of rank %u (%u bytes to %p) is not inside a segment of this "
                     "process",
                     message->source, message->nbytes, dest);
        env->boot->ops->abort(env->boot, 1);
    }
    if (message->nbytes)
        memcpy(dest, message + 1, message->nbytes);
}

static void deliver_message(fake_conduit_t *fake, fake_message_t *message)
{
    aq_arrival_t arrival = {
        .args = message->args,
        .payload = message + 1,
        .nbytes = message->nbytes,
        .source = message->source,
        .category = message->category,
        .handler = message->handler,
        .nargs = message->nargs,
        .reply = message->reply,
    };
    (void)atomic_load_explicit(&fake->sent, memory_order_acquire);
    if (arrival.category == AQ_AM_LONG) {
        arrival.payload = (void *)(uintptr_t)message->dest;
        write_long(fake, message);
    }
    fake->base.env->deliver(&arrival);
    memset(message, 0xa5, message_bytes(message));
    __asm__ volatile("" : : "r"(message) : "memory"); // keeps the memset
    free(message);
}

static unsigned poll_class(fake_conduit_t *fake, unsigned class)
{
    unsigned done = 0;
    fake_message_t *message;
    while (done < POLL_BUDGET &&
           (message = next_message(fake, &fake->inbox[class], done == 0)) != NULL) {
        deliver_message(fake, message);
        done++;
    }
    return done;
}

static unsigned fake_poll(aq_conduit_t *conduit, unsigned what)
{
    fake_conduit_t *fake = fake_of(conduit);
    unsigned done = what & AQ_POLL_REPLIES ? poll_class(fake, 1) : 0;
    fake_expose_poll(conduit);
    if (what & AQ_POLL_REQUESTS)
        done += poll_class(fake, 0);
    return done;
}

// ---- the table ----

__attribute__((visibility("default"))) extern const aq_conduit_ops_t aq_conduit_module;

static void fake_print_info(void (*tell)(void *arg, const char *label, const char *text), void *arg)
{
    tell(arg, "fake0 port 1", "used");
    tell(arg, "", "address 0");
}

const aq_conduit_ops_t aq_conduit_module = {
    .name = "fake",
    .abi = AQ_CONDUIT_ABI,
    .description_bytes = 0,
    .usable = fake_usable,
    .open = fake_open,
    .describe = fake_describe,
    .match = fake_match,
    .connect = fake_connect,
    .close = fake_close,
    .am = {.send = fake_send, .poll = fake_poll},
    .report = {.print_info = fake_print_info},
};

static const aq_conduit_ops_t *fake_table(void)
{
    static aq_conduit_ops_t exposing;
    if (!fake_expose_start())
        return &aq_conduit_module;
    exposing = aq_conduit_module;
    exposing.memory.expose = fake_expose;
    exposing.memory.conceal = fake_conceal;
    exposing.rma.get_exposed = fake_get_exposed;
    return &exposing;
}

static aq_status_t fake_open(const aq_conduit_env_t *env, aq_conduit_t **out)
{
    fake_conduit_t *fake = calloc(1, sizeof *fake);
    if (!fake) {
        aq_log_error("out of memory for the fake conduit (%zu bytes)", sizeof *fake);
        return AQ_ERR_RESOURCE;
    }
    fake->base = (aq_conduit_t){.ops = fake_table(),
                                .env = env,
                                .max_medium = MAX_MEDIUM,
                                .max_long = MAX_LONG,
                                .max_long_unmapped = MAX_LONG};
    fake->inbox[0].fd = fake->inbox[1].fd = -1;
    aq_status_t status = start_conduit(fake);
    if (status == AQ_OK) {
        *out = &fake->base;
        return AQ_OK;
    }
    for (unsigned class = 0; class < 2; class ++)
        if (fake->inbox[class].fd >= 0)
            close(fake->inbox[class].fd);
    free(fake);
    return status;
}
