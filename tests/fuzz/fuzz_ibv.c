// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of GASNET_IBV_PORTS. Invariants: a text is a filter, or is refused with a sentence that
// names a position in the text; and the verdict of a filter about a port is the best of the
// verdicts of its entries.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../conduits/ibv/ports/ibv_filter.h"
#include "fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Returns the last position that the sentence names: before it, the sentence may quote the same
// words from the text.
static const char *last_position(const char *err)
{
    const char *at = NULL;
    for (const char *next = err; (next = strstr(next, "should stand at character ")) != NULL;
         next++)
        at = next;
    return at;
}

static void check_fault(const char *text, const char *err)
{
    const char *at = last_position(err);
    require(at != NULL && strchr(err, '\n') == NULL);
    unsigned long place = strtoul(at + strlen("should stand at character "), NULL, 10);
    require(place >= 1 && place <= strlen(text) + 1);
}

// Compares the verdict of the whole filter with those of its first entry and of the rest.
static void check_filter(char *text, size_t length)
{
    char *plus = strchr(text, '+');
    char name[64] = "";
    size_t bytes = strcspn(text, "+:");
    if (bytes < sizeof name)
        memcpy(name, text, bytes);
    for (unsigned port = 1; port <= 255; port += 127) {
        aq_ibv_filter_verdict_t all = aq_ibv_filter_match(text, name, port), best, rest;
        if (plus != NULL)
            *plus = '\0';
        best = aq_ibv_filter_match(text, name, port);
        rest =
            plus != NULL ? aq_ibv_filter_match(plus + 1, name, port) : AQ_IBV_FILTER_OTHER_DEVICE;
        if (plus != NULL)
            *plus = '+';
        require(all == (best > rest ? best : rest));
        require(bytes >= sizeof name || all != AQ_IBV_FILTER_OTHER_DEVICE || length == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char err[512] = "";
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (aq_ibv_filter_check(text, err, sizeof err))
        check_filter(text, strlen(text));
    else
        check_fault(text, err);
    free(text);
    return 0;
}
