// SPDX-License-Identifier: BSD-3-Clause
// Numbers as texts and as colours.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { AQ_VIEW_LEVELS = 32, AQ_VIEW_TEXT = 32 };

// A logarithmic scale from the smallest to the largest number that is not 0.
typedef struct aq_view_scale {
    uint64_t low, high; // both 0: there is none
} aq_view_scale_t;

void aq_view_scale_add(aq_view_scale_t *scale, uint64_t value);

// The place of a number that is not 0, from 0.0 to 1.0; 1.0 if all are the same.
double aq_view_scale_place(const aq_view_scale_t *scale, uint64_t value);
// The same in steps, from 0 to AQ_VIEW_LEVELS - 1.
unsigned aq_view_scale_level(const aq_view_scale_t *scale, uint64_t value);

// The colour of a level, 0xrrggbb. They get darker from level to level, so that people who do not
// tell colours apart, and printers without colours, see their order.
uint32_t aq_view_colour(unsigned level);
bool aq_view_colour_is_dark(unsigned level);

// "1.5 MiB" for bytes, else "1.5M"; short_form: "1.5M" for both. Returns text.
const char *aq_view_number(uint64_t value, bool bytes, bool short_form, char text[AQ_VIEW_TEXT]);
