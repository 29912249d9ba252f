// SPDX-License-Identifier: BSD-3-Clause
// What gasnet_top writes without a screen: text, JSON, and the text exposition format.
#pragma once

#include <stdio.h>

#include "job_watch.h"

// What a rank has sent, in all or in a second.
typedef struct aq_top_numbers {
    double messages, message_bytes, puts, put_bytes, gets, get_bytes, atomics;
} aq_top_numbers_t;
aq_top_numbers_t aq_top_totals(const aq_watched_rank_t *rank);
aq_top_numbers_t aq_top_rates(const aq_watched_job_t *job, const aq_watched_rank_t *rank);

// "runs", "is stopped" ...: the process and how far the rank has come.
const char *aq_top_state(const aq_watched_rank_t *rank);

// The pair of ranks of which one has waited longest for the other: for room to send to it, or for a
// message with two sides. Returns false if none waits for another.
typedef struct aq_top_pair {
    uint32_t waits, for_rank;
    uint64_t waited;
} aq_top_pair_t;
bool aq_top_slowest(const aq_watched_job_t *job, uint64_t now, aq_top_pair_t *pair);

// "1.2 G": at most five characters.
const char *aq_top_short(double number, char text[16]);

// What a rank has counted of itself: "polls: 12 found something, 300 nothing, 4 times no room";
// "3 forged, 1 stale", or "" if it has dropped nothing. Both return text.
enum { AQ_TOP_OWN = 400 };
const char *aq_top_polls(const aq_watched_rank_t *rank, char text[AQ_TOP_OWN]);
const char *aq_top_drops(const aq_watched_rank_t *rank, char text[AQ_TOP_OWN]);
// The share of the polls since the reading before that found something, in percent; "-": none is
// counted. Returns text.
const char *aq_top_poll_share(const aq_watched_job_t *job, const aq_watched_rank_t *rank,
                              char text[16]);
// The number of messages, packets and data that a rank has dropped, for any reason.
uint64_t aq_top_dropped(const aq_watched_rank_t *rank);

// The conduits of a rank: "smp, udp 127.0.0.1:4711".
const char *aq_top_networks(const aq_seen_rank_t *seen, char *text, size_t size);

// Each returns false if memory is out or the file cannot be written.
bool aq_top_write_text(const aq_watched_job_t *job, FILE *out);
bool aq_top_write_json(const aq_watched_job_t *job, FILE *out);
bool aq_top_write_prometheus(const aq_watched_job_t *job, FILE *out);
