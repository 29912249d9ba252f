// SPDX-License-Identifier: BSD-3-Clause
// Carries the messages of the election (exit_election.c) as active messages: handlers and a task of
// polls drive it. exit.c asks for the code of the job in its body.
#include "exit_broadcast.h"

#include "../../other/base/clock.h"
#include "../../other/base/settings/exit_timeout.h"
#include "../am/am_answer.h"
#include "../am/am_send.h"
#include "../endpoint/endpoint.h"
#include "exit_election.h"
#include "../state/job.h"
#include "../progress/progress.h"

enum {
    TRIES = 8,
    SILENT_PART = 5, // a rank that is silent for 1/5 of the exit timeout counts as dead
    IDLE_NS = 50000, // sleep between polls that find nothing
};

static aq_election_t election;
static aq_lock_t lock;       // guards election
static atomic_bool awake;    // the election has begun in this process
static atomic_flag speaking; // a poll is sending

static bool election_turn(aq_task_t *task);
static aq_task_t election_task = {.turn = election_turn};

// ---- messages ----

static void fill_args(int32_t args[4], const aq_exit_message_t *message)
{
    args[0] = (int32_t)message->kind;
    args[1] = (int32_t)message->ballot.elector;
    args[2] = (int32_t)message->ballot.master;
    args[3] = message->ballot.code;
}

// Sends a message if there is room. The election repeats one that found no room, like a lost one.
static void send_exit_message(uint32_t to, const aq_exit_message_t *message)
{
    int32_t args[4];
    fill_args(args, message);
    (void)aq_am_request_short(to, AQ_HANDLER_EXIT_ASK, 4, args, GEX_FLAG_IMMEDIATE);
}

static void reply_exit_message(gex_Token_t token, const aq_exit_message_t *message)
{
    int32_t args[4];
    fill_args(args, message);
    aq_am_answer(token, AQ_HANDLER_EXIT_REPLY, 4, args);
}

static bool next_exit_message(uint32_t *to, aq_exit_message_t *message)
{
    aq_lock_take(&lock);
    bool any = aq_election_next(&election, aq_clock_ns(), to, message);
    aq_lock_drop(&lock);
    return any;
}

static bool election_turn(aq_task_t *task)
{
    (void)task;
    uint32_t to;
    aq_exit_message_t message;
    bool any = false;
    if (atomic_flag_test_and_set(&speaking))
        return false;
    while (next_exit_message(&to, &message)) {
        send_exit_message(to, &message);
        any = true;
    }
    atomic_flag_clear(&speaking);
    return any;
}

static void wake_up(void)
{
    if (!atomic_exchange(&awake, true))
        aq_progress_busy(&election_task, 1);
}

// A rank that learns of the end notifies the ranks of its own host, which may not poll the network.
static void on_exit_message(gex_Token_t token, int32_t kind, int32_t elector, int32_t master,
                            int32_t code)
{
    const aq_exit_message_t message = {(aq_exit_message_kind_t)kind,
                                       {(uint32_t)elector, (uint32_t)master, code}};
    aq_exit_message_t answer;
    if (message.ballot.master >= aq_job.size || (uint32_t)kind > AQ_EXIT_ACK)
        return; // malformed: ignore it, the election works without this peer
    aq_lock_take(&lock);
    bool answers =
        aq_election_hear(&election, token->arrival->source, &message, aq_clock_ns(), &answer);
    aq_lock_drop(&lock);
    wake_up();
    (void)aq_job.boot->ops->announce_exit(aq_job.boot, answer.ballot.code);
    if (answers)
        reply_exit_message(token, &answer);
}

// ---- calls ----

void aq_exit_broadcast_start(void)
{
    const uint64_t limit = aq_exit_timeout_ns(aq_job.size);
    const aq_election_timing_t timing = {
        .retry_ns = limit / (SILENT_PART * TRIES), .tries = TRIES, .limit_ns = limit};
    if (!aq_job.boot->exit_stays_here)
        return;
    aq_election_init(&election, aq_job.rank, aq_job.size, &timing);
    aq_endpoint_internal(AQ_HANDLER_EXIT_ASK, (gex_AM_Fn_t)on_exit_message,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 4, "exit");
    aq_endpoint_internal(AQ_HANDLER_EXIT_REPLY, (gex_AM_Fn_t)on_exit_message,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 4, "exit reply");
    aq_progress_add(&election_task);
}

int aq_exit_broadcast_code(int code)
{
    if (!aq_job.boot->exit_stays_here)
        return code;
    aq_lock_take(&lock);
    aq_election_begin(&election, code, aq_clock_ns());
    aq_lock_drop(&lock);
    wake_up();
    while (!aq_election_over(&election))
        if (!aq_progress_poll())
            aq_clock_sleep_ns(IDLE_NS);
    return election.ballot.code;
}
