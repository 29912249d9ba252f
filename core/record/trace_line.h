// SPDX-License-Identifier: BSD-3-Clause
// The line through samples of another clock.
#pragma once

#include <stdint.h>

enum { AQ_SAMPLES = 64, AQ_SLEW_PPM = 500 };

typedef struct aq_sample {
    uint64_t time;  // own, in the middle of the round trip
    int64_t offset; // of the other clock, in nanoseconds
    uint64_t error; // half of the round trip: the true offset is at most that far away
} aq_sample_t;

typedef struct aq_samples {
    aq_sample_t sample[AQ_SAMPLES]; // by time
    unsigned count;
} aq_samples_t;

// The offset at time t is offset + drift * (t - since).
typedef struct aq_line {
    uint64_t since;
    int64_t offset;
    int64_t drift_ppb;
} aq_line_t;

// Keeps a sample; if there is no room, forgets each second one, but the first.
void aq_samples_add(aq_samples_t *samples, const aq_sample_t *sample);

// The line through the best sample of the earlier half and that of the later half; without drift
// as long as that could be the errors of both. At least one sample exists.
aq_line_t aq_samples_line(const aq_samples_t *samples);

// The bound of the error of that line from the first sample until `now`, in nanoseconds, if clocks
// drift by at most AQ_SLEW_PPM between samples.
uint64_t aq_samples_error(const aq_samples_t *samples, uint64_t now);

// The offset at a time.
int64_t aq_line_at(const aq_line_t *line, uint64_t time);
