// SPDX-License-Identifier: BSD-3-Clause
// The members of a universe: what the coordinator does, and how the daemons find a coordinator
// again.
#include <errno.h>

#include "../../other/base/clock.h"
#include "universe_coordinator.h"
#include "universe_peers.h"

#define MOMENT_NS UINT64_C(20000000) // changes within this time are told together
#define RETRY_NS UINT64_C(50000000)  // between two calls to a daemon that is not yet coordinator
#define ELECTION_NS UINT64_C(5000000000) // until all daemons have found the new coordinator
#define HALT_NS UINT64_C(8000000000)     // until all other daemons are gone

// ---- telling the table ----

static void send_table(const aq_daemon_t *daemon, aq_link_t *link, uint32_t self)
{
    aq_write_table(&link->out, &daemon->table, self);
}

// programs: to those that wait, else to all peers.
static void tell_table(aq_daemon_t *daemon, bool waiting)
{
    for (uint32_t i = 0; i < daemon->peer_count; i++) {
        aq_peer_t *peer = &daemon->peers[i];
        if (peer->link.fd < 0 || (waiting && !peer->waits))
            continue;
        send_table(daemon, &peer->link, peer->number != AQ_NO_NUMBER ? peer->number : daemon->self);
        peer->waits = false;
    }
}

static void note_change(aq_daemon_t *daemon)
{
    if (daemon->broadcast_due == 0)
        daemon->broadcast_due = aq_clock_ns() + MOMENT_NS;
}

static uint32_t count_members(const aq_daemon_t *daemon)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < daemon->peer_count; i++)
        count += daemon->peers[i].link.fd >= 0 && daemon->peers[i].number != AQ_NO_NUMBER;
    return count;
}

// ---- members ----

static void refuse_join(aq_link_t *link, const char *why)
{
    aq_write_failed(&link->out, &(aq_failed_t){0, 1, why});
    (void)aq_link_flush(link);
}

static bool is_connected(const aq_daemon_t *daemon, uint32_t number)
{
    for (uint32_t i = 0; i < daemon->peer_count; i++)
        if (daemon->peers[i].link.fd >= 0 && daemon->peers[i].number == number)
            return true;
    return false;
}

// Returns the row of a daemon that may join; NULL: why says the reason, "" if it may call again.
static aq_row_t *find_row(aq_daemon_t *daemon, const aq_join_t *join, const char **why)
{
    *why = "";
    if (!daemon->coordinator)
        return NULL;
    *why = "the universe is being halted";
    if (daemon->halt_ends != 0)
        return NULL;
    *why = "it is not a daemon of this universe any more";
    const aq_row_t *caller = &join->member;
    if (join->again) {
        aq_row_t *row = aq_table_find(&daemon->table, caller->number);
        bool lost = row == NULL || row->state == AQ_ROW_LOST;
        return lost || is_connected(daemon, caller->number) ? NULL : row;
    }
    *why = "a host of that name is in the universe already";
    if (aq_table_named(&daemon->table, caller->name, caller->user) != NULL)
        return NULL;
    *why = "the coordinator of the universe has no memory";
    return aq_table_add(&daemon->table, caller);
}

// A daemon that was asked to leave, and has done so, is forgotten.
static void end_row(aq_daemon_t *daemon, uint32_t number)
{
    aq_row_t *row = aq_table_find(&daemon->table, number);
    if (row == NULL)
        return;
    if (row->state == AQ_ROW_LEAVING)
        aq_table_remove(&daemon->table, number);
    else
        row->state = AQ_ROW_LOST;
}

void aq_daemon_take_join(aq_daemon_t *daemon, aq_link_t *link, const aq_frame_t *frame)
{
    aq_join_t join;
    const char *why;
    if (!aq_read_join(frame->payload, &join))
        return;
    aq_row_t *row = find_row(daemon, &join, &why);
    if (row == NULL) {
        refuse_join(link, why);
        return;
    }
    row->jobs = join.member.jobs;
    uint32_t number = row->number;
    aq_peer_t *peer = aq_daemon_add_peer(daemon, link, number);
    *link = (aq_link_t){.fd = -1}; // the peer has it
    if (peer != NULL)
        send_table(daemon, &peer->link, number);
    else
        end_row(daemon, number);
    note_change(daemon);
}

void aq_daemon_lose_member(aq_daemon_t *daemon, uint32_t number)
{
    if (daemon->halt_ends != 0)
        return;
    end_row(daemon, number);
    note_change(daemon);
}

// ---- requests ----

static void begin_halt(aq_daemon_t *daemon)
{
    if (daemon->halt_ends != 0)
        return;
    daemon->halt_ends = aq_clock_ns() + HALT_NS;
    for (uint32_t i = 0; i < daemon->peer_count; i++)
        if (daemon->peers[i].link.fd >= 0 && daemon->peers[i].number != AQ_NO_NUMBER)
            aq_write_empty(&daemon->peers[i].link.out, AQ_MSG_HALT);
}

static void mark_leaving(aq_daemon_t *daemon, uint32_t number)
{
    aq_row_t *row = aq_table_find(&daemon->table, number);
    if (row != NULL && row->state == AQ_ROW_UP)
        row->state = AQ_ROW_LEAVING;
    else if (row != NULL && row->state == AQ_ROW_LOST)
        aq_table_remove(&daemon->table, number);
    note_change(daemon);
}

static void note_jobs(aq_daemon_t *daemon, uint32_t number, uint32_t jobs)
{
    aq_row_t *row = aq_table_find(&daemon->table, number);
    if (row == NULL)
        return;
    row->jobs = jobs;
    if (row->state == AQ_ROW_LEAVING)
        note_change(daemon);
}

static bool coordinator_takes(aq_daemon_t *daemon, aq_peer_t *peer, const aq_frame_t *frame)
{
    uint32_t number = 0;
    if (frame->type == AQ_MSG_SEE) {
        peer->waits = true;
        tell_table(daemon, true);
    } else if (frame->type == AQ_MSG_HALT) {
        begin_halt(daemon);
    } else if (!aq_read_number(frame->payload, &number)) {
        return false;
    } else if (frame->type == AQ_MSG_SHRINK) {
        mark_leaving(daemon, number);
    } else if (frame->type == AQ_MSG_JOBS && peer->number != AQ_NO_NUMBER) {
        note_jobs(daemon, peer->number, number);
    } else {
        return false;
    }
    return true;
}

// Without a coordinator the request is lost; a program that waits for the table gets it with the
// next coordinator.
static bool daemon_passes(aq_daemon_t *daemon, aq_peer_t *peer, const aq_frame_t *frame)
{
    bool see = frame->type == AQ_MSG_SEE;
    if (!see && frame->type != AQ_MSG_HALT && frame->type != AQ_MSG_SHRINK)
        return false;
    peer->waits = peer->waits || see;
    if (daemon->election.up.fd >= 0 && see)
        aq_write_empty(&daemon->election.up.out, AQ_MSG_SEE);
    else if (daemon->election.up.fd >= 0)
        aq_frame_copy(&daemon->election.up.out, frame);
    return true;
}

bool aq_daemon_take_request(aq_daemon_t *daemon, aq_peer_t *peer, const aq_frame_t *frame)
{
    return daemon->coordinator ? coordinator_takes(daemon, peer, frame)
                               : daemon_passes(daemon, peer, frame);
}

void aq_daemon_tell_jobs(aq_daemon_t *daemon)
{
    if (daemon->coordinator)
        note_jobs(daemon, daemon->self, daemon->jobs.count);
    else if (daemon->election.up.fd >= 0)
        aq_write_number(&daemon->election.up.out, AQ_MSG_JOBS, daemon->jobs.count);
}

// ---- the election ----

static void become_coordinator(aq_daemon_t *daemon)
{
    daemon->coordinator = true;
    daemon->election.dialing = false;
    daemon->election.next_call = 0;
    aq_daemon_tell_jobs(daemon);
    note_change(daemon);
}

// Calls the daemon that is to be the coordinator, unless it is this one.
static void call_coordinator(aq_daemon_t *daemon)
{
    const aq_row_t *row = aq_table_coordinator(&daemon->table);
    daemon->election.next_call = 0;
    if (row == NULL || aq_clock_ns() >= daemon->election.ends) {
        daemon->over = true;
    } else if (row->number == daemon->self) {
        become_coordinator(daemon);
    } else {
        daemon->election.dialing = true;
        aq_dial_begin(&daemon->election.dial, row->addresses, (uint16_t)row->port, row->number);
    }
}

static uint32_t count_rows(const aq_table_t *table)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->count; i++)
        count += table->rows[i].state != AQ_ROW_LOST;
    return count;
}

static void begin_election(aq_daemon_t *daemon)
{
    daemon->election.ends = aq_clock_ns() + ELECTION_NS;
    daemon->election.voters = count_rows(&daemon->table);
    daemon->election.unsure = false;
}

// dead: its process is known to have ended.
static void lose_coordinator(aq_daemon_t *daemon, bool dead)
{
    const aq_row_t *row = aq_table_coordinator(&daemon->table);
    aq_link_close(&daemon->election.up);
    if (daemon->election.ends == 0)
        begin_election(daemon);
    daemon->election.unsure = daemon->election.unsure || !dead;
    if (row != NULL)
        end_row(daemon, row->number);
    call_coordinator(daemon);
}

// The link is that of a member from here on; the answer is TABLE, or FAILED.
static void join_again(aq_daemon_t *daemon)
{
    aq_row_t *row = aq_table_find(&daemon->table, daemon->self);
    daemon->election.dialing = false;
    daemon->election.up = daemon->election.dial.link;
    daemon->election.dial.link = (aq_link_t){.fd = -1};
    aq_link_bear(&daemon->election.up, daemon->silence_ms);
    if (row == NULL) {
        daemon->over = true;
        return;
    }
    row->jobs = daemon->jobs.count;
    aq_write_join(&daemon->election.up.out, &(aq_join_t){true, *row});
}

void aq_daemon_serve_dial(aq_daemon_t *daemon)
{
    aq_status_t status = aq_dial_turn(&daemon->election.dial, daemon->key);
    if (status == AQ_OK) {
        join_again(daemon);
    } else if (status != AQ_AGAIN) {
        daemon->election.dialing = false;
        lose_coordinator(daemon, daemon->election.dial.answered); // that one does not live either
    }
}

// ---- frames of the coordinator ----

static bool take_table(aq_daemon_t *daemon, const aq_frame_t *frame)
{
    uint32_t self;
    if (!aq_read_table(frame->payload, &daemon->table, &self) || self != daemon->self)
        return false;
    daemon->election.ends = 0;
    tell_table(daemon, false);
    return true;
}

// "": that daemon is not the coordinator yet.
static bool take_refusal(aq_daemon_t *daemon, const aq_frame_t *frame)
{
    aq_failed_t failed;
    if (!aq_read_failed(frame->payload, &failed))
        return false;
    aq_link_close(&daemon->election.up);
    daemon->election.next_call = aq_clock_ns() + RETRY_NS;
    daemon->over = daemon->over || failed.why[0] != '\0';
    return true;
}

static bool take_frame(aq_daemon_t *daemon, const aq_frame_t *frame)
{
    if (frame->type == AQ_MSG_TABLE)
        return take_table(daemon, frame);
    if (frame->type == AQ_MSG_FAILED)
        return take_refusal(daemon, frame);
    daemon->over = frame->type == AQ_MSG_HALT;
    return daemon->over;
}

void aq_daemon_serve_coordinator(aq_daemon_t *daemon)
{
    aq_frame_t frame;
    aq_framing_t framing = AQ_FRAME_PART;
    int error = aq_link_receive(&daemon->election.up);
    while (daemon->election.up.fd >= 0 &&
           (framing = aq_link_next(&daemon->election.up, AQ_FRAME_MAX, &frame)) == AQ_FRAME_WHOLE)
        if (!take_frame(daemon, &frame)) {
            framing = AQ_FRAME_BAD;
            break;
        }
    if (daemon->election.up.fd >= 0 && (error != 0 || framing == AQ_FRAME_BAD))
        lose_coordinator(daemon, error == ENOTCONN || error == ECONNRESET);
}

// ---- what is due ----

// Daemons that have not called the new coordinator in time are lost, or this one is.
static void end_election(aq_daemon_t *daemon)
{
    daemon->election.ends = 0;
    if (daemon->election.unsure && 2 * (count_members(daemon) + 1) <= daemon->election.voters) {
        daemon->over = true;
        return;
    }
    for (uint32_t i = 0; i < daemon->table.count; i++) {
        aq_row_t *row = &daemon->table.rows[i];
        if (row->number != daemon->self && !is_connected(daemon, row->number))
            row->state = AQ_ROW_LOST;
    }
    note_change(daemon);
}

static bool has_left(const aq_daemon_t *daemon)
{
    const aq_row_t *row = aq_table_find(&daemon->table, daemon->self);
    return row != NULL && row->state == AQ_ROW_LEAVING && daemon->jobs.count == 0 &&
           daemon->broadcast_due == 0; // the others know it
}

void aq_daemon_check_members(aq_daemon_t *daemon)
{
    uint64_t now = aq_clock_ns();
    if (daemon->election.next_call != 0 && now >= daemon->election.next_call)
        call_coordinator(daemon);
    if (daemon->coordinator && daemon->election.ends != 0 && now >= daemon->election.ends)
        end_election(daemon);
    if (daemon->broadcast_due != 0 && now >= daemon->broadcast_due) {
        daemon->broadcast_due = 0;
        if (daemon->coordinator)
            tell_table(daemon, false);
    }
    if (daemon->halt_ends != 0 && (count_members(daemon) == 0 || now >= daemon->halt_ends))
        daemon->over = true;
    if (has_left(daemon))
        daemon->over = true;
}
