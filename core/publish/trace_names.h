// SPDX-License-Identifier: BSD-3-Clause
// The names of events and of their categories, and what users call them: words of GASNET_TRACE,
// letters of GASNet's masks (GASNET_TRACEMASK, GASNET_STATSMASK).
#pragma once

#include <stdint.h>

#include "../record/trace.h"

typedef struct aq_trace_name {
    const char *name, *category; // as written to the file
} aq_trace_name_t;
// Of the kinds below AQ_TRACED_VISIBLE.
extern const aq_trace_name_t aq_trace_names[AQ_TRACED_VISIBLE];

// All words of aq_trace_read_words, for messages.
extern const char aq_trace_words[];

// Reads categories: words, or their first letters, separated by commas. Returns NULL, or the part
// of the text that is no category.
const char *aq_trace_read_words(const char *text, uint32_t *categories);

enum { AQ_MASK_LETTERS = 26 };

// The letters of GASNet's masks.
extern const char aq_mask_all[];

// Reads a mask: letters, or with ^ in front all others; "": all. Writes the letters of *aq_mask_all
// that it has to letters, U among them always. Returns the first character that is no such letter,
// or 0.
char aq_mask_read(const char *mask, char letters[AQ_MASK_LETTERS]);

// The categories of events of these letters. Writes those that have no events here to `without`, if
// that is not NULL.
uint32_t aq_mask_categories(const char *letters, char without[AQ_MASK_LETTERS]);
