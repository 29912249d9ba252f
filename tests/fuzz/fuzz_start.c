// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of the input during the start of a job: frames, messages, collective steps. Invariants: no
// reader reads past the end of the input, and every accepted value is legal.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../spawner/wire/gather.h"
#include "../../spawner/universe/universe_table.h"
#include "fuzz_check.h"

#define RANKS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_handshake(const aq_frame_t *frame)
{
    aq_intro_t intro;
    aq_hello_t hello;
    aq_challenge_t challenge;
    uint8_t tag[AQ_AUTH_BYTES];
    if (aq_read_intro(frame->payload, &intro))
        require(intro.port <= UINT16_MAX && strlen(intro.address) < frame->payload.left);
    (void)aq_read_hello(frame->payload, &hello);
    (void)aq_read_challenge(frame->payload, &challenge);
    (void)aq_read_auth(frame->payload, tag);
}

static size_t total_length(char *const *words)
{
    size_t length = 0;
    for (; *words != NULL; words++)
        length += strlen(*words);
    return length;
}

static void read_job(const aq_frame_t *frame)
{
    aq_job_message_t job;
    aq_spec_t spec;
    aq_view_t view = frame->payload;
    if (aq_read_job(view, &job)) {
        require(job.low < job.high);
        aq_spec_t named = {0};
        if (aq_read_hosts((aq_view_t){.at = job.hosts, .left = job.hosts_bytes}, job.low, job.high,
                          &named))
            require(strlen(aq_spec_host(&named, job.high - 1)->name) < job.hosts_bytes);
        aq_spec_free(&named);
        view = (aq_view_t){.at = job.spec, .left = job.spec_bytes};
    }
    if (!aq_read_spec(view, &spec))
        return;
    for (uint32_t r = 0; r < spec.size; r++)
        require(spec.host_of_rank[r] < spec.host_count - spec.spare &&
                (spec.machine_of_rank == NULL ||
                 spec.machine_of_rank[r] < spec.host_count - spec.spare));
    require(spec.command.argv[0] != NULL &&
            total_length(spec.command.argv) + total_length(spec.command.environment) < view.left);
    aq_spec_free(&spec);
}

static void read_running(const aq_frame_t *frame)
{
    aq_node_text_t text;
    aq_go_t go;
    aq_failed_t failed;
    aq_again_t again;
    const aq_spec_t spares = {.host_count = 9, .spare = 3};
    aq_output_t output;
    aq_end_t end;
    aq_done_t done;
    aq_fault_t fault;
    aq_worker_t worker;
    aq_page_place_t place;
    aq_query_t look;
    aq_reader_query_t asker;
    aq_reader_reply_t told;
    uint32_t number;
    (void)aq_read_query(frame->payload, &look);
    (void)aq_read_reader_query(frame->payload, &asker);
    if (aq_read_reader_reply(frame->payload, &told))
        require(told.type < 256 && told.length < frame->payload.left &&
                told.data + told.length == frame->payload.at + frame->payload.left);
    if (aq_read_worker(frame->payload, &worker))
        require(strlen(worker.machine) + strlen(worker.host) + strlen(worker.attach_socket) <
                frame->payload.left);
    if (aq_read_page_place(frame->payload, &place))
        require(place.pid <= INT32_MAX && place.fd <= INT32_MAX);
    if (aq_read_node_text(frame->payload, &text))
        require(strlen(text.text) < frame->payload.left);
    if (aq_read_failed(frame->payload, &failed))
        require(failed.low < failed.high && strlen(failed.why) < frame->payload.left);
    if (aq_read_again(frame->payload, &again))
        require(again.failed <= again.high - again.low);
    if (aq_read_go(frame->payload, &spares, &go)) {
        require(strlen(go.peer[1].text) < frame->payload.left && go.hosts[5] < 9);
        aq_go_free(&go);
    }
    if (aq_read_output(frame->payload, &output))
        require(output.stream < AQ_OUTPUT_STREAMS && output.length < frame->payload.left);
    if (aq_read_end(frame->payload, &end))
        require(end.code < 256);
    if (aq_read_done(frame->payload, &done))
        require(done.code < 256);
    if (aq_read_fault(frame->payload, &fault))
        require(fault.ranks > 0 && strlen(fault.text) < frame->payload.left);
    (void)aq_read_number(frame->payload, &number);
}

static void read_universe(const aq_frame_t *frame)
{
    aq_table_t table = {0};
    aq_join_config_t config;
    aq_join_t join;
    uint8_t key[AQ_KEY_BYTES];
    const char *version;
    uint32_t self;
    if (aq_read_table(frame->payload, &table, &self))
        for (uint32_t i = 0; i < table.count; i++)
            require(table.rows[i].number < table.next && table.rows[i].name[0] != '-' &&
                    (i == 0 || table.rows[i - 1].number < table.rows[i].number));
    aq_table_free(&table);
    if (aq_read_join_config(frame->payload, &config))
        require(config.port <= UINT16_MAX && strlen(config.universe) < frame->payload.left);
    if (aq_read_join(frame->payload, &join))
        require(join.member.port > 0 && join.member.name[0] != '\0');
    if (aq_read_version(frame->payload, &version))
        require(strlen(version) < frame->payload.left);
    (void)aq_read_key(frame->payload, key);
}

static void read_step(const aq_frame_t *frame, aq_gather_t *gather)
{
    aq_gathered_t part;
    aq_bytes_t all = {0};
    (void)aq_read_gathered(frame->payload, AQ_MSG_SPREAD, RANKS, &part);
    if (!aq_read_gathered(frame->payload, AQ_MSG_GATHER, RANKS, &part) ||
        !aq_gather_add(gather, &part))
        return;
    if (aq_gather_union(gather, &all) && gather->step.kind == AQ_STEP_EXCHANGE)
        require(all.used == (size_t)RANKS * gather->step.part);
    if (aq_gather_complete(gather))
        aq_gather_reset(gather);
    aq_bytes_free(&all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    aq_gather_t gather = {.size = RANKS, .expected = 3};
    aq_frame_t frame;
    while (aq_frame_read(data, size, AQ_FRAME_MAX, &frame) == AQ_FRAME_WHOLE) {
        require(frame.bytes <= size);
        read_handshake(&frame);
        read_job(&frame);
        read_running(&frame);
        read_universe(&frame);
        read_step(&frame, &gather);
        data += frame.bytes;
        size -= frame.bytes;
    }
    aq_bytes_free(&gather.data);
    return 0;
}
