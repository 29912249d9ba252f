// SPDX-License-Identifier: BSD-3-Clause
// How the rails of a link come about. Each side tells the other, in messages over the first queue
// pair, about its queue pairs and which of them it has connected:
//
//      the first long put or get:   make queue pairs, say which ------->
//                                              make queue pairs, connect them
//                                   <------- say which, and that they are connected
//      connect them; both sides know:  up
//      say that they are connected ------------------------------------>  up
//
// The connector's thread connects them (ibv_rail_set.h). A side sends a message when it makes its
// queue pairs and when the thread has finished, so the exchange ends, even if both begin at the
// same time. A side that gives up a rail reports that too, because the device of the other side may
// detect it much later.
#include <string.h>

#include "../../../other/base/minmax.h"
#include "ibv_rail_set.h"
#include "ibv_rail_queues.h"

typedef struct hello {
    uint16_t ports;    // of the sender
    uint16_t standbys; // 1: it is about standbys, which are made with the link; 0: about rails
    uint32_t count;    // queue pairs, in `ends`
    // Bit i says of number i:
    uint64_t ready; // it is connected
    uint64_t lost;  // the sender has given it up
} hello_t;

typedef struct message {
    hello_t hello;
    aq_ibv_pair_info_t ends[AQ_IBV_RAILS_MAX - 1];
} message_t;

static uint32_t message_bytes(const message_t *message)
{
    return (uint32_t)(sizeof message->hello + message->hello.count * sizeof *message->ends);
}

// set: NULL if this side has no rails.
static void message_write(const aq_ibv_rails_t *rails, const aq_ibv_rail_set_t *set,
                          message_t *message)
{
    message->hello = (hello_t){.ports = (uint16_t)rails->ports->count};
    if (!set)
        return;
    message->hello.standbys = set->standby;
    message->hello.count = set->count;
    message->hello.ready = set->connected;
    message->hello.lost = set->lost;
    for (unsigned i = 0; i < set->count; i++)
        message->ends[i] = aq_ibv_rail_end(rails, &set->list[i]);
}

static void message_send(aq_ibv_rails_t *rails, aq_ibv_peer_t *link, const message_t *message)
{
    rails->calls.say(rails->calls.context, link, message, message_bytes(message));
}

static aq_ibv_rail_set_t *set_of(aq_ibv_peer_t *link, bool standby)
{
    return atomic_load_explicit(standby ? &link->standbys : &link->rails, memory_order_relaxed);
}

static void set_want(aq_ibv_rails_t *rails, aq_ibv_peer_t *link, bool standby)
{
    message_t message;
    aq_ibv_rail_set_t *set = NULL;
    aq_lock_take(&rails->lock);
    if (!set_of(link, standby))
        set = aq_ibv_rail_set_make(rails, link, standby);
    if (set)
        message_write(rails, set, &message);
    aq_lock_drop(&rails->lock);
    if (set && set->count)
        message_send(rails, link, &message);
}

void aq_ibv_rails_want(aq_ibv_rails_t *rails, aq_ibv_peer_t *link)
{
    set_want(rails, link, false);
}

void aq_ibv_rails_want_standbys(aq_ibv_rails_t *rails, aq_ibv_peer_t *link)
{
    set_want(rails, link, true);
}

static void set_start(aq_ibv_rails_t *rails, aq_ibv_rail_set_t *set)
{
    for (unsigned i = 0; i < set->count && !set->standby; i++) {
        const uint64_t bit = UINT64_C(1) << i;
        if (!(set->connected & set->ready & bit) || set->started & bit)
            continue;
        set->started |= bit;
        aq_ibv_rail_start(rails, &set->list[i]);
    }
}

// Gives up the rails that the peer has given up, also those that are not in use yet.
static void set_stop(aq_ibv_rails_t *rails, aq_ibv_rail_set_t *set, uint64_t lost)
{
    for (unsigned i = 0; i < set->count; i++)
        if ((lost >> i) & 1)
            aq_ibv_rail_stop(rails, &set->list[i], "that rank has given it up");
    set->started |= lost;
}

// Under the lock. Returns whether this side has to answer at once.
static bool message_read(aq_ibv_rails_t *rails, aq_ibv_peer_t *link, const message_t *theirs,
                         message_t *answer)
{
    const bool standby = theirs->hello.standbys;
    aq_ibv_rail_set_t *set = set_of(link, standby);
    const aq_ibv_rail_ends_t ends = {theirs->hello.ports, theirs->hello.count, theirs->ends};
    const bool is_new = !set;
    if (!set && (standby ? rails->calls.stand_by != NULL : aq_ibv_rails_exist(rails->ports)))
        set = aq_ibv_rail_set_make(rails, link, standby);
    bool say = is_new && theirs->hello.count > 0 && !standby;
    if (set) {
        say = !aq_ibv_rail_set_connect(rails, set, &ends) && is_new;
        set->ready |= theirs->hello.ready;
        set_stop(rails, set, theirs->hello.lost);
        set_start(rails, set);
    }
    if (say)
        message_write(rails, set, answer);
    return say;
}

static bool message_valid(const message_t *message, size_t bytes)
{
    return bytes >= sizeof message->hello && message->hello.count < AQ_IBV_RAILS_MAX &&
           message->hello.ports > 0 && message->hello.ports <= AQ_IBV_RAIL_PORTS_MAX &&
           bytes == message_bytes(message);
}

bool aq_ibv_rails_arrived(aq_ibv_rails_t *rails, aq_ibv_peer_t *link, const void *message,
                          size_t bytes)
{
    message_t theirs, answer;
    memset(&theirs.hello, 0, sizeof theirs.hello);
    memcpy(&theirs, message, aq_min(bytes, sizeof theirs));
    if (!message_valid(&theirs, bytes))
        return false;
    aq_lock_take(&rails->lock);
    const bool say = message_read(rails, link, &theirs, &answer);
    aq_lock_drop(&rails->lock);
    if (say)
        message_send(rails, link, &answer);
    return true;
}

// Takes in one result of the connector's thread, and tells the peer.
static void task_learn(aq_ibv_rails_t *rails, aq_ibv_task_t *task)
{
    message_t message;
    aq_lock_take(&rails->lock);
    aq_ibv_rail_set_t *set = aq_ibv_rail_set_learn(rails, task);
    set_start(rails, set);
    message_write(rails, set, &message);
    aq_lock_drop(&rails->lock);
    message_send(rails, set->link, &message);
}

// Tells the peer of a rail that this side has given it up.
static void loss_tell(aq_ibv_rails_t *rails, aq_ibv_rail_t *rail)
{
    message_t message;
    aq_lock_take(&rails->lock);
    aq_ibv_rail_set_t *set = atomic_load_explicit(&rail->peer->rails, memory_order_relaxed);
    set->lost |= UINT64_C(1) << (rail - set->list);
    message_write(rails, set, &message);
    aq_lock_drop(&rails->lock);
    message_send(rails, rail->peer, &message);
}

void aq_ibv_rails_learn(aq_ibv_rails_t *rails)
{
    aq_ibv_task_t *next;
    for (aq_ibv_task_t *loss = aq_ibv_tasks_take(&rails->lost); loss; loss = next) {
        next = loss->next;
        loss_tell(rails, (aq_ibv_rail_t *)(void *)loss);
    }
    for (aq_ibv_task_t *task = aq_ibv_tasks_take(&rails->finished); task; task = next) {
        next = task->next;
        task_learn(rails, task);
    }
}
