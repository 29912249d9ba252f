// SPDX-License-Identifier: BSD-3-Clause
// The tables of metrics and their output, which gasnet_top --prometheus writes to a file again and
// again.
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "../format/own_names.h"
#include "rank_text.h"
#include "top_write.h"

// A counter of aq_top_totals by its place there, or a value that is computed.
typedef struct metric {
    const char *name, *type, *help;
    size_t total;
    double (*value)(const aq_watched_job_t *job, const aq_watched_rank_t *rank); // NULL: a counter
} metric_t;

static double waiting_seconds(const aq_watched_job_t *job, const aq_watched_rank_t *rank)
{
    const aq_seen_thread_t *longest = aq_seen_longest(&rank->seen, job->now, 0);
    return longest ? (double)aq_seen_waited(longest, job->now) / 1e9 : 0;
}

static double is_up(const aq_watched_job_t *job, const aq_watched_rank_t *rank)
{
    (void)job;
    return !aq_watched_is_gone(rank) && !aq_watched_is_stopped(rank);
}

// A value of a label: backslashes, quotes and ends of lines are escaped.
static void label_write(const char *name, const char *value, FILE *out)
{
    fprintf(out, "%s=\"", name);
    for (; *value; value++)
        fprintf(out, *value == '\\' || *value == '"' ? "\\%c" : "%c", *value);
    fputs("\",", out);
}

static double metric_value(const metric_t *metric, const aq_watched_job_t *job,
                           const aq_watched_rank_t *rank)
{
    const aq_top_numbers_t totals = aq_top_totals(rank);
    const void *total = (const char *)&totals + metric->total;
    return metric->value ? metric->value(job, rank) : *(const double *)total;
}

static void title_write(const char *name, const char *help, const char *type, FILE *out)
{
    fprintf(out, "# HELP aqueduct_%s %s\n# TYPE aqueduct_%s %s\n", name, help, name, type);
}

// label: "": none but those that every value has.
static void value_write(const aq_watched_job_t *job, const char *name, const aq_seen_rank_t *seen,
                        const char *label, double value, FILE *out)
{
    fprintf(out, "aqueduct_%s{job_number=\"%016" PRIx64 "\",", name, job->number);
    label_write("program", seen->program, out);
    label_write("host", seen->host_name, out);
    fprintf(out, "rank=\"%" PRIu32 "\"%s} %.17g\n", seen->rank, label, value);
}

static void metric_write(const aq_watched_job_t *job, const metric_t *metric, FILE *out)
{
    title_write(metric->name, metric->help, metric->type, out);
    for (uint32_t i = 0; i < job->found; i++)
        value_write(job, metric->name, &job->rank[i]->seen, "",
                    metric_value(metric, job, job->rank[i]), out);
}

// ---- what a rank counts of itself ----

// The counts [first, end) are one metric. A label tells several apart, by the part of the name
// (own_names.h) behind the first underline.
typedef struct family {
    const char *metric, *label, *help;
    unsigned first, end;
} family_t;

static bool is_time(const char *name)
{
    const size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, "_ns") == 0;
}

static void family_label(const family_t *family, const char *name, char label[64])
{
    const char *part = strchr(name, '_');
    label[0] = '\0';
    if (family->label && part)
        snprintf(label, 64, ",%s=\"%.*s\"", family->label,
                 (int)(strlen(part + 1) - (is_time(name) ? 3 : 0)), part + 1);
}

static void family_write(const aq_watched_job_t *job, const family_t *family, FILE *out)
{
    char label[64];
    title_write(family->metric, family->help, "counter", out);
    for (unsigned count = family->first; count < family->end; count++) {
        const char *name = aq_own_name(count);
        if (!name)
            continue;
        family_label(family, name, label);
        for (uint32_t i = 0; i < job->found; i++)
            value_write(job, family->metric, &job->rank[i]->seen, label,
                        (double)job->rank[i]->own[count] / (is_time(name) ? 1e9 : 1), out);
    }
}

static void families_write(const aq_watched_job_t *job, FILE *out)
{
    static const family_t families[] = {
        {"polls_total", "result", "Polls that found something to do, and in long waits nothing.",
         AQ_OWN_POLLS_FOUND, AQ_OWN_POLLS_EMPTY + 1},
        {"no_room_total", NULL, "Operations that found no room at first.", AQ_OWN_NO_ROOM,
         AQ_OWN_NO_ROOM + 1},
        {"refused_total", NULL, "Operations that were refused for want of room.", AQ_OWN_REFUSED,
         AQ_OWN_REFUSED + 1},
        {"resent_total", NULL, "Packets that were sent again.", AQ_OWN_RESENT, AQ_OWN_RESENT + 1},
        {"sleeps_total", NULL, "Sleeps in waits.", AQ_OWN_SLEEPS, AQ_OWN_SLEEPS + 1},
        {"sleep_seconds_total", NULL, "Time asleep in waits.", AQ_OWN_SLEEP_NS,
         AQ_OWN_SLEEP_NS + 1},
        {"wait_seconds_total", "kind", "Time of long waits that are over.", AQ_OWN_WAIT_NS,
         AQ_OWN_DROPPED},
        {"dropped_total", "reason", "Messages, packets and data that were dropped.", AQ_OWN_DROPPED,
         AQ_OWN_COUNTS},
    };
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        family_write(job, &families[i], out);
}

bool aq_top_write_prometheus(const aq_watched_job_t *job, FILE *out)
{
    static const metric_t metrics[] = {
        {"messages_total", "counter", "Active messages that the rank has sent.",
         offsetof(aq_top_numbers_t, messages), NULL},
        {"message_bytes_total", "counter", "Payload of these messages.",
         offsetof(aq_top_numbers_t, message_bytes), NULL},
        {"puts_total", "counter", "Puts that the rank has begun through the library.",
         offsetof(aq_top_numbers_t, puts), NULL},
        {"put_bytes_total", "counter", "Bytes of these puts.",
         offsetof(aq_top_numbers_t, put_bytes), NULL},
        {"gets_total", "counter", "Gets that the rank has begun through the library.",
         offsetof(aq_top_numbers_t, gets), NULL},
        {"get_bytes_total", "counter", "Bytes of these gets.",
         offsetof(aq_top_numbers_t, get_bytes), NULL},
        {"atomics_total", "counter", "Atomic operations that the rank has begun.",
         offsetof(aq_top_numbers_t, atomics), NULL},
        {"waiting_seconds", "gauge", "Time of the longest wait that goes on.", 0, waiting_seconds},
        {"up", "gauge", "1 while the process is there and not stopped.", 0, is_up},
    };
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        metric_write(job, &metrics[i], out);
    families_write(job, out);
    return !ferror(out);
}
