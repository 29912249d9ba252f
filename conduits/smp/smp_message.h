// How a message lies in its run of lines.
//
//     flag 8 | word 4 | source 4 | arguments, 4 bytes each, padded to 16 |  Medium: payload
//                                                                        |  Long: dest 8, nbytes 8,
//                                                   payload, unless the sender put it into its
//                                                   place
//
// A Short with up to 12 arguments, or a Medium with few arguments and a few words, is one line.
#ifndef AQ_SMP_MESSAGE_H
#define AQ_SMP_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "smp_ring.h"

#define SMP_MAX_MEDIUM ((size_t)64 << 10)
#define SMP_SKIP 3u // in place of a category: nothing to deliver; nbytes counts the lines

typedef struct smp_long {
    void *dest; // in the receiver
    uint64_t nbytes;
} smp_long_t;

// The word packs handler (8 bits), nargs (5), category (2) and the bytes of payload inside (17).
static inline uint32_t smp_word(unsigned handler, unsigned nargs, unsigned category, size_t nbytes)
{
    return (uint32_t)(handler | nargs << 8 | category << 13 | (uint32_t)nbytes << 15);
}
static inline unsigned smp_word_handler(uint32_t word)
{
    return word & 0xff;
}
static inline unsigned smp_word_nargs(uint32_t word)
{
    return word >> 8 & 0x1f;
}
static inline unsigned smp_word_category(uint32_t word)
{
    return word >> 13 & 3;
}
static inline size_t smp_word_nbytes(uint32_t word)
{
    return word >> 15;
}

static inline int32_t *smp_args(smp_header_t *header)
{
    return (int32_t *)(void *)(header + 1);
}

// Where the payload or the smp_long_t begins.
static inline size_t smp_body_offset(unsigned nargs)
{
    return sizeof(smp_header_t) + ((nargs * sizeof(int32_t) + 15) & ~(size_t)15);
}
static inline void *smp_body(smp_header_t *header, unsigned nargs)
{
    return (char *)header + smp_body_offset(nargs);
}

static inline uint64_t smp_lines(unsigned nargs, unsigned category, size_t nbytes)
{
    size_t bytes = smp_body_offset(nargs);
    if (category == AQ_AM_LONG)
        bytes += sizeof(smp_long_t);
    bytes += nbytes;
    return (bytes + SMP_LINE - 1) / SMP_LINE;
}

// Lines of a message that has arrived.
static inline uint64_t smp_word_lines(uint32_t word)
{
    if (smp_word_category(word) == SMP_SKIP)
        return smp_word_nbytes(word);
    return smp_lines(smp_word_nargs(word), smp_word_category(word), smp_word_nbytes(word));
}

#endif
