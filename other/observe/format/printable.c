// SPDX-License-Identifier: BSD-3-Clause
// Checks the bytes of UTF-8 in place. The readers of rank files and of /proc pass every text of
// another process through here.
#include "printable.h"

#include <stdbool.h>
#include <stddef.h>

// Bytes of a character by its first byte; 0: none begins so.
static size_t character_length(unsigned char first)
{
    if (first < 0x80)
        return 1;
    return first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

// Whether the character is as short as it can be, no surrogate, no control character, and not
// beyond U+10FFFF (RFC 3629).
static bool second_fits(unsigned char first, unsigned char second)
{
    const unsigned char least = first == 0xc2 || first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return second >= least && second <= most;
}

// Bytes of the printable character of UTF-8 with which a text begins; 0: there is none.
static size_t printable_length(const unsigned char *text)
{
    const size_t length = character_length(text[0]);
    if (length == 1)
        return text[0] >= ' ' && text[0] != 0x7f;
    if (length == 0 || !second_fits(text[0], text[1]))
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

void aq_printable_make(char *text)
{
    while (*text) {
        const size_t length = printable_length((const unsigned char *)text);
        if (length == 0)
            *text = '?';
        text += length ? length : 1;
    }
}
