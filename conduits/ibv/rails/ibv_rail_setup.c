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

typedef struct letter {
    hello_t hello;
    aq_ibv_pair_info_t ends[AQ_IBV_RAILS_MAX - 1];
} letter_t;

static uint32_t letter_bytes(const letter_t *letter)
{
    return (uint32_t)(sizeof letter->hello + letter->hello.count * sizeof *letter->ends);
}

// set: NULL if this side has no rails.
static void letter_write(const aq_ibv_rails_t *rails, const aq_ibv_rail_set_t *set,
                         letter_t *letter)
{
    letter->hello = (hello_t){.ports = (uint16_t)rails->ports->count};
    if (!set)
        return;
    letter->hello.standbys = set->standby;
    letter->hello.count = set->count;
    letter->hello.ready = set->connected;
    letter->hello.lost = set->lost;
    for (unsigned i = 0; i < set->count; i++)
        letter->ends[i] = aq_ibv_rail_end(rails, &set->list[i]);
}

static void letter_send(aq_ibv_rails_t *rails, aq_ibv_peer_t *link, const letter_t *letter)
{
    rails->say(rails->context, link, letter, letter_bytes(letter));
}

static aq_ibv_rail_set_t *set_of(aq_ibv_peer_t *link, bool standby)
{
    return atomic_load_explicit(standby ? &link->standbys : &link->rails, memory_order_relaxed);
}

static void set_want(aq_ibv_rails_t *rails, aq_ibv_peer_t *link, bool standby)
{
    letter_t letter;
    aq_ibv_rail_set_t *set = NULL;
    aq_lock_take(&rails->lock);
    if (!set_of(link, standby))
        set = aq_ibv_rail_set_make(rails, link, standby);
    if (set)
        letter_write(rails, set, &letter);
    aq_lock_drop(&rails->lock);
    if (set && set->count)
        letter_send(rails, link, &letter);
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
static bool letter_read(aq_ibv_rails_t *rails, aq_ibv_peer_t *link, const letter_t *theirs,
                        letter_t *answer)
{
    const bool standby = theirs->hello.standbys;
    aq_ibv_rail_set_t *set = set_of(link, standby);
    const aq_ibv_rail_ends_t ends = {theirs->hello.ports, theirs->hello.count, theirs->ends};
    const bool is_new = !set;
    if (!set && (standby ? rails->stand_by != NULL : aq_ibv_rails_exist(rails->ports)))
        set = aq_ibv_rail_set_make(rails, link, standby);
    bool say = is_new && theirs->hello.count > 0 && !standby;
    if (set) {
        say = !aq_ibv_rail_set_connect(rails, set, &ends) && is_new;
        set->ready |= theirs->hello.ready;
        set_stop(rails, set, theirs->hello.lost);
        set_start(rails, set);
    }
    if (say)
        letter_write(rails, set, answer);
    return say;
}

static bool letter_valid(const letter_t *letter, size_t bytes)
{
    return bytes >= sizeof letter->hello && letter->hello.count < AQ_IBV_RAILS_MAX &&
           letter->hello.ports > 0 && letter->hello.ports <= AQ_IBV_RAIL_PORTS_MAX &&
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

// Takes in one result of the connector's thread, and tells the peer.
static void task_learn(aq_ibv_rails_t *rails, aq_ibv_task_t *task)
{
    letter_t letter;
    aq_lock_take(&rails->lock);
    aq_ibv_rail_set_t *set = aq_ibv_rail_set_learn(rails, task);
    set_start(rails, set);
    letter_write(rails, set, &letter);
    aq_lock_drop(&rails->lock);
    letter_send(rails, set->link, &letter);
}

// Tells the peer of a rail that this side has given it up.
static void loss_tell(aq_ibv_rails_t *rails, aq_ibv_rail_t *rail)
{
    letter_t letter;
    aq_lock_take(&rails->lock);
    aq_ibv_rail_set_t *set = atomic_load_explicit(&rail->peer->rails, memory_order_relaxed);
    set->lost |= UINT64_C(1) << (rail - set->list);
    letter_write(rails, set, &letter);
    aq_lock_drop(&rails->lock);
    letter_send(rails, rail->peer, &letter);
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
