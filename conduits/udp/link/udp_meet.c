// SPDX-License-Identifier: BSD-3-Clause
// The check of the network while a job starts.
#include "udp_meet.h"
#include "udp_warn.h"

#include "../../../other/base/clock.h"
#include "../../../other/base/minmax.h"
#include "udp_receive.h"
#include "udp_link.h"
#include "udp_send.h"

enum {
    PING_FIRST_NS = 5000000,
    PING_NS_MAX = 100000000, // longest interval between pings at the start
    SENTENCE = 512,
};

static udp_conduit_t *opening;

// Polls during collective operations of the bootstrap, since other ranks may still wait for an
// answer to their pings.
static unsigned answer_pings(void)
{
    return udp_poll(&opening->base, 0);
}

// The neighbours of this rank with which it shares no memory. The relation is symmetric.
static aq_status_t find_neighbours(udp_conduit_t *udp, udp_link_t *found[2], unsigned *count)
{
    const aq_conduit_env_t *env = udp->base.env;
    const uint32_t ranks = aq_boot_present(env->boot);
    const uint32_t around[] = {(env->rank + 1) % ranks, (env->rank + ranks - 1) % ranks};
    *count = 0;
    for (unsigned i = 0; i < 2; i++) {
        if (aq_index_in_nbrhd(env, around[i]) != UINT32_MAX || (*count && around[0] == around[1]))
            continue;
        found[*count] = udp_link_get(udp, around[i]);
        if (!found[(*count)++])
            return AQ_ERR_RESOURCE;
    }
    return AQ_OK;
}

static udp_link_t *first_unseen(udp_link_t *const *links, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!links[i]->watch.seen)
            return links[i];
    return NULL;
}

static void ping_unseen(udp_conduit_t *udp, udp_link_t *const *links, unsigned count, uint64_t now)
{
    for (unsigned i = 0; i < count; i++) {
        aq_lock_take(&links[i]->lock);
        if (!links[i]->watch.seen)
            udp_send_plain(udp, links[i], UDP_PING, UDP_REQUESTS, 0, now);
        aq_lock_drop(&links[i]->lock);
    }
}

// Returns the first neighbour from which nothing was received in time; NULL: there is none, or the
// job has ended. Time during which this process was stopped counts little.
static const udp_link_t *wait_for_neighbours(udp_conduit_t *udp, udp_link_t *const *links,
                                             unsigned count)
{
    udp_watch_t *watch = &udp->watch;
    uint64_t last = aq_clock_ns(), ping_at = last, pause = PING_FIRST_NS, waited = 0;
    for (;;) {
        (void)udp_poll(&udp->base, 0);
        const udp_link_t *unseen = first_unseen(links, count);
        if (!unseen || aq_boot_ended(udp->base.env->boot))
            return NULL;
        const uint64_t now = aq_clock_ns();
        waited += aq_min(now - last, 2 * (uint64_t)PING_NS_MAX);
        last = now;
        if (waited >= watch->connect_timeout)
            return unseen;
        if (watch->silence && waited >= watch->silence)
            udp_watch_warn_of_silence(udp, unseen);
        if (now >= ping_at) {
            ping_unseen(udp, links, count, now);
            ping_at = now + pause;
            pause = aq_min(2 * pause, PING_NS_MAX);
        }
        (void)udp_socket_wait(&udp->socket, udp_socket_wakings(&udp->socket), ping_at - now);
    }
}

static void describe_unseen(const udp_watch_t *watch, const udp_link_t *unseen, char *sentence)
{
    char text[UDP_ADDRESS_TEXT];
    snprintf(sentence, SENTENCE,
             "nothing was heard of rank %u at %s for %.3g s (GASNET_CONNECT_TIMEOUT), though it "
             "has started: check whether a firewall blocks UDP on the path (open a range of ports, "
             "and name it in GASNET_UDP_PORTS), or GASNET_WORKERIP has to name another network",
             unseen->rank, udp_address_text(&unseen->to, text),
             (double)watch->connect_timeout / 1e9);
}

aq_status_t udp_watch_check_network(udp_conduit_t *udp)
{
    udp_link_t *links[2];
    unsigned count;
    char sentence[SENTENCE] = "";
    const udp_link_t *unseen = NULL;
    if (!udp->watch.connect_timeout)
        return AQ_OK;
    opening = udp;
    aq_boot_meanwhile(answer_pings);
    aq_status_t status = find_neighbours(udp, links, &count);
    if (status == AQ_OK && (unseen = wait_for_neighbours(udp, links, count))) {
        describe_unseen(&udp->watch, unseen, sentence);
        status = AQ_ERR_RESOURCE;
    }
    status = aq_boot_agree(udp->base.env->boot, status, sentence);
    aq_boot_meanwhile(NULL);
    return status;
}

// Waits for the new ranks; polls of the bootstrap answer their pings meanwhile.
aq_status_t udp_watch_admit(const udp_conduit_t *udp)
{
    return udp->watch.connect_timeout ? aq_boot_agree(udp->base.env->boot, AQ_OK, "") : AQ_OK;
}
