// SPDX-License-Identifier: BSD-3-Clause
// The connections of a daemon: callers, other daemons, programs on this host.
#include <unistd.h>

#include "../../other/base/clock.h"
#include "universe_calls.h"
#include "universe_fork.h"
#include "universe_peers.h"
#include "universe_coordinator.h"

#define PROGRAMS 256u                  // connected at a time; more wait in the kernel's queue
#define WAITING_MAX ((size_t)64 << 20) // bytes for a peer that does not read; then it is given up

// ---- callers ----

void aq_daemon_accept_calls(aq_daemon_t *daemon)
{
    char address[AQ_ADDRESS_TEXT];
    bool is_last = false;
    for (uint32_t i = 0; i < AQ_CALLERS && !is_last; i++) {
        aq_caller_t *caller = aq_callers_place(daemon->callers);
        int fd = caller != NULL ? aq_net_accept(&daemon->tcp, address) : -1;
        if (fd < 0)
            return;
        is_last = caller->link.fd >= 0;
        aq_link_close(&caller->link);
        aq_caller_open(caller, fd, address);
        aq_write_version(&caller->link.out, PACKAGE_VERSION);
        (void)aq_link_flush(&caller->link);
    }
}

// A caller that asks for another daemon has reached this one by an address that two hosts have.
static bool answer_hello(aq_daemon_t *daemon, aq_caller_t *caller, const aq_frame_t *frame)
{
    aq_hello_t hello;
    return frame->type == AQ_MSG_HELLO && aq_read_hello(frame->payload, &hello) &&
           hello.node == daemon->self && aq_caller_challenge(caller, daemon->key, &hello);
}

static bool is_leaving(const aq_daemon_t *daemon)
{
    const aq_row_t *row = aq_table_find(&daemon->table, daemon->self);
    return daemon->halt_ends != 0 || (row != NULL && row->state == AQ_ROW_LEAVING);
}

// The first sealed frame says what the caller wants.
static bool take_sealed(aq_daemon_t *daemon, aq_caller_t *caller, const aq_frame_t *frame)
{
    if (frame->type == AQ_MSG_HELPER && !is_leaving(daemon))
        aq_daemon_fork_helper(daemon, &caller->link);
    else if (frame->type == AQ_MSG_JOIN)
        aq_daemon_take_join(daemon, &caller->link, frame);
    return false; // the connection has gone on, or is closed
}

static bool take_frame(aq_daemon_t *daemon, aq_caller_t *caller, const aq_frame_t *frame)
{
    if (caller->link.seal != NULL)
        return take_sealed(daemon, caller, frame);
    if (!caller->challenged)
        return answer_hello(daemon, caller, frame);
    return aq_caller_proves(caller, daemon->key, frame) &&
           aq_link_seal(&caller->link, &caller->auth, daemon->key, false) == 0;
}

void aq_daemon_serve_caller(aq_daemon_t *daemon, aq_caller_t *caller)
{
    aq_frame_t frame;
    aq_framing_t framing = AQ_FRAME_PART;
    int error = aq_link_receive(&caller->link);
    bool ok = true;
    while (ok && (framing = aq_link_next(&caller->link,
                                         caller->link.seal != NULL ? AQ_FRAME_MAX : AQ_FIRST_MAX,
                                         &frame)) == AQ_FRAME_WHOLE)
        ok = take_frame(daemon, caller, &frame);
    if (!ok || error != 0 || framing == AQ_FRAME_BAD)
        aq_link_close(&caller->link);
}

// ---- programs on this host ----

static uint32_t count_programs(const aq_daemon_t *daemon)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < daemon->peer_count; i++)
        count += daemon->peers[i].number == AQ_NO_NUMBER;
    return count;
}

bool aq_daemon_has_room(const aq_daemon_t *daemon)
{
    return count_programs(daemon) < PROGRAMS;
}

// The program learns the key, and the table once the coordinator has told it.
static void greet_program(aq_daemon_t *daemon, int fd)
{
    aq_link_t link;
    aq_link_open(&link, fd);
    link.trusted = true;
    aq_write_version(&link.out, PACKAGE_VERSION);
    aq_write_key(&link.out, daemon->key);
    aq_peer_t *peer = aq_daemon_add_peer(daemon, &link, AQ_NO_NUMBER);
    if (peer != NULL)
        (void)aq_daemon_take_request(daemon, peer, &(aq_frame_t){.type = AQ_MSG_SEE});
}

void aq_daemon_accept_programs(aq_daemon_t *daemon)
{
    int fd = -1;
    while (aq_daemon_has_room(daemon) && (fd = aq_universe_accept(daemon->local)) >= 0)
        greet_program(daemon, fd);
}

// ---- peers ----

void aq_daemon_serve_peer(aq_daemon_t *daemon, aq_peer_t *peer)
{
    aq_frame_t frame;
    aq_framing_t framing = AQ_FRAME_PART;
    int error = aq_link_receive(&peer->link);
    while (peer->link.fd >= 0 &&
           (framing = aq_link_next(&peer->link, AQ_FRAME_MAX, &frame)) == AQ_FRAME_WHOLE)
        if (!aq_daemon_take_request(daemon, peer, &frame)) {
            framing = AQ_FRAME_BAD;
            break;
        }
    if (framing == AQ_FRAME_BAD || error != 0)
        aq_link_close(&peer->link);
}

// A link that cannot be flushed breaks at the next receive.
static void flush_peers(aq_daemon_t *daemon)
{
    for (uint32_t i = 0; i < daemon->peer_count; i++) {
        aq_link_t *link = &daemon->peers[i].link;
        if (link->fd >= 0)
            (void)aq_link_flush(link);
        if (aq_link_waiting(link) > WAITING_MAX)
            aq_link_close(link);
    }
}

static void forget_peers(aq_daemon_t *daemon)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < daemon->peer_count; i++) {
        const aq_peer_t peer = daemon->peers[i];
        if (peer.link.fd >= 0)
            daemon->peers[kept++] = peer;
        else if (peer.number != AQ_NO_NUMBER)
            aq_daemon_lose_member(daemon, peer.number);
    }
    daemon->peer_count = kept;
}

void aq_daemon_check_calls(aq_daemon_t *daemon)
{
    uint64_t now = aq_clock_ns();
    for (uint32_t i = 0; i < AQ_CALLERS; i++)
        if (daemon->callers[i].link.fd >= 0 && now > daemon->callers[i].deadline)
            aq_link_close(&daemon->callers[i].link);
    flush_peers(daemon);
    forget_peers(daemon);
}
