// How the rails of a link come about. Each side tells the other, in messages over the first queue
// pair, about its queue pairs and which of them it has connected:
//
//      the first long put or get:   make queue pairs, say which ------->
//                                              make queue pairs, connect them
//                                   <------- say which, and that they are connected
//      connect them; both sides know:  up
//      say that they are connected ------------------------------------>  up
//
// A side that learns nothing new says nothing, so this ends, also if both begin at the same time.
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/log.h"
#include "../../other/base/minmax.h"
#include "ibv_queue_pair.h"
#include "ibv_rail.h"

enum {
    RNR_RETRIES = 6,
    RNR_TIMER = 12,       // 0.64 ms
    RESOLVE_ATTEMPTS = 3, // of a second each
};

typedef struct hello {
    uint32_t ports; // of the sender
    uint32_t count; // queue pairs, in `ends`
    uint64_t ready; // bit i: number i is connected
} hello_t;

typedef struct letter {
    hello_t hello;
    aq_ibv_pair_info_t ends[AQ_IBV_RAILS_MAX - 1];
} letter_t;

static uint32_t letter_bytes(const letter_t *letter)
{
    return (uint32_t)(sizeof letter->hello + letter->hello.count * sizeof *letter->ends);
}

// ---- queue pairs ----

static aq_ibv_path_source_t source_of(const aq_ibv_rail_port_t *port)
{
    aq_ibv_path_source_t source = {.path = &port->path,
                                   .address.lid = port->lid,
                                   .port = port->number,
                                   .gid_index = port->gid_index,
                                   .ethernet = port->link == AQ_IBV_LINK_ROCE};
    memcpy(source.address.gid, port->gid, sizeof source.address.gid);
    return source;
}

static struct ibv_qp *queue_pair_make(const aq_ibv_rails_t *rails, unsigned port)
{
    const aq_ibv_rail_port_t *at = &rails->ports->list[port];
    struct ibv_cq *cq = rails->queues[port].cq;
    struct ibv_qp_init_attr made = {
        .send_cq = cq,
        .recv_cq = cq,
        .cap = {.max_send_wr = rails->limits->depth_each,
                .max_recv_wr = 1,
                .max_send_sge = 1,
                .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
    };
    const aq_ibv_path_source_t from = source_of(at);
    struct ibv_qp *qp = ibv_create_qp(at->pd, &made);
    if (!qp)
        return NULL;
    const int error = aq_ibv_pair_init(qp, &from, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    if (!error)
        return qp;
    ibv_destroy_qp(qp);
    errno = error;
    return NULL;
}

static bool rail_make(const aq_ibv_rails_t *rails, aq_ibv_peer_t *link, unsigned port,
                      aq_ibv_rail_t *rail)
{
    rail->qp = queue_pair_make(rails, port);
    rail->peer = link;
    rail->port = port;
    rail->psn = randombytes_random() & 0xffffff;
    atomic_init(&rail->slots, rails->limits->depth_each);
    if (!rail->qp)
        aq_log_warn("port %u of %s has no room for a further queue pair with rank %u (%s): lower "
                    "GASNET_NUM_QPS",
                    rails->ports->list[port].number, rails->ports->list[port].device, link->rank,
                    strerror(errno));
    return rail->qp;
}

// The rails of a link, not connected yet; none, if they cannot be made (logged). NULL: no memory.
static aq_ibv_rail_set_t *set_make(aq_ibv_rails_t *rails, aq_ibv_peer_t *link)
{
    aq_ibv_rail_set_t *set = calloc(1, sizeof *set);
    const unsigned wanted = rails->ports->queue_pairs - 1;
    while (set && set->count < wanted && aq_ibv_rails_open(rails) &&
           rail_make(rails, link, (set->count + 1) % rails->ports->count, &set->list[set->count]))
        set->count++;
    if (set)
        atomic_store_explicit(&link->rails, set, memory_order_release);
    return set;
}

// The peer has fewer.
static void set_shorten(aq_ibv_rail_set_t *set, unsigned count)
{
    const unsigned before = set->count;
    set->count = count;
    for (unsigned i = count; i < before; i++) {
        ibv_destroy_qp(set->list[i].qp);
        set->list[i].qp = NULL;
    }
}

static aq_ibv_pair_info_t end_of(const aq_ibv_rails_t *rails, const aq_ibv_rail_t *rail)
{
    const aq_ibv_rail_port_t *port = &rails->ports->list[rail->port];
    return (aq_ibv_pair_info_t){.port = source_of(port).address,
                                .number = rail->qp->qp_num,
                                .psn = rail->psn,
                                .mtu = (uint8_t)port->path.mtu,
                                .reads = aq_min(rails->limits->reads, port->reads),
                                .link = port->link};
}

// The system asks the network for the address of the peer's port, and gives up after a second, as
// it does when a network that loses packets has lost the question. Returns an errno, or 0.
static int queue_pair_connect(const aq_ibv_rails_t *rails, const aq_ibv_rail_t *rail,
                              const aq_ibv_pair_info_t *theirs)
{
    const aq_ibv_path_source_t from = source_of(&rails->ports->list[rail->port]);
    const aq_ibv_pair_info_t mine = end_of(rails, rail);
    int error = ETIMEDOUT;
    for (unsigned i = 0; i < RESOLVE_ATTEMPTS && error == ETIMEDOUT; i++)
        error = aq_ibv_pair_connect(rail->qp, &from, &mine, theirs,
                                    (aq_ibv_pair_rnr_t){RNR_TIMER, RNR_RETRIES});
    return error;
}

// ---- letters ----

// set: NULL if this side has no rails.
static void letter_write(const aq_ibv_rails_t *rails, const aq_ibv_rail_set_t *set,
                         letter_t *letter)
{
    letter->hello = (hello_t){.ports = rails->ports->count};
    if (!set)
        return;
    letter->hello.count = set->count;
    letter->hello.ready = set->connected;
    for (unsigned i = 0; i < set->count; i++)
        letter->ends[i] = end_of(rails, &set->list[i]);
}

static void letter_send(aq_ibv_rails_t *rails, aq_ibv_peer_t *link, const letter_t *letter)
{
    rails->say(rails->context, link, letter, letter_bytes(letter));
}

void aq_ibv_rails_want(aq_ibv_rails_t *rails, aq_ibv_peer_t *link)
{
    letter_t letter;
    aq_ibv_rail_set_t *set = NULL;
    aq_lock_take(&rails->lock);
    if (!atomic_load_explicit(&link->rails, memory_order_relaxed))
        set = set_make(rails, link);
    if (set)
        letter_write(rails, set, &letter);
    aq_lock_drop(&rails->lock);
    if (set && set->count)
        letter_send(rails, link, &letter);
}

// Connects the rails that are not connected yet. Returns whether there was one.
static bool set_connect(aq_ibv_rails_t *rails, aq_ibv_peer_t *link, aq_ibv_rail_set_t *set,
                        const letter_t *theirs)
{
    const uint64_t before = set->connected;
    for (unsigned i = 0; i < set->count; i++) {
        aq_ibv_rail_t *rail = &set->list[i];
        const aq_ibv_rail_port_t *port = &rails->ports->list[rail->port];
        if ((set->tried >> i) & 1)
            continue;
        set->tried |= UINT64_C(1) << i;
        rail->port_there = (i + 1) % theirs->hello.ports;
        const int error = queue_pair_connect(rails, rail, &theirs->ends[i]);
        if (!error)
            set->connected |= UINT64_C(1) << i;
        else if (!atomic_exchange(&rails->warned, true))
            aq_log_warn("port %u of %s has no network in common with a port of rank %u (%s): puts "
                        "and gets go without it; name ports of common networks in GASNET_IBV_PORTS",
                        port->number, port->device, link->rank, strerror(error));
    }
    return set->connected != before;
}

static void set_start(aq_ibv_rails_t *rails, aq_ibv_rail_set_t *set)
{
    for (unsigned i = 0; i < set->count; i++) {
        const uint64_t bit = UINT64_C(1) << i;
        if (!(set->connected & set->ready & bit) || set->started & bit)
            continue;
        set->started |= bit;
        aq_ibv_rail_start(rails, &set->list[i]);
    }
}

// Under the lock. Returns whether this side has something to say.
static bool letter_read(aq_ibv_rails_t *rails, aq_ibv_peer_t *link, const letter_t *theirs,
                        letter_t *answer)
{
    aq_ibv_rail_set_t *set = atomic_load_explicit(&link->rails, memory_order_relaxed);
    const bool exist = aq_ibv_rails_exist(rails->ports), is_new = !set;
    if (!set && exist)
        set = set_make(rails, link);
    if (set && set->count > theirs->hello.count)
        set_shorten(set, theirs->hello.count);
    bool say = set ? set_connect(rails, link, set, theirs) || is_new : theirs->hello.count > 0;
    if (set) {
        set->ready |= theirs->hello.ready;
        set_start(rails, set);
    }
    if (say)
        letter_write(rails, set, answer);
    return say;
}

static bool letter_valid(const letter_t *letter, size_t bytes)
{
    return bytes >= sizeof letter->hello && letter->hello.count < AQ_IBV_RAILS_MAX &&
           letter->hello.ports > 0 && letter->hello.ports <= AQ_IBV_RAIL_PORTS_MOST &&
           bytes == letter_bytes(letter);
}

bool aq_ibv_rails_arrived(aq_ibv_rails_t *rails, aq_ibv_peer_t *link, const void *message,
                          size_t bytes)
{
    letter_t theirs, answer;
    memset(&theirs.hello, 0, sizeof theirs.hello);
    memcpy(&theirs, message, aq_min(bytes, sizeof theirs));
    if (!letter_valid(&theirs, bytes))
        return false;
    aq_lock_take(&rails->lock);
    const bool say = letter_read(rails, link, &theirs, &answer);
    aq_lock_drop(&rails->lock);
    if (say)
        letter_send(rails, link, &answer);
    return true;
}
