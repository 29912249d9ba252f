// SPDX-License-Identifier: BSD-3-Clause
// Parses numbers, sizes and segment limits from the user's text, and finds the size of this
// machine.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// A memory limit as in GASNET_MAX_SEGSIZE: "4GB", "512M/P", "0.85", "0.5/H", "2/3". A number with a
// decimal point and without a unit, and a quotient, is a fraction above 0 and up to 1; any other
// number is in bytes, at least 1.
typedef struct aq_size_limit {
    uint64_t bytes;  // used when fraction is 0
    double fraction; // of the physical memory of the host; 0: absolute
    // "/H": for all processes of the host together, including the runtime's own memory; otherwise
    // for each process.
    bool per_host;
} aq_size_limit_t;

// Each returns true if the whole text is legal (blanks around it and before a unit are allowed);
// otherwise *out does not change. NULL is not legal.

// Decimal, or hexadecimal after 0x; an overflow is not legal.
bool aq_size_parse_int(const char *text, int64_t *out);
// 1 y yes true on, or 0 n no false off, in any case.
bool aq_size_parse_bool(const char *text, bool *out);
// A finite decimal number.
bool aq_size_parse_real(const char *text, double *out);
// 4096, 64K, 64KB, 1.5M, 2G, 1T: powers of 1024, in any case.
bool aq_size_parse_bytes(const char *text, uint64_t *out);
bool aq_size_parse_limit(const char *text, aq_size_limit_t *out);

// Physical memory of this host in bytes, limited by the control group of this process and the
// groups above it.
uint64_t aq_size_physical_memory(void);

// Number of processors that this process may run on; at least 1.
unsigned aq_size_processors(void);
