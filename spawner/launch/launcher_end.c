// SPDX-License-Identifier: BSD-3-Clause
// How the launcher ends a job.
#include "launcher_end.h"

#include "../../other/base/clock.h"
#include "../tree/node.h"
#include "../tree/node_tree.h"
#include "../../other/base/settings/exit_timeout.h"

static void send_end(aq_launcher_t *launcher)
{
    aq_bytes_t bytes = {0};
    aq_write_end(&bytes, AQ_MSG_ENDED,
                 &(aq_end_t){launcher->end.now, (uint32_t)launcher->end.code});
    aq_node_down(&launcher->node, &bytes);
    aq_bytes_free(&bytes);
}

static void set_deadline(aq_launcher_t *launcher, uint64_t time)
{
    uint64_t deadline = aq_clock_ns() + time;
    if (launcher->node.deadline == 0 || deadline < launcher->node.deadline)
        launcher->node.deadline = deadline;
}

// Processes of a rendezvous learn that the job ends, also those that call a little later. They
// close their links first, so that the news does not get lost.
static void dismiss_processes(aq_launcher_t *launcher)
{
    aq_node_t *node = &launcher->node;
    aq_write_end(&node->calls.farewell, AQ_MSG_ENDED,
                 &(aq_end_t){true, (uint32_t)launcher->end.code});
    aq_node_down(node, &node->calls.farewell);
    set_deadline(launcher, AQ_END_GRACE);
}

// Before GO no rank runs that could leave in good order, so the job ends at once.
static void end_start(aq_launcher_t *launcher)
{
    launcher->phase = LAUNCH_ENDING;
    if (launcher->node.spec.rendezvous)
        dismiss_processes(launcher);
    else
        aq_node_close(&launcher->node);
}

// The time after which the launcher gives up the hosts: at least what the ranks get to leave after
// SIGTERM, even if one leaves at once. The memory of this host stands for that of the ranks, which
// only their hosts know.
static uint64_t time_to_leave(const aq_launcher_t *launcher, int sig)
{
    return AQ_END_GRACE + aq_stop_timeout_ns(sig, launcher->node.spec.size) +
           aq_exit_memory_ns(UINT64_MAX);
}

void aq_launcher_let_leave(aq_launcher_t *launcher, int sig)
{
    set_deadline(launcher, time_to_leave(launcher, sig));
}

// The first code counts; `now` may follow later.
void aq_launcher_end_job(aq_launcher_t *launcher, int code, bool now)
{
    bool news = !launcher->end.code_known || (now && !launcher->end.now);
    if (!launcher->end.code_known)
        launcher->end.code = code;
    launcher->end.code_known = true;
    launcher->end.now = launcher->end.now || now;
    if (launcher->phase == LAUNCH_STARTING) {
        end_start(launcher);
    } else if (news) {
        launcher->phase = LAUNCH_ENDING;
        send_end(launcher);
        set_deadline(launcher, launcher->end.now
                                   ? AQ_END_GRACE
                                   : time_to_leave(launcher, launcher->end.stop_signal));
    }
}

void aq_launcher_fail_start(aq_launcher_t *launcher)
{
    aq_launcher_end_job(launcher, 1, true);
}
