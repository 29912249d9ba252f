// SPDX-License-Identifier: BSD-3-Clause
// Processes that a command, a boot module or something else starts for the launcher.
#include "launcher_command.h"
#include "launcher_end.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "../tree/host_workers.h"
#include "starter.h"
#include "../tree/workers.h"
#include "../supervise/supervisor.h"

#define COMMAND_GRACE (10 * AQ_SECOND) // for a command whose processes are gone
#define COMMAND_KILL                                                                               \
    (2 * AQ_SECOND) // from SIGTERM to SIGKILL, for a command whose job did not start

static void log_missing_ranks(const aq_launcher_t *launcher, const char *when)
{
    char ranks[400];
    aq_workers_name_absent(&launcher->node, ranks, sizeof ranks);
    aq_log_error("%" PRIu32 " of %" PRIu32
                 " processes had arrived %s; missing: rank %s; start each "
                 "with GASNET_MASTER and the key of this one, where it can reach this host",
                 aq_workers_arrived(&launcher->node), launcher->node.child_count, when, ranks);
}

static void log_missing_hosts(const aq_launcher_t *launcher, const char *when)
{
    char hosts[400];
    aq_host_workers_name_absent(&launcher->node, hosts, sizeof hosts);
    aq_log_error("the helpers of %" PRIu32 " of %" PRIu32 " hosts had called %s; missing: %s; "
                 "spawner %s has to start each where it can reach this host (GASNET_MASTERIP)",
                 aq_workers_arrived(&launcher->node), launcher->node.child_count, when, hosts,
                 launcher->node.spec.starter);
}

static void log_missing_workers(const aq_launcher_t *launcher, const char *when)
{
    if (launcher->node.calls.keyless)
        return; // the reason was already reported
    if (launcher->node.spec.starter != NULL) {
        log_missing_hosts(launcher, when);
        return;
    }
    aq_log_error("%" PRIu32 " of %" PRIu32 " processes had arrived %s; the command of "
                 "GASNET_CSPAWN_CMD has to run %%C %" PRIu32 " times, where it can reach this host",
                 aq_workers_arrived(&launcher->node), launcher->node.child_count, when,
                 launcher->node.child_count);
}

static void log_command_failed(const aq_launcher_t *launcher, int status)
{
    char when[96];
    const bool loaded = launcher->node.spec.starter != NULL;
    if (WIFSIGNALED(status))
        snprintf(when, sizeof when, "when the %s was killed by signal %d",
                 loaded ? "boot module" : "command", WTERMSIG(status));
    else if (loaded)
        snprintf(when, sizeof when, "when a program that it started failed");
    else
        snprintf(when, sizeof when, "when the command ended with exit code %d",
                 WEXITSTATUS(status));
    log_missing_workers(launcher, when);
}

// Whether a boot module has failed and the starter has said why.
static bool is_told(const aq_launcher_t *launcher, int status)
{
    return launcher->node.spec.starter != NULL && WIFEXITED(status) &&
           WEXITSTATUS(status) == AQ_STARTER_TOLD;
}

void aq_launcher_reaped(aq_node_t *node, pid_t pid, int status)
{
    aq_launcher_t *launcher = aq_launcher_of(node);
    if (pid <= 0 || pid != launcher->workers.command)
        return;
    launcher->workers.command = 0;
    if (is_told(launcher, status)) {
        aq_launcher_end_job(launcher, 1, true);
        return;
    }
    if (status == 0 || launcher->workers.numbered || launcher->phase != LAUNCH_STARTING)
        return; // a command that succeeds may have put its processes into the background
    log_command_failed(launcher, status);
    aq_launcher_fail_start(launcher);
}

static void end_patience(aq_launcher_t *launcher)
{
    char when[64];
    snprintf(when, sizeof when, "within %g seconds (GASNET_CONNECT_TIMEOUT)",
             aq_settings_real(AQ_SET_CONNECT_TIMEOUT));
    if (launcher->node.spec.rendezvous)
        log_missing_ranks(launcher, when);
    else
        log_missing_workers(launcher, when);
    aq_launcher_fail_start(launcher);
}

void aq_launcher_check_workers(aq_launcher_t *launcher)
{
    aq_node_t *node = &launcher->node;
    if (!node->spec.workers || launcher->workers.numbered || launcher->phase != LAUNCH_STARTING)
        return;
    if (node->unfit) {
        aq_launcher_fail_start(launcher);
    } else if (aq_workers_complete(node)) {
        launcher->workers.numbered = true;
        if (!aq_workers_number(node))
            aq_launcher_fail_start(launcher);
    } else if (aq_clock_ns() >= launcher->workers.patience_ends) {
        end_patience(launcher);
    } else if (launcher->workers.owner > 0 && getppid() != launcher->workers.owner) {
        aq_log_error("rank 0 (process %ld) ended before all other processes had called; the job "
                     "does not start",
                     (long)launcher->workers.owner);
        aq_launcher_fail_start(launcher);
    }
}

bool aq_launcher_await_workers(aq_launcher_t *launcher, const aq_launch_plan_t *plan)
{
    uint16_t port;
    if (plan->listening == NULL)
        return true;
    launcher->workers.owner = plan->owner;
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); // this process ends what the command leaves behind
    launcher->workers.patience_ends =
        plan->patience > 0 ? aq_clock_ns() + plan->patience : UINT64_MAX;
    if (!aq_workers_open(&launcher->node, &port))
        return false;
    return plan->listening(&launcher->node, port, &launcher->workers.command);
}

// Waits for the command until that time.
static void await_command(aq_launcher_t *launcher, uint64_t time)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    uint64_t deadline = aq_clock_ns() + time;
    while (launcher->workers.command > 0 && aq_clock_ns() < deadline) {
        if (waitpid(launcher->workers.command, NULL, WNOHANG) != 0)
            launcher->workers.command = 0;
        else
            (void)nanosleep(&moment, NULL);
    }
}

// If the job did not start, the command may wait for processes that will never come. Most commands
// end with their processes, and srun leaves its Slurm job in disorder if it is ended first.
void aq_launcher_end_command(aq_launcher_t *launcher)
{
    if (!launcher->node.spec.workers)
        return;
    pid_t group = launcher->workers.command;
    await_command(launcher, launcher->workers.start_ranks ? COMMAND_GRACE : COMMAND_KILL);
    if (launcher->workers.command > 0 && kill(-group, SIGTERM) == 0)
        await_command(launcher, COMMAND_KILL);
    aq_supervised_sweep();
}
