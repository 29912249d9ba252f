#include <inttypes.h>

#include "rank_text.h"
#include "top_write.h"

typedef double (*value_t)(const aq_watched_job_t *job, const aq_watched_rank_t *rank);

static double messages(const aq_watched_job_t *job, const aq_watched_rank_t *rank)
{
    (void)job;
    return aq_top_totals(rank).messages;
}

static double message_bytes(const aq_watched_job_t *job, const aq_watched_rank_t *rank)
{
    (void)job;
    return aq_top_totals(rank).message_bytes;
}

static double puts_begun(const aq_watched_job_t *job, const aq_watched_rank_t *rank)
{
    (void)job;
    return aq_top_totals(rank).puts;
}

static double put_bytes(const aq_watched_job_t *job, const aq_watched_rank_t *rank)
{
    (void)job;
    return aq_top_totals(rank).put_bytes;
}

static double gets_begun(const aq_watched_job_t *job, const aq_watched_rank_t *rank)
{
    (void)job;
    return aq_top_totals(rank).gets;
}

static double get_bytes(const aq_watched_job_t *job, const aq_watched_rank_t *rank)
{
    (void)job;
    return aq_top_totals(rank).get_bytes;
}

static double atomics(const aq_watched_job_t *job, const aq_watched_rank_t *rank)
{
    (void)job;
    return aq_top_totals(rank).atomics;
}

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

static void metric_write(const aq_watched_job_t *job, const char *name, const char *type,
                         const char *help, value_t value, FILE *out)
{
    fprintf(out, "# HELP aqueduct_%s %s\n# TYPE aqueduct_%s %s\n", name, help, name, type);
    for (uint32_t i = 0; i < job->found; i++) {
        const aq_seen_rank_t *seen = &job->rank[i]->seen;
        fprintf(out, "aqueduct_%s{job_number=\"%016" PRIx64 "\",", name, job->number);
        label_write("program", seen->program, out);
        label_write("host", seen->host_name, out);
        fprintf(out, "rank=\"%" PRIu32 "\"} %.17g\n", seen->rank, value(job, job->rank[i]));
    }
}

bool aq_top_write_prometheus(const aq_watched_job_t *job, FILE *out)
{
    static const struct {
        const char *name, *type, *help;
        value_t value;
    } metrics[] = {
        {"messages_total", "counter", "Active messages that the rank has sent.", messages},
        {"message_bytes_total", "counter", "Payload of these messages.", message_bytes},
        {"puts_total", "counter", "Puts that the rank has begun through the library.", puts_begun},
        {"put_bytes_total", "counter", "Bytes of these puts.", put_bytes},
        {"gets_total", "counter", "Gets that the rank has begun through the library.", gets_begun},
        {"get_bytes_total", "counter", "Bytes of these gets.", get_bytes},
        {"atomics_total", "counter", "Atomic operations that the rank has begun.", atomics},
        {"waiting_seconds", "gauge", "Time of the longest wait that goes on.", waiting_seconds},
        {"up", "gauge", "1 while the process is there and not stopped.", is_up},
    };
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        metric_write(job, metrics[i].name, metrics[i].type, metrics[i].help, metrics[i].value, out);
    return !ferror(out);
}
