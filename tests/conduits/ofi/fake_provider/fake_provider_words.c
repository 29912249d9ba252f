// SPDX-License-Identifier: BSD-3-Clause
#include "fake_provider_words.h"

#include <stdlib.h>
#include <string.h>

#include "fake_provider_die.h"

static const char *const names[WORD_COUNT] = {
    [WORD_NO_RMA] = "no-rma",
    [WORD_NO_ATOMIC] = "no-atomic",
    [WORD_NO_DELIVERY] = "no-delivery",
    [WORD_NO_FETCH_DELIVERY] = "no-fetch-delivery",
    [WORD_NO_MULTI] = "no-multi",
    [WORD_NO_SOURCE] = "no-source",
    [WORD_NO_WAIT_FD] = "no-wait-fd",
    [WORD_NO_SELECTIVE] = "no-selective",
    [WORD_MR_LOCAL] = "mr-local",
    [WORD_MR_VIRT] = "mr-virt",
    [WORD_MR_ALLOCATED] = "mr-allocated",
    [WORD_MR_PROV_KEY] = "mr-prov-key",
    [WORD_MR_ENDPOINT] = "mr-endpoint",
    [WORD_CONTEXT] = "context",
    [WORD_CONTEXT2] = "context2",
    [WORD_AV_MAP] = "av-map",
    [WORD_AV_TABLE] = "av-table",
    [WORD_AUTO] = "auto",
    [WORD_REORDER] = "reorder",
    [WORD_STRICT] = "strict",
    [WORD_LATE] = "late",
    [WORD_APART] = "apart",
    [WORD_LIE_RMA] = "lie-rma",
    [WORD_LIE_INJECT] = "lie-inject",
    [WORD_LIE_MULTI] = "lie-multi",
    [WORD_MR_ONCE] = "mr-once",
    [WORD_INJECT] = "inject",
    [WORD_DEPTH] = "depth",
    [WORD_POSTS] = "posts",
    [WORD_MESSAGE] = "message",
    [WORD_AGAIN] = "again",
    [WORD_LOST] = "lost",
    [WORD_SEED] = "seed",
    [WORD_MR_MAX] = "mr-most",
    [WORD_MR_FULL] = "mr-full",
};

static const struct {
    uint64_t absent, bare; // the number of a word that is not there, or that has no number
} numbers[WORD_COUNT] = {
    [WORD_INJECT] = {128, 128},
    [WORD_DEPTH] = {256, 4},
    [WORD_POSTS] = {1024, 4},
    [WORD_MESSAGE] = {0, 4096},
    [WORD_AGAIN] = {0, 30},
    [WORD_SEED] = {1, 1},
    [WORD_MR_MAX] = {UINT64_MAX, 1 << 20},
    [WORD_MR_FULL] = {UINT64_MAX, 0},
};

#define ORDER_MESSAGES FI_ORDER_SAS
#define ORDER_ALL                                                                                  \
    (FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAR | FI_ORDER_WAW | FI_ORDER_WAS |     \
     FI_ORDER_SAR | FI_ORDER_SAW | FI_ORDER_SAS)

// An address format of a provider's own: FI_PROV_SPECIFIC, which libfabric 2 no longer has.
#define ADDRESS_FAKE (1u << 31 | 0xfa)

// The first one is the fake itself. The others are what the manuals of the providers say, and
// assumed where a manual is silent: no machine with such hardware was asked.
static const fake_preset_t presets[] = {
    {"fake", "", 0, ORDER_ALL, 16u << 20, FI_PROTO_UNSPEC, ADDRESS_FAKE, 24, 4, 8, 8, false},
    {"efa", "inject=0,no-atomic,no-wait-fd,no-selective,mr-virt,mr-allocated,mr-prov-key",
     FI_TAGGED | FI_DIRECTED_RECV, ORDER_MESSAGES, UINT64_MAX, FI_PROTO_EFA, FI_ADDR_EFA, 32, 4, 4,
     4, true},
    {"cxi", "inject=192,no-wait-fd,mr-endpoint,no-fetch-delivery,apart",
     FI_TAGGED | FI_DIRECTED_RECV | FI_NAMED_RX_CTX | FI_SHARED_AV | FI_RMA_EVENT | FI_FENCE,
     ORDER_MESSAGES, 1u << 30, FI_PROTO_CXI, FI_ADDR_CXI, 4, 1, 4, 8, false},
    {"psm2", "inject=64,context",
     FI_TAGGED | FI_DIRECTED_RECV | FI_TRIGGER | FI_RMA_EVENT | FI_SOURCE_ERR, ORDER_ALL,
     UINT32_MAX, FI_PROTO_PSMX2, FI_ADDR_PSMX2, 16, 4, 8, 8, true},
    {"opx", "inject=16,context2,no-wait-fd", FI_TAGGED | FI_DIRECTED_RECV | FI_NAMED_RX_CTX,
     ORDER_MESSAGES, UINT32_MAX, FI_PROTO_OPX, FI_ADDR_OPX, 8, 1, 8, 4, true},
};

enum {
    LIST_BYTES = 512,
};

static struct {
    char list[LIST_BYTES]; // that the rest was read from
    bool given[WORD_COUNT];
    uint64_t number[WORD_COUNT];
    const fake_preset_t *preset;
} words;

static void preset_choose(const char *name)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (strcmp(presets[i].name, name) == 0) {
            words.preset = &presets[i];
            return;
        }
    fake_die("FAKE_OFI has no preset as=%s; there are efa, cxi, psm2 and opx", name);
}

static void word_take(const char *text)
{
    const size_t length = strcspn(text, "=");
    for (int i = 0; i < WORD_COUNT; i++)
        if (strlen(names[i]) == length && strncmp(names[i], text, length) == 0) {
            words.given[i] = true;
            words.number[i] = text[length] ? strtoull(text + length + 1, NULL, 0) : numbers[i].bare;
            return;
        }
    fake_die("FAKE_OFI has no word '%s'; fake_provider.c lists the words", text);
}

static bool word_is_preset(const char *text)
{
    return strncmp(text, "as=", 3) == 0;
}

// Presets first: the other words then change what the preset set.
static void list_take(const char *list, bool take_presets)
{
    char copy[LIST_BYTES], *rest = NULL;
    strcpy(copy, list);
    for (char *text = strtok_r(copy, ", ", &rest); text; text = strtok_r(NULL, ", ", &rest))
        if (word_is_preset(text) && take_presets)
            preset_choose(text + 3);
        else if (!word_is_preset(text) && !take_presets)
            word_take(text);
}

static void lists_take(const char *list)
{
    memset(words.given, 0, sizeof words.given);
    words.preset = &presets[0];
    for (int i = 0; i < WORD_COUNT; i++)
        words.number[i] = numbers[i].absent;
    list_take(list, true);
    list_take(words.preset->words, false);
    list_take(list, false);
}

void fake_words_read(void)
{
    const char *list = getenv("FAKE_OFI");
    if (!list)
        list = "";
    if (strlen(list) >= sizeof words.list)
        fake_die("FAKE_OFI is too long: at most %zu bytes", sizeof words.list - 1);
    if (words.preset && strcmp(words.list, list) == 0)
        return;
    strcpy(words.list, list);
    lists_take(words.list);
}

bool fake_word(fake_word_t word)
{
    return words.given[word];
}

uint64_t fake_number(fake_word_t word)
{
    return words.number[word];
}

const fake_preset_t *fake_preset(void)
{
    return words.preset;
}
