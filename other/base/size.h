// Parsing of numbers, sizes and segment limits from text of the user.
#ifndef AQ_SIZE_H
#define AQ_SIZE_H

#include <stdbool.h>
#include <stdint.h>

// A limit of memory as GASNET_MAX_SEGSIZE spells it: "4GB", "512M/P", "0.85", "0.5/H", "2/3". A
// number with a point and no unit, and a quotient, is a fraction, above 0 and up to 1; other
// numbers are bytes, at least 1.
typedef struct aq_size_limit {
    uint64_t bytes;  // used when fraction is 0
    double fraction; // of the physical memory of the host; 0: absolute
    bool
        per_host; // "/H": for the whole host, with the runtime's own objects; else for each process
} aq_size_limit_t;

// Each returns true when the whole text is legal (blanks around it are allowed, and before a unit)
// and leaves *out alone otherwise. text NULL is not legal.
bool aq_size_parse_int(const char *text,
                       int64_t *out); // decimal, or hexadecimal after 0x; overflow is not legal
bool aq_size_parse_bool(const char *text,
                        bool *out); // 1 y yes true on / 0 n no false off, any case
bool aq_size_parse_real(const char *text, double *out); // finite decimal number
bool aq_size_parse_bytes(const char *text,
                         uint64_t *out); // 4096, 64K, 64KB, 1.5M, 2G, 1T: powers of 1024, any case
bool aq_size_parse_limit(const char *text, aq_size_limit_t *out);

// Physical memory of this host in bytes, no more than the memory limit of its control group
// and of the groups above it.
uint64_t aq_size_physical_memory(void);

// Processors this process may run on; at least 1.
unsigned aq_size_processors(void);

#endif
