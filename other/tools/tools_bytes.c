// SPDX-License-Identifier: BSD-3-Clause
// Counts zero bytes and computes a checksum, eight bytes at a time.
#include <string.h>

#include "gasnet_tools.h"

// A word of the first count bytes. The other bytes are 0xff, so that they are not counted as zero.
static uint64_t load_tail(const char *from, size_t count)
{
    uint64_t word = ~UINT64_C(0);
    memcpy(&word, from, count);
    return word;
}

size_t gasnett_count0s(const void *p, size_t numbytes)
{
    const char *from = p;
    size_t zeros = 0;
    uint64_t word;
    for (; numbytes >= sizeof word; numbytes -= sizeof word, from += sizeof word) {
        memcpy(&word, from, sizeof word);
        zeros += (size_t)gasnett_count0s_uint64_t(word);
    }
    return zeros + (size_t)gasnett_count0s_uint64_t(load_tail(from, numbytes));
}

size_t gasnett_count0s_copy(void *restrict dst, const void *restrict src, size_t numbytes)
{
    const char *from = src;
    char *to = dst;
    size_t zeros = 0;
    uint64_t word;
    for (; numbytes >= sizeof word; numbytes -= sizeof word, from += sizeof word) {
        memcpy(&word, from, sizeof word);
        memcpy(to, &word, sizeof word);
        to += sizeof word;
        zeros += (size_t)gasnett_count0s_uint64_t(word);
    }
    memcpy(to, from, numbytes);
    return zeros + (size_t)gasnett_count0s_uint64_t(load_tail(from, numbytes));
}

// Multiplies each word by an odd number, which loses nothing, and then folds the well-mixed upper
// half into the lower half.
static uint64_t checksum_mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 32;
}

uint64_t gasnett_checksum(const void *p, int numbytes)
{
    const char *from = p;
    uint64_t sum = (uint64_t)numbytes;
    uint64_t word;
    for (; numbytes >= (int)sizeof word; numbytes -= (int)sizeof word, from += sizeof word) {
        memcpy(&word, from, sizeof word);
        sum = checksum_mix(sum, word);
    }
    return checksum_mix(sum, numbytes > 0 ? load_tail(from, (size_t)numbytes) : 0);
}
