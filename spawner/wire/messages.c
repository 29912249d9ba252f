// SPDX-License-Identifier: BSD-3-Clause
// The payloads of frames.
#include "messages.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX (1u << 20) // arguments or variables

void aq_write_intro(aq_bytes_t *bytes, const aq_intro_t *intro)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_INTRO);
    aq_put_raw(bytes, intro->key, AQ_KEY_BYTES);
    aq_put_u32(bytes, intro->node);
    aq_put_text(bytes, intro->address);
    aq_put_u32(bytes, intro->port);
    aq_frame_end(bytes, begin);
}

bool aq_read_intro(aq_view_t view, aq_intro_t *out)
{
    (void)aq_get_bytes(&view, out->key, AQ_KEY_BYTES);
    out->node = aq_get_u32(&view);
    out->address = aq_get_text(&view);
    out->port = aq_get_u32(&view);
    return aq_view_done(&view) && out->port > 0 && out->port <= UINT16_MAX;
}

void aq_write_hello(aq_bytes_t *bytes, const aq_hello_t *hello)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_HELLO);
    aq_put_u32(bytes, hello->node);
    aq_put_raw(bytes, hello->nonce, AQ_NONCE_BYTES);
    aq_frame_end(bytes, begin);
}

bool aq_read_hello(aq_view_t view, aq_hello_t *out)
{
    out->node = aq_get_u32(&view);
    return aq_get_bytes(&view, out->nonce, AQ_NONCE_BYTES) && aq_view_done(&view);
}

void aq_write_challenge(aq_bytes_t *bytes, const aq_challenge_t *challenge)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_CHALLENGE);
    aq_put_raw(bytes, challenge->nonce, AQ_NONCE_BYTES);
    aq_put_raw(bytes, challenge->tag, AQ_AUTH_BYTES);
    aq_frame_end(bytes, begin);
}

bool aq_read_challenge(aq_view_t view, aq_challenge_t *out)
{
    return aq_get_bytes(&view, out->nonce, AQ_NONCE_BYTES) &&
           aq_get_bytes(&view, out->tag, AQ_AUTH_BYTES) && aq_view_done(&view);
}

void aq_write_auth(aq_bytes_t *bytes, const uint8_t tag[AQ_AUTH_BYTES])
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_AUTH);
    aq_put_raw(bytes, tag, AQ_AUTH_BYTES);
    aq_frame_end(bytes, begin);
}

bool aq_read_auth(aq_view_t view, uint8_t tag[AQ_AUTH_BYTES])
{
    return aq_get_bytes(&view, tag, AQ_AUTH_BYTES) && aq_view_done(&view);
}

// ---- the job ----

uint32_t aq_spec_machine(const aq_spec_t *spec, uint32_t host)
{
    uint32_t rank = 0;
    while (rank + 1 < spec->size && spec->host_of_rank[rank] != host)
        rank++;
    return spec->machine_of_rank[rank];
}

static void put_words(aq_bytes_t *bytes, char *const *words)
{
    uint32_t count = 0;
    while (words[count] != NULL)
        count++;
    aq_put_u32(bytes, count);
    for (uint32_t i = 0; i < count; i++)
        aq_put_text(bytes, words[i]);
}

// Each word takes at least 5 bytes, so a false count does not cost memory.
static bool can_hold(const aq_view_t *view, uint32_t count, size_t each)
{
    return !view->bad && count <= view->left / each;
}

static char **get_words(aq_view_t *view)
{
    uint32_t count = aq_get_u32(view);
    char **words = can_hold(view, count, 5) && count < WORDS_MAX
                       ? calloc((size_t)count + 1, sizeof *words)
                       : NULL;
    for (uint32_t i = 0; words != NULL && i < count; i++)
        words[i] = (char *)(uintptr_t)aq_get_text(view);
    return words;
}

// A table of numbers as runs: `count` numbers from `first` on, each `repeat` times. Ranks that are
// placed evenly, in blocks or in turns, take a few runs, whatever their number.
typedef struct run {
    uint32_t first, repeat, count;
} run_t;

static uint32_t count_equal(const uint32_t *table, uint32_t at, uint32_t size)
{
    uint32_t end = at;
    while (end < size && table[end] == table[at])
        end++;
    return end - at;
}

static run_t find_run(const uint32_t *table, uint32_t at, uint32_t size)
{
    run_t run = {table[at], count_equal(table, at, size), 0};
    while (at < size && table[at] == run.first + run.count &&
           count_equal(table, at, size) == run.repeat) {
        at += run.repeat;
        run.count++;
    }
    return run;
}

static void put_runs(aq_bytes_t *bytes, const uint32_t *table, uint32_t size)
{
    for (uint32_t at = 0; at < size;) {
        run_t run = find_run(table, at, size);
        aq_put_u32(bytes, run.first);
        aq_put_u32(bytes, run.repeat);
        aq_put_u32(bytes, run.count);
        at += run.repeat * run.count;
    }
}

// Every number of the run is below most, and the run fits into the room.
static bool is_legal_run(const run_t *run, uint32_t room, uint32_t most)
{
    return run->count > 0 && run->repeat > 0 && run->repeat <= room / run->count &&
           run->first < most && run->count <= most - run->first;
}

// Returns a table of size numbers below most, which the caller frees; NULL: bad, or no memory.
static uint32_t *get_runs(aq_view_t *view, uint32_t size, uint32_t most)
{
    uint32_t *table = calloc((size_t)size + 1, sizeof *table);
    for (uint32_t at = 0; table != NULL && at < size;) {
        run_t run = {.first = aq_get_u32(view), .repeat = aq_get_u32(view)};
        run.count = aq_get_u32(view);
        if (!is_legal_run(&run, size - at, most)) {
            free(table);
            return NULL;
        }
        for (uint32_t i = 0; i < run.count * run.repeat; i++)
            table[at++] = run.first + i / run.repeat;
    }
    return table;
}

static void put_daemon(aq_bytes_t *bytes, const aq_spec_daemon_t *daemon)
{
    aq_put_u32(bytes, daemon->number);
    aq_put_u32(bytes, daemon->port);
    aq_put_text(bytes, daemon->addresses);
}

// False: a port is not legal; the rest shows in the view.
static bool get_daemon(aq_view_t *view, aq_spec_daemon_t *out)
{
    out->number = aq_get_u32(view);
    out->port = aq_get_u32(view);
    out->addresses = aq_get_text(view);
    return out->port > 0 && out->port <= UINT16_MAX;
}

void aq_write_hosts(aq_bytes_t *bytes, const aq_spec_t *spec, uint32_t low, uint32_t high)
{
    aq_put_u8(bytes, spec->daemons != NULL);
    for (uint32_t host = low; host < high; host++) {
        aq_put_text(bytes, aq_spec_host(spec, host)->name);
        aq_put_text(bytes, aq_spec_host(spec, host)->user);
        aq_put_text(bytes, aq_spec_host(spec, host)->prefix);
        if (spec->daemons != NULL)
            put_daemon(bytes, aq_spec_daemon(spec, host));
    }
}

bool aq_read_hosts(aq_view_t view, uint32_t low, uint32_t high, aq_spec_t *out)
{
    uint32_t count = high - low;
    bool ok = true, daemons = aq_get_u8(&view) != 0, fits = can_hold(&view, count, 15);
    out->first_host = low;
    out->hosts = fits ? calloc(count, sizeof *out->hosts) : NULL;
    out->daemons = fits && daemons ? calloc(count, sizeof *out->daemons) : NULL;
    if (out->hosts == NULL || (daemons && out->daemons == NULL))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        out->hosts[i].name = aq_get_text(&view);
        out->hosts[i].user = aq_get_text(&view);
        out->hosts[i].prefix = aq_get_text(&view);
        if (daemons)
            ok = get_daemon(&view, &out->daemons[i]) && ok;
    }
    return ok && aq_view_done(&view);
}

void aq_write_spec(aq_bytes_t *bytes, const aq_spec_t *spec)
{
    aq_put_u32(bytes, spec->size);
    aq_put_u32(bytes, spec->host_count);
    aq_put_u32(bytes, spec->spare);
    aq_put_u32(bytes, spec->reserve);
    aq_put_u32(bytes, spec->cpus_per_rank);
    aq_put_u32(bytes, spec->tree.radix);
    aq_put_u32(bytes, spec->tree.timeout_ms);
    aq_put_u32(bytes, spec->tree.silence_ms);
    aq_put_u8(bytes, spec->output.label_lines);
    aq_put_u8(bytes, spec->output.line_buffer);
    aq_put_u8(bytes, spec->output.verbose);
    aq_put_u8(bytes, spec->output.quiet);
    aq_put_u8(bytes, spec->promiscuous);
    aq_put_u8(bytes, spec->workers);
    aq_put_u8(bytes, spec->direct);
    aq_put_u8(bytes, spec->rendezvous);
    aq_put_raw(bytes, spec->key, AQ_KEY_BYTES);
    aq_put_text(bytes, spec->remote.program);
    aq_put_text(bytes, spec->command.folder);
    aq_put_text(bytes, spec->remote.shell);
    aq_put_text(bytes, spec->remote.options);
    aq_put_text(bytes, spec->remote.ports);
    aq_put_u32(bytes, spec->launcher.pid);
    aq_put_text(bytes, spec->launcher.host != NULL ? spec->launcher.host : "");
    const uint32_t *machines = spec->machine_of_rank;
    put_runs(bytes, spec->host_of_rank, spec->size);
    aq_put_u8(bytes, machines != NULL);
    if (machines != NULL)
        put_runs(bytes, machines, spec->size);
    put_words(bytes, spec->command.argv);
    put_words(bytes, spec->command.environment);
}

static bool get_tables(aq_view_t *view, aq_spec_t *out)
{
    uint32_t places = out->host_count - out->spare;
    out->host_of_rank = get_runs(view, out->size, places);
    if (aq_get_u8(view) == 0)
        return out->host_of_rank != NULL;
    out->machine_of_rank = get_runs(view, out->size, places);
    return out->host_of_rank != NULL && out->machine_of_rank != NULL;
}

bool aq_read_spec(aq_view_t view, aq_spec_t *out)
{
    *out = (aq_spec_t){.size = aq_get_u32(&view), .host_count = aq_get_u32(&view)};
    out->spare = aq_get_u32(&view);
    out->reserve = aq_get_u32(&view);
    out->cpus_per_rank = aq_get_u32(&view);
    out->tree.radix = aq_get_u32(&view);
    out->tree.timeout_ms = aq_get_u32(&view);
    out->tree.silence_ms = aq_get_u32(&view);
    out->output.label_lines = aq_get_u8(&view) != 0;
    out->output.line_buffer = aq_get_u8(&view) != 0;
    out->output.verbose = aq_get_u8(&view) != 0;
    out->output.quiet = aq_get_u8(&view) != 0;
    out->promiscuous = aq_get_u8(&view) != 0;
    out->workers = aq_get_u8(&view) != 0;
    out->direct = aq_get_u8(&view) != 0;
    out->rendezvous = aq_get_u8(&view) != 0;
    (void)aq_get_bytes(&view, out->key, AQ_KEY_BYTES);
    out->remote.program = aq_get_text(&view);
    out->command.folder = aq_get_text(&view);
    out->remote.shell = aq_get_text(&view);
    out->remote.options = aq_get_text(&view);
    out->remote.ports = aq_get_text(&view);
    out->launcher.pid = aq_get_u32(&view);
    out->launcher.host = aq_get_text(&view);
    if (out->size < 1 || out->size > AQ_JOB_RANKS_MAX || out->spare >= out->host_count ||
        out->reserve >= out->size || !get_tables(&view, out))
        goto err_free;
    out->command.argv = get_words(&view);
    out->command.environment = get_words(&view);
    if (out->command.argv != NULL && out->command.argv[0] != NULL &&
        out->command.environment != NULL && aq_view_done(&view))
        return true;
err_free:
    aq_spec_free(out);
    return false;
}

void aq_spec_free(aq_spec_t *spec)
{
    free(spec->hosts);
    free(spec->daemons);
    free(spec->host_of_rank);
    free(spec->machine_of_rank);
    free(spec->command.argv);
    free(spec->command.environment);
    *spec = (aq_spec_t){0};
}

void aq_write_job(aq_bytes_t *bytes, const aq_job_message_t *job)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_JOB);
    aq_put_u32(bytes, job->low);
    aq_put_u32(bytes, job->high);
    aq_put_blob(bytes, job->hosts, job->hosts_bytes);
    aq_put_blob(bytes, job->spec, job->spec_bytes);
    aq_frame_end(bytes, begin);
}

bool aq_read_job(aq_view_t view, aq_job_message_t *out)
{
    out->low = aq_get_u32(&view);
    out->high = aq_get_u32(&view);
    out->hosts = aq_get_blob(&view, &out->hosts_bytes);
    out->spec = aq_get_blob(&view, &out->spec_bytes);
    return aq_view_done(&view) && out->low < out->high;
}

// ---- short messages ----

static void put_node_text(aq_bytes_t *bytes, const aq_node_text_t *text)
{
    aq_put_u32(bytes, text->node);
    aq_put_text(bytes, text->text);
}

static aq_node_text_t get_node_text(aq_view_t *view)
{
    uint32_t node = aq_get_u32(view);
    return (aq_node_text_t){node, aq_get_text(view)};
}

void aq_write_worker(aq_bytes_t *bytes, const aq_worker_t *worker)
{
    size_t frame = aq_frame_begin(bytes, AQ_MSG_WORKER);
    aq_put_text(bytes, worker->version);
    aq_put_text(bytes, worker->machine);
    aq_put_text(bytes, worker->space);
    aq_put_text(bytes, worker->attach_socket);
    aq_put_text(bytes, worker->host);
    aq_put_u32(bytes, worker->rank);
    aq_put_u32(bytes, worker->size);
    aq_frame_end(bytes, frame);
}

bool aq_read_worker(aq_view_t view, aq_worker_t *out)
{
    *out = (aq_worker_t){.machine = "", .space = "", .attach_socket = "", .host = ""};
    out->version = aq_get_text(&view);
    if (*out->version != '\0' && strcmp(out->version, PACKAGE_VERSION) != 0)
        return true;
    out->machine = aq_get_text(&view);
    out->space = aq_get_text(&view);
    out->attach_socket = aq_get_text(&view);
    out->host = aq_get_text(&view);
    out->rank = aq_get_u32(&view);
    out->size = aq_get_u32(&view);
    return aq_view_done(&view);
}

void aq_write_node_text(aq_bytes_t *bytes, aq_message_t type, const aq_node_text_t *text)
{
    size_t begin = aq_frame_begin(bytes, type);
    put_node_text(bytes, text);
    aq_frame_end(bytes, begin);
}

bool aq_read_node_text(aq_view_t view, aq_node_text_t *out)
{
    *out = get_node_text(&view);
    return aq_view_done(&view);
}

void aq_write_failed(aq_bytes_t *bytes, const aq_failed_t *failed)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_FAILED);
    aq_put_u32(bytes, failed->low);
    aq_put_u32(bytes, failed->high);
    aq_put_text(bytes, failed->why);
    aq_frame_end(bytes, begin);
}

bool aq_read_failed(aq_view_t view, aq_failed_t *out)
{
    out->low = aq_get_u32(&view);
    out->high = aq_get_u32(&view);
    out->why = aq_get_text(&view);
    return aq_view_done(&view) && out->low < out->high;
}

void aq_write_version(aq_bytes_t *bytes, const char *version)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_VERSION);
    aq_put_text(bytes, version);
    aq_frame_end(bytes, begin);
}

bool aq_read_version(aq_view_t view, const char **out)
{
    *out = aq_get_text(&view);
    return aq_view_done(&view);
}

void aq_write_go(aq_bytes_t *bytes, const aq_go_t *go)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_GO);
    put_node_text(bytes, &go->peer[0]);
    put_node_text(bytes, &go->peer[1]);
    put_runs(bytes, go->hosts, go->places);
    aq_frame_end(bytes, begin);
}

static bool is_ascending(const uint32_t *table, uint32_t size)
{
    uint32_t at = 1;
    while (at < size && table[at - 1] < table[at])
        at++;
    return at >= size;
}

bool aq_read_go(aq_view_t view, const aq_spec_t *spec, aq_go_t *out)
{
    out->peer[0] = get_node_text(&view);
    out->peer[1] = get_node_text(&view);
    out->places = spec->host_count - spec->spare;
    out->hosts = get_runs(&view, out->places, spec->host_count);
    if (out->hosts != NULL && is_ascending(out->hosts, out->places) && aq_view_done(&view))
        return true;
    aq_go_free(out);
    return false;
}

void aq_go_free(aq_go_t *go)
{
    free(go->hosts);
    go->hosts = NULL;
}

uint32_t aq_go_place(const aq_go_t *go, uint32_t host)
{
    uint32_t from = 0, to = go->places;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (go->hosts[middle] < host)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

bool aq_go_has(const aq_go_t *go, uint32_t low, uint32_t high)
{
    return aq_go_place(go, low) < aq_go_place(go, high);
}

void aq_write_again(aq_bytes_t *bytes, const aq_again_t *again)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_AGAIN);
    aq_put_u32(bytes, again->low);
    aq_put_u32(bytes, again->high);
    aq_put_u32(bytes, again->failed);
    aq_frame_end(bytes, begin);
}

bool aq_read_again(aq_view_t view, aq_again_t *out)
{
    out->low = aq_get_u32(&view);
    out->high = aq_get_u32(&view);
    out->failed = aq_get_u32(&view);
    return aq_view_done(&view) && out->low < out->high && out->failed <= out->high - out->low;
}

void aq_write_output(aq_bytes_t *bytes, const aq_output_t *output)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_OUTPUT);
    aq_put_u32(bytes, output->node);
    aq_put_u8(bytes, output->stream);
    aq_put_raw(bytes, output->data, output->length);
    aq_frame_end(bytes, begin);
}

bool aq_read_output(aq_view_t view, aq_output_t *out)
{
    out->node = aq_get_u32(&view);
    out->stream = aq_get_u8(&view);
    out->length = view.left;
    out->data = aq_get_raw(&view, view.left);
    return aq_view_done(&view) && out->stream < AQ_OUTPUT_STREAMS;
}

void aq_write_input(aq_bytes_t *bytes, const void *data, size_t length)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_INPUT);
    aq_put_raw(bytes, data, length);
    aq_frame_end(bytes, begin);
}

void aq_write_empty(aq_bytes_t *bytes, aq_message_t type)
{
    aq_frame_end(bytes, aq_frame_begin(bytes, type));
}

void aq_write_number(aq_bytes_t *bytes, aq_message_t type, uint32_t number)
{
    size_t begin = aq_frame_begin(bytes, type);
    aq_put_u32(bytes, number);
    aq_frame_end(bytes, begin);
}

bool aq_read_number(aq_view_t view, uint32_t *out)
{
    *out = aq_get_u32(&view);
    return aq_view_done(&view);
}

void aq_write_end(aq_bytes_t *bytes, aq_message_t type, const aq_end_t *end)
{
    size_t begin = aq_frame_begin(bytes, type);
    aq_put_u8(bytes, end->now);
    aq_put_u32(bytes, end->code);
    aq_frame_end(bytes, begin);
}

bool aq_read_end(aq_view_t view, aq_end_t *out)
{
    out->now = aq_get_u8(&view) != 0;
    out->code = aq_get_u32(&view);
    return aq_view_done(&view) && out->code <= UINT8_MAX;
}

void aq_write_done(aq_bytes_t *bytes, const aq_done_t *done)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_DONE);
    aq_put_u32(bytes, done->node);
    aq_put_u32(bytes, done->code);
    aq_frame_end(bytes, begin);
}

bool aq_read_done(aq_view_t view, aq_done_t *out)
{
    out->node = aq_get_u32(&view);
    out->code = aq_get_u32(&view);
    return aq_view_done(&view) && out->code <= UINT8_MAX;
}

void aq_write_page_place(aq_bytes_t *bytes, const aq_page_place_t *place)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_START);
    aq_put_u32(bytes, place->pid);
    aq_put_u32(bytes, place->fd);
    aq_put_u64(bytes, place->inode);
    aq_put_text(bytes, place->answer);
    aq_frame_end(bytes, begin);
}

bool aq_read_page_place(aq_view_t view, aq_page_place_t *out)
{
    out->pid = aq_get_u32(&view);
    out->fd = aq_get_u32(&view);
    out->inode = aq_get_u64(&view);
    out->answer = aq_get_text(&view);
    return aq_view_done(&view) && out->pid <= INT32_MAX && out->fd <= INT32_MAX;
}

void aq_write_fault(aq_bytes_t *bytes, const aq_fault_t *fault)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_FAULT);
    aq_put_u32(bytes, fault->ranks);
    aq_put_text(bytes, fault->text);
    aq_frame_end(bytes, begin);
}

bool aq_read_fault(aq_view_t view, aq_fault_t *out)
{
    out->ranks = aq_get_u32(&view);
    out->text = aq_get_text(&view);
    return aq_view_done(&view) && out->ranks >= 1 && out->ranks <= AQ_JOB_RANKS_MAX;
}

void aq_write_query(aq_bytes_t *bytes, const aq_query_t *query)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_QUERY);
    aq_put_u32(bytes, query->number);
    aq_put_u8(bytes, query->what);
    aq_put_u32(bytes, query->rank);
    aq_frame_end(bytes, begin);
}

bool aq_read_query(aq_view_t view, aq_query_t *out)
{
    out->number = aq_get_u32(&view);
    out->what = aq_get_u8(&view);
    out->rank = aq_get_u32(&view);
    return aq_view_done(&view);
}

void aq_write_reader_query(aq_bytes_t *bytes, const aq_reader_query_t *query)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_READER_QUERY);
    aq_put_u32(bytes, query->host);
    aq_put_u32(bytes, query->tag);
    aq_put_u8(bytes, query->what);
    aq_put_u32(bytes, query->rank);
    aq_frame_end(bytes, begin);
}

bool aq_read_reader_query(aq_view_t view, aq_reader_query_t *out)
{
    out->host = aq_get_u32(&view);
    out->tag = aq_get_u32(&view);
    out->what = aq_get_u8(&view);
    out->rank = aq_get_u32(&view);
    return aq_view_done(&view);
}

void aq_write_reader_reply(aq_bytes_t *bytes, const aq_reader_reply_t *reply)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_READER_REPLY);
    aq_put_u32(bytes, reply->host);
    aq_put_u32(bytes, reply->tag);
    aq_put_u8(bytes, reply->type);
    aq_put_raw(bytes, reply->data, reply->length);
    aq_frame_end(bytes, begin);
}

bool aq_read_reader_reply(aq_view_t view, aq_reader_reply_t *out)
{
    out->host = aq_get_u32(&view);
    out->tag = aq_get_u32(&view);
    out->type = aq_get_u8(&view);
    out->data = view.at;
    out->length = view.left;
    return !view.bad;
}
