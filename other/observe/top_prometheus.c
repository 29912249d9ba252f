#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "own_names.h"
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

static void value_write(const aq_watched_job_t *job, const char *name, const aq_seen_rank_t *seen,
                        double value, FILE *out)
{
    fprintf(out, "aqueduct_%s{job_number=\"%016" PRIx64 "\",", name, job->number);
    label_write("program", seen->program, out);
    label_write("host", seen->host_name, out);
    fprintf(out, "rank=\"%" PRIu32 "\"} %.17g\n", seen->rank, value);
}

static void metric_write(const aq_watched_job_t *job, const metric_t *metric, FILE *out)
{
    title_write(metric->name, metric->help, metric->type, out);
    for (uint32_t i = 0; i < job->found; i++)
        value_write(job, metric->name, &job->rank[i]->seen, metric_value(metric, job, job->rank[i]),
                    out);
}

// The unit of a time is the second here, and its place is in front of "total".
static void own_write(const aq_watched_job_t *job, unsigned count, FILE *out)
{
    const aq_own_name_t own = aq_own_name(count);
    const size_t length = strlen(own.name);
    const bool is_time = length > 3 && strcmp(own.name + length - 3, "_ns") == 0;
    char name[64];
    snprintf(name, sizeof name, "%.*s_%s", (int)(is_time ? length - 3 : length), own.name,
             is_time ? "seconds_total" : "total");
    title_write(name, own.help, "counter", out);
    for (uint32_t i = 0; i < job->found; i++)
        value_write(job, name, &job->rank[i]->seen,
                    (double)job->rank[i]->own[count] / (is_time ? 1e9 : 1), out);
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
    for (unsigned i = 0; i < AQ_OWN_COUNTS; i++)
        if (aq_own_name(i).name)
            own_write(job, i, out);
    return !ferror(out);
}
