// SPDX-License-Identifier: BSD-3-Clause
// The names, words and mask letters of events, and the parsers of words and masks. trace_start.c,
// stats_file.c and trace_user.c parse; trace_output.c writes the names.
#include "trace_names.h"

#include <string.h>

const aq_trace_name_t aq_trace_names[AQ_TRACED_VISIBLE] = {
    [AQ_TRACED_REQUEST_SHORT] = {"Short request", "am"},
    [AQ_TRACED_REQUEST_MEDIUM] = {"Medium request", "am"},
    [AQ_TRACED_REQUEST_LONG] = {"Long request", "am"},
    [AQ_TRACED_REPLY_SHORT] = {"Short reply", "am"},
    [AQ_TRACED_REPLY_MEDIUM] = {"Medium reply", "am"},
    [AQ_TRACED_REPLY_LONG] = {"Long reply", "am"},
    [AQ_TRACED_HANDLER] = {"handler", "am"},
    [AQ_TRACED_SEND] = {"send", "am"},
    [AQ_TRACED_RECEIVE] = {"receive", "am"},
    [AQ_TRACED_LARGE_SEND] = {"large send", "am"},
    [AQ_TRACED_LARGE_RECEIVE] = {"large receive", "am"},
    [AQ_TRACED_LARGE_HANDLER] = {"large handler", "am"},
    [AQ_TRACED_LARGE_END] = {"large end", "am"},
    [AQ_TRACED_STREAM_SEND] = {"stream send", "am"},
    [AQ_TRACED_STREAM_RECEIVE] = {"stream receive", "am"},
    [AQ_TRACED_STREAM_HANDLER] = {"stream handler", "am"},
    [AQ_TRACED_PUT] = {"put", "rma"},
    [AQ_TRACED_GET] = {"get", "rma"},
    [AQ_TRACED_ATOMIC] = {"atomic", "rma"},
    [AQ_TRACED_VIS_PUT] = {"VIS put", "rma"},
    [AQ_TRACED_VIS_GET] = {"VIS get", "rma"},
    [AQ_TRACED_BARRIER] = {"barrier", "coll"},
    [AQ_TRACED_BROADCAST] = {"broadcast", "coll"},
    [AQ_TRACED_REDUCE] = {"reduce", "coll"},
    [AQ_TRACED_ALLREDUCE] = {"allreduce", "coll"},
    [AQ_TRACED_SCATTER] = {"scatter", "coll"},
    [AQ_TRACED_GATHER] = {"gather", "coll"},
    [AQ_TRACED_ALLGATHER] = {"allgather", "coll"},
    [AQ_TRACED_ALLTOALL] = {"alltoall", "coll"},
    [AQ_TRACED_SCAN] = {"scan", "coll"},
    [AQ_TRACED_EXSCAN] = {"exscan", "coll"},
    [AQ_TRACED_WAIT_EVENT] = {"wait for event", "wait"},
    [AQ_TRACED_WAIT_ROOM] = {"wait for room", "wait"},
    [AQ_TRACED_CONNECT] = {"connect", "net"},
    [AQ_TRACED_RETRANSMISSION] = {"retransmission", "net"},
    [AQ_TRACED_EVICTION] = {"evict", "firehose"},
    [AQ_TRACED_USER] = {"user", "user"},
};

// ---- words ----

const char aq_trace_words[] = "am, rma, coll, wait, net, firehose, user, all";

static const struct {
    const char *word;
    uint32_t categories;
} words[] = {
    {"am", AQ_TRACE_AM},     {"rma", AQ_TRACE_RMA}, {"coll", AQ_TRACE_COLL | AQ_TRACE_BARRIER},
    {"wait", AQ_TRACE_WAIT}, {"net", AQ_TRACE_NET}, {"firehose", AQ_TRACE_FIREHOSE},
    {"user", AQ_TRACE_USER}, {"all", AQ_TRACE_ALL},
};
enum { WORDS = sizeof words / sizeof words[0] };

static uint32_t word_categories(const char *word, size_t length)
{
    for (unsigned i = 0; i < WORDS; i++)
        if (strlen(words[i].word) == length && strncmp(words[i].word, word, length) == 0)
            return words[i].categories;
    return 0;
}

// "all" has no letter.
static uint32_t letter_categories(char letter)
{
    for (unsigned i = 0; i + 1 < WORDS; i++)
        if (words[i].word[0] == letter)
            return words[i].categories;
    return 0;
}

// A word, or several letters. 0: one of them is none.
static uint32_t part_categories(const char *part, size_t length)
{
    uint32_t all = word_categories(part, length);
    for (size_t i = 0; !all || i; i++) {
        const uint32_t one = i < length ? letter_categories(part[i]) : 0;
        if (!one)
            return i == length ? all : 0;
        all |= one;
    }
    return all;
}

const char *aq_trace_read_words(const char *text, uint32_t *categories)
{
    *categories = AQ_TRACE_FORCED;
    for (;;) {
        const size_t length = strcspn(text, ",");
        const uint32_t part = part_categories(text, length);
        if (!part)
            return text;
        *categories |= part;
        if (!text[length])
            return NULL;
        text += length + 1;
    }
}

// ---- letters of GASNet ----

const char aq_mask_all[] = "GPRSWBLAXIOCDNHU";

static const struct {
    char letter;
    uint32_t categories;
} letters_here[] = {
    {'G', AQ_TRACE_GET},  {'P', AQ_TRACE_PUT},    {'R', AQ_TRACE_ATOMIC},
    {'S', AQ_TRACE_WAIT}, {'W', AQ_TRACE_COLL},   {'B', AQ_TRACE_BARRIER},
    {'A', AQ_TRACE_AM},   {'I', AQ_TRACE_NET},    {'C', AQ_TRACE_NET | AQ_TRACE_FIREHOSE},
    {'H', AQ_TRACE_USER}, {'U', AQ_TRACE_FORCED},
};

char aq_mask_read(const char *mask, char letters[AQ_MASK_LETTERS])
{
    const bool others = mask[0] == '^' || !mask[0];
    const char *given = mask + (mask[0] == '^');
    const size_t right = strspn(given, aq_mask_all);
    for (const char *at = aq_mask_all; *at; at++)
        if (*at == 'U' || !strchr(given, *at) == others)
            *letters++ = *at;
    *letters = '\0';
    return given[right];
}

// D and N are no events but details, which events have anyway.
uint32_t aq_mask_categories(const char *letters, char without[AQ_MASK_LETTERS])
{
    uint32_t all = 0;
    for (; *letters; letters++) {
        uint32_t one = 0;
        for (unsigned i = 0; i < sizeof letters_here / sizeof letters_here[0]; i++)
            if (letters_here[i].letter == *letters)
                one = letters_here[i].categories;
        all |= one;
        if (!one && without && *letters != 'D' && *letters != 'N')
            *without++ = *letters;
    }
    if (without)
        *without = '\0';
    return all;
}
