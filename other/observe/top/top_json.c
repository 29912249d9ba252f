// SPDX-License-Identifier: BSD-3-Clause
// Builds the output of gasnet_top --json: the job, its ranks, and of each rank threads, teams,
// peers and counters.
#include <inttypes.h>
#include <jansson.h>

#include "../../base/clock.h"
#include "../format/own_names.h"
#include "rank_text.h"
#include "top_write.h"

enum { FORMAT = 1 }; // of this output; a field that goes or changes its meaning makes it another

static json_t *numbers_object(const aq_top_numbers_t *n)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "messages", n->messages,
                     "message_bytes", n->message_bytes, "puts", n->puts, "put_bytes", n->put_bytes,
                     "gets", n->gets, "get_bytes", n->get_bytes, "atomics", n->atomics);
}

static json_int_t number(uint64_t value)
{
    return (json_int_t)(value & INT64_MAX);
}

static json_t *counts_object(const uint64_t counted[AQ_PEER_COUNTS])
{
    static const char *const names[AQ_PEER_COUNTS] = {
        "request_shorts",  "request_mediums", "request_longs", "reply_shorts",
        "reply_mediums",   "reply_longs",     "puts",          "gets",
        "atomics",         "request_bytes",   "reply_bytes",   "put_bytes",
        "get_bytes",       "vis_puts",        "vis_gets",      "sends",
        "stream_messages", "coll_messages",   "vis_put_bytes", "vis_get_bytes",
        "send_bytes",      "stream_bytes",    "coll_bytes"};
    json_t *object = json_object();
    for (unsigned i = 0; i < AQ_PEER_COUNTS; i++)
        json_object_set_new(object, names[i], json_integer(number(counted[i])));
    return object;
}

static json_t *own_object(const uint64_t own[AQ_OWN_COUNTS])
{
    json_t *object = json_object();
    for (unsigned i = 0; i < AQ_OWN_COUNTS; i++)
        if (aq_own_name(i))
            json_object_set_new(object, aq_own_name(i), json_integer(number(own[i])));
    return object;
}

// ---- a rank ----

static json_t *thread_object(const aq_seen_rank_t *seen, const aq_seen_thread_t *thread,
                             uint64_t now)
{
    static const char *const kinds[AQ_WAIT_KINDS] = {"nothing",    "event",   "room", "condition",
                                                     "collective", "receive", "send", "rank"};
    char text[AQ_RANK_TEXT];
    json_t *object = json_pack("{s:i, s:s, s:s, s:f, s:f}", "thread", (int)thread->tid, "kind",
                               kinds[thread->kind], "waits_for", aq_text_wait(seen, thread, text),
                               "seconds", (double)aq_seen_waited(thread, now) / 1e9,
                               "seconds_without_poll", (double)aq_seen_unpolled(thread, now) / 1e9);
    if (thread->kind >= AQ_WAIT_ROOM && thread->kind != AQ_WAIT_COLLECTIVE &&
        thread->kind != AQ_WAIT_CONDITION && thread->rank != AQ_WAIT_NO_RANK)
        json_object_set_new(object, "rank", json_integer(thread->rank));
    if (thread->team >= 0) {
        json_object_set_new(object, "team", json_integer(number(seen->team[thread->team].id)));
        json_object_set_new(object, "call", json_integer(thread->call));
    }
    return object;
}

static json_t *threads_array(const aq_seen_rank_t *seen, uint64_t now)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < seen->threads; i++)
        json_array_append_new(array, thread_object(seen, &seen->thread[i], now));
    return array;
}

static json_t *conduits_array(const aq_seen_rank_t *seen)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < AQ_SHOWN_CONDUITS; i++)
        if (seen->conduit[i].name[0])
            json_array_append_new(array, json_pack("{s:s, s:s}", "name", seen->conduit[i].name,
                                                   "network", seen->conduit[i].network));
    return array;
}

static json_t *teams_array(const aq_seen_rank_t *seen)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < seen->teams; i++) {
        const aq_seen_team_t *team = &seen->team[i];
        json_array_append_new(
            array, json_pack("{s:I, s:I, s:I, s:I, s:s}", "team", number(team->id), "rank",
                             (json_int_t)team->rank, "size", (json_int_t)team->size, "calls",
                             (json_int_t)team->calls, "last_call", aq_text_call(team->last[0])));
    }
    return array;
}

static void peer_visit(uint32_t to, const uint64_t sum[AQ_PEER_COUNTS], void *context)
{
    json_t *object = counts_object(sum);
    json_object_set_new(object, "to", json_integer(to));
    json_array_append_new(context, object);
}

static json_t *peers_array(const aq_watched_rank_t *rank)
{
    json_t *array = json_array();
    if (array)
        (void)aq_rank_read_counts(rank->fd, &rank->seen, peer_visit, array);
    return array;
}

static json_t *rank_object(const aq_watched_job_t *job, const aq_watched_rank_t *rank, uint64_t now)
{
    const aq_seen_rank_t *seen = &rank->seen;
    const aq_top_numbers_t rates = aq_top_rates(job, rank);
    json_t *object = json_pack("{s:I, s:I, s:i, s:s, s:b}", "rank", (json_int_t)seen->rank, "host",
                               (json_int_t)seen->host, "process", (int)seen->pid, "state",
                               aq_top_state(rank), "damaged", (int)rank->damaged);
    json_object_set_new(object, "host_name", json_string(seen->host_name));
    json_object_set_new(object, "started", json_integer(number(seen->started_unix)));
    json_object_set_new(object, "conduits", conduits_array(seen));
    json_object_set_new(object, "threads", threads_array(seen, now));
    json_object_set_new(object, "teams", teams_array(seen));
    json_object_set_new(object, "sent", counts_object(rank->counted));
    json_object_set_new(object, "counts", own_object(rank->own));
    json_object_set_new(object, "rates", numbers_object(&rates));
    json_object_set_new(object, "peers", peers_array(rank));
    return object;
}

// ---- the job ----

static json_t *pair_object(const aq_watched_job_t *job, uint64_t now)
{
    aq_top_pair_t pair;
    if (!aq_top_slowest(job, now, &pair))
        return json_null();
    return json_pack("{s:I, s:I, s:f}", "rank", (json_int_t)pair.waits, "waits_for",
                     (json_int_t)pair.for_rank, "seconds", (double)pair.waited / 1e9);
}

bool aq_top_write_json(const aq_watched_job_t *job, FILE *out)
{
    const uint64_t now = aq_clock_ns();
    char text[32], elsewhere[AQ_ELSEWHERE_TEXT];
    snprintf(text, sizeof text, "%016" PRIx64, job->number);
    json_t *ranks = json_array();
    for (uint32_t i = 0; i < job->found; i++)
        json_array_append_new(ranks, rank_object(job, job->rank[i], now));
    json_t *object =
        json_pack("{s:i, s:s, s:I, s:I, s:f}", "version", FORMAT, "job", text, "ranks",
                  (json_int_t)job->ranks, "ranks_shown", (json_int_t)job->found, "interval_seconds",
                  job->before ? (double)(job->now - job->before) / 1e9 : 0.0);
    json_object_set_new(object, "program", json_string(job->rank[0]->seen.program));
    json_object_set_new(object, "elsewhere",
                        aq_text_elsewhere(job, elsewhere)[0] ? json_string(elsewhere)
                                                             : json_null());
    json_object_set_new(object, "slowest_pair", pair_object(job, now));
    json_object_set_new(object, "rank", ranks);
    const bool fine = object && json_dumpf(object, out, JSON_INDENT(2)) == 0;
    json_decref(object);
    fputc('\n', out);
    return fine && !ferror(out);
}
