// SPDX-License-Identifier: BSD-3-Clause
// Writes the traffic matrix of this rank: its lines when the rank leaves (exit.c), and snapshots in
// the handler of GASNET_TRAFFIC_SIGNAL. client.c opens the file at init.
#include "traffic_file.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/minmax.h"
#include "../../other/base/system/own_process.h"
#include "../../other/base/settings/settings.h"
#include "../../other/base/settings/settings_lists.h"
#include "../../other/observe/format/traffic_format.h"
#include "../state/job.h"
#include "../state/job_groups.h"
#include "../record/observe_file.h"
#include "report.h"
#include "../record/traffic.h"

#define NAME "GASNET_TRAFFIC"

enum { LINE_BYTES = 1024, BUFFER_BYTES = 64 << 10 };

static int file = -1;

// ---- lines ----

// What this rank counted for another one, in all threads and on all endpoints.
typedef struct sum {
    uint64_t sent[AQ_PEER_COUNTS], arrived[AQ_ARRIVED], trouble[AQ_TROUBLES];
} sum_t;

static void record_add(uint32_t jobrank, const aq_peer_record_t *record, void *context)
{
    sum_t *sum = (sum_t *)context + jobrank;
    for (unsigned i = 0; i < AQ_PEER_COUNTS; i++)
        sum->sent[i] += atomic_load_explicit(&record->endpoint0[i], memory_order_relaxed) +
                        atomic_load_explicit(&record->further[i], memory_order_relaxed);
    for (unsigned i = 0; i < AQ_ARRIVED; i++)
        sum->arrived[i] += atomic_load_explicit(&record->arrived[i], memory_order_relaxed);
    for (unsigned i = 0; i < AQ_TROUBLES; i++)
        sum->trouble[i] += atomic_load_explicit(&record->trouble[i], memory_order_relaxed);
}

static bool sum_is_zero(const sum_t *sum)
{
    static const sum_t zero;
    return memcmp(sum, &zero, sizeof zero) == 0;
}

// The columns behind the hosts, in the order of the title.
static size_t columns_write(const sum_t *sum, unsigned snapshot, char *line, size_t size)
{
    static const aq_count_t order[AQ_PEER_COUNTS] = {
        AQ_COUNT_REQUEST_SHORT, AQ_COUNT_REQUEST_MEDIUM,
        AQ_COUNT_REQUEST_LONG,  AQ_COUNT_REQUEST_BYTES,
        AQ_COUNT_REPLY_SHORT,   AQ_COUNT_REPLY_MEDIUM,
        AQ_COUNT_REPLY_LONG,    AQ_COUNT_REPLY_BYTES,
        AQ_COUNT_PUT,           AQ_COUNT_PUT_BYTES,
        AQ_COUNT_GET,           AQ_COUNT_GET_BYTES,
        AQ_COUNT_ATOMIC,        AQ_COUNT_VIS_PUT,
        AQ_COUNT_VIS_PUT_BYTES, AQ_COUNT_VIS_GET,
        AQ_COUNT_VIS_GET_BYTES, AQ_COUNT_SEND,
        AQ_COUNT_SEND_BYTES,    AQ_COUNT_STREAM,
        AQ_COUNT_STREAM_BYTES,  AQ_COUNT_COLL,
        AQ_COUNT_COLL_BYTES};
    static const aq_arrived_t arrivals[AQ_ARRIVED] = {
        AQ_ARRIVED_REQUESTS, AQ_ARRIVED_REQUEST_BYTES, AQ_ARRIVED_REPLIES, AQ_ARRIVED_REPLY_BYTES,
        AQ_ARRIVED_SENDS,    AQ_ARRIVED_SEND_BYTES,    AQ_ARRIVED_STREAMS, AQ_ARRIVED_STREAM_BYTES};
    size_t length = 0;
    for (unsigned i = 0; i < AQ_PEER_COUNTS; i++)
        length += (size_t)snprintf(line + length, size - length, ",%" PRIu64, sum->sent[order[i]]);
    for (unsigned i = 0; i < AQ_ARRIVED; i++)
        length +=
            (size_t)snprintf(line + length, size - length, ",%" PRIu64, sum->arrived[arrivals[i]]);
    return length + (size_t)snprintf(line + length, size - length, ",%" PRIu64 ",%" PRIu64 ",%u\n",
                                     sum->trouble[AQ_TROUBLE_NO_ROOM],
                                     sum->trouble[AQ_TROUBLE_RESENT], snapshot);
}

// Returns the length of the line for a rank. snapshot: 0 at the end of the job.
static size_t line_write(uint32_t to, const sum_t *sum, const aq_group_numbers_t *groups,
                         unsigned snapshot, char line[LINE_BYTES])
{
    const size_t length = (size_t)snprintf(line, LINE_BYTES, "%u,%u,%u,%u", aq_job.rank, to,
                                           groups[aq_job.rank].host, groups[to].host);
    return length + columns_write(sum, snapshot, line + length, LINE_BYTES - length);
}

// Writes whole lines at once, as other ranks do: the file is open for appending. Returns 0 or
// errno.
static int lines_write(const sum_t *sums, const aq_group_numbers_t *groups, char *buffer)
{
    size_t length = 0;
    for (uint32_t to = 0; to < aq_job.size; to++) {
        if (sum_is_zero(&sums[to]))
            continue;
        length += line_write(to, &sums[to], groups, 0, buffer + length);
        if (length + LINE_BYTES <= BUFFER_BYTES)
            continue;
        const int error = aq_observe_file_write(file, buffer, length);
        if (error)
            return error;
        length = 0;
    }
    return aq_observe_file_write(file, buffer, length);
}

// Returns 0 or errno.
static int rows_write(void)
{
    sum_t *sums = calloc(aq_job.size, sizeof *sums);
    aq_group_numbers_t *groups = aq_job_group_numbers();
    char *buffer = malloc(BUFFER_BYTES);
    int error = ENOMEM;
    if (sums && groups && buffer) {
        aq_counts_each_peer(record_add, sums);
        error = lines_write(sums, groups, buffer);
    }
    free(sums);
    free(groups);
    free(buffer);
    return error;
}

void aq_traffic_write(void)
{
    static atomic_flag written;
    if (file < 0 || atomic_flag_test_and_set(&written))
        return;
    const int error = rows_write();
    if (error)
        aq_log_warn(NAME "=%s: cannot write the lines of this rank: %s; the matrix lacks them",
                    aq_settings_text(AQ_SET_TRAFFIC), strerror(error));
}

// ---- snapshots ----

static const aq_group_numbers_t *groups_at_start; // never freed: a handler of a signal reads it

// Returns the length of the lines for some ranks.
static size_t records_write(uint32_t first, uint32_t count, const aq_peer_record_t *records,
                            unsigned snapshot, char *buffer)
{
    size_t length = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum_t sum = {0};
        record_add(0, &records[i], &sum);
        if (!sum_is_zero(&sum))
            length += line_write(first + i, &sum, groups_at_start, snapshot, buffer + length);
    }
    return length;
}

// Returns 0 or errno.
static int snapshot_write(unsigned snapshot)
{
    static char buffer[AQ_PEER_READ * LINE_BYTES];
    static aq_peer_record_t records[AQ_PEER_READ];
    int error = 0;
    for (uint32_t first = 0; first < aq_job.size && !error; first += AQ_PEER_READ) {
        const uint32_t count = (uint32_t)aq_min(AQ_PEER_READ, aq_job.size - first);
        if (!aq_peer_read(first, count, records))
            return ENOTSUP;
        error = aq_observe_file_write(file, buffer,
                                      records_write(first, count, records, snapshot, buffer));
    }
    return error;
}

// Runs in a handler of a signal, so that a rank that hangs writes its lines, too.
static void snapshot_take(void)
{
    static atomic_flag busy;
    static unsigned taken;
    if (file < 0 || atomic_flag_test_and_set(&busy))
        return;
    const int error = snapshot_write(++taken);
    atomic_flag_clear(&busy);
    if (error)
        aq_log_warn(NAME "=%s: cannot write the lines of snapshot %u: %s; the matrix lacks them",
                    aq_settings_text(AQ_SET_TRAFFIC), taken, strerror(error));
}

static void on_snapshot_signal(int number)
{
    const int saved = errno;
    (void)number;
    if (aq_own_process())
        snapshot_take();
    errno = saved;
}

// A signal that also asks for the report gets both.
static void signals_catch(void)
{
    const struct sigaction action = {.sa_handler = on_snapshot_signal, .sa_flags = SA_RESTART};
    const char *list = aq_settings_text(AQ_SET_TRAFFIC_SIGNAL);
    struct sigaction old;
    bool reported = false;
    groups_at_start = list[0] ? aq_job_group_numbers() : NULL;
    for (int number; groups_at_start && (number = aq_settings_next_signal(&list)) > 0;)
        if (aq_report_has_signal(number))
            reported = true;
        else if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(number, &action, NULL);
    if (reported)
        aq_report_add(snapshot_take);
}

// ---- start ----

void aq_traffic_start(void)
{
    const char *path = aq_settings_text(AQ_SET_TRAFFIC);
    aq_traffic_on = path[0] != '\0';
    if (!aq_traffic_on)
        return;
    file = aq_observe_path_open(NAME, path, AQ_TRAFFIC_TITLE "\n", aq_job.host.my_index == 0);
    signals_catch();
}
