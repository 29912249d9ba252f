// SPDX-License-Identifier: BSD-3-Clause
// The words of FAKE_OFI and the presets of the fake provider. fake_provider.c describes each word.
#ifndef AQ_TESTS_FAKE_PROVIDER_WORDS_H
#define AQ_TESTS_FAKE_PROVIDER_WORDS_H

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum fake_word {
    WORD_NO_RMA,
    WORD_NO_ATOMIC,
    WORD_NO_DELIVERY,
    WORD_NO_FETCH_DELIVERY,
    WORD_NO_MULTI,
    WORD_NO_SOURCE,
    WORD_NO_WAIT_FD,
    WORD_NO_SELECTIVE,
    WORD_MR_LOCAL,
    WORD_MR_VIRT,
    WORD_MR_ALLOCATED,
    WORD_MR_PROV_KEY,
    WORD_MR_ENDPOINT,
    WORD_CONTEXT,
    WORD_CONTEXT2,
    WORD_AV_MAP,
    WORD_AV_TABLE,
    WORD_AUTO,
    WORD_REORDER,
    WORD_STRICT,
    WORD_LATE,
    WORD_APART,
    WORD_LIE_RMA,
    WORD_LIE_INJECT,
    WORD_LIE_MULTI,
    WORD_MR_ONCE,
    // Words with a number.
    WORD_INJECT,
    WORD_DEPTH,
    WORD_POSTS,
    WORD_MESSAGE,
    WORD_AGAIN,
    WORD_LOST,
    WORD_SEED,
    WORD_MR_MAX,
    WORD_MR_FULL,
    WORD_COUNT,
} fake_word_t;

// The attributes of a real provider, so far as words do not say them.
typedef struct fake_preset {
    const char *name;    // of the preset, and of the provider
    const char *words;   // a list as in FAKE_OFI
    uint64_t extra_caps; // that the attributes show; the provider does not implement them
    uint64_t msg_order;
    uint64_t message_most;
    uint32_t protocol, address_format;
    size_t address_bytes; // 4 to FAKE_ADDRESS_BYTES
    size_t iov_most, key_bytes, data_bytes;
    bool claims_auto; // says auto progress to an application that asks for it
} fake_preset_t;

// Reads FAKE_OFI, if it changed. Aborts on a word that does not exist. An application changes it
// only while no object of the provider is open.
void fake_words_read(void);

// Whether the word was given. fake_number: its number; 1 if it has none, 0 if it was not given
// and has no default.
bool fake_word(fake_word_t word);
uint64_t fake_number(fake_word_t word);
const fake_preset_t *fake_preset(void);

#endif
