// SPDX-License-Identifier: BSD-3-Clause
// The processors of the ranks that a supervisor starts: by -c, or by GASNET_BIND (binding.h).
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "supervisor_bind.h"

#define LINE_ROOM 3000 // of the line that tells the processors of all ranks
#define WHY_ROOM 256
#define LIST_ROOM 128

// ---- a number of processors for each rank ----

static void bind_count(aq_supervised_t *job)
{
    const uint32_t each = job->options->cpus_per_rank;
    const uint64_t need = (uint64_t)each * job->places;
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        return;
    if (need <= (uint64_t)CPU_COUNT(&cpus))
        (void)aq_binding_count(&cpus, each, job->places, &job->binding);
    else
        aq_log_warn("%" PRIu32 " ranks with %" PRIu32 " processors each need %" PRIu64
                    ", but there are %d: ranks are not bound to processors",
                    job->places, each, need, CPU_COUNT(&cpus));
}

// ---- cores of their own ----

// Numbers the ranks of this supervisor among all ranks of its host, with the reserve. Returns how
// many that are.
static uint32_t number_ranks(const aq_supervised_t *job, uint32_t *numbers)
{
    const aq_supervise_part_t *part = job->options->part;
    if (part == NULL) {
        for (uint32_t place = 0; place < job->places; place++)
            numbers[place] = place;
        return job->places;
    }
    const uint32_t *hosts = aq_page_hosts(part->page);
    uint32_t here = 0, place = 0;
    for (uint32_t rank = 0; rank < part->page->ranks.size; rank++) {
        if (place < job->places && part->ranks[place] == rank)
            numbers[place++] = here;
        here += hosts[rank] == hosts[part->ranks[0]];
    }
    return here;
}

static void tell_binding(const aq_supervised_t *job)
{
    char line[LINE_ROOM], list[LIST_ROOM];
    size_t used = 0;
    for (uint32_t place = 0; place < job->places && used + LIST_ROOM + 32 < sizeof line; place++) {
        aq_cpus_print(&job->binding.of[place], list, sizeof list);
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%" PRIu32 " to %s",
                                 place > 0 ? ", " : "", aq_supervised_rank(job, place), list);
    }
    aq_log_info("ranks are bound to processors: %s%s", line,
                used + LIST_ROOM + 32 < sizeof line ? "" : " and so on");
}

// A binding that the user asked for and does not get is worth a warning.
static void tell_unbound(const char *why, bool requested)
{
    if (requested)
        aq_log_warn("GASNET_BIND=core: ranks are not bound to processors: %s", why);
    else
        aq_log_info("ranks are not bound to processors: %s", why);
}

static void bind_cores(aq_supervised_t *job, bool force)
{
    char why[WHY_ROOM];
    uint32_t *numbers = calloc(job->places, sizeof *numbers);
    if (numbers == NULL)
        return;
    const aq_binding_setup_t setup = {force, number_ranks(job, numbers), job->places, numbers};
    aq_binding_make(&setup, &job->binding, why, sizeof why);
    if (job->binding.of == NULL)
        tell_unbound(why, force);
    job->bound_unasked = job->binding.of != NULL && !force;
    free(numbers);
}

void aq_supervised_bind(aq_supervised_t *job)
{
    const char *how = aq_settings_text(AQ_SET_BIND);
    if (job->options->cpus_per_rank > 0)
        bind_count(job);
    else if (strcmp(how, "none") == 0)
        tell_unbound("GASNET_BIND is none", false);
    else
        bind_cores(job, strcmp(how, "core") == 0);
    if (job->binding.of != NULL)
        tell_binding(job);
}

void aq_supervised_note_bound(const aq_supervised_t *job)
{
    for (uint32_t place = 0; job->bound_unasked && place < job->places; place++)
        aq_page_bound(job->page)[aq_supervised_rank(job, place)] = 1;
}
