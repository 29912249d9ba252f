// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of the values of GASNET_ variables: sizes, limits, choices.
//
// Invariants: no crash; a value is either legal and within its type, or refused with a message that
// names the variable.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/settings/settings.h"
#include "../../other/base/settings/settings_lists.h"
#include "../../other/base/size.h"
#include "fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_parsers(const char *text)
{
    int64_t whole = 1;
    bool yes = false;
    double real = 1;
    uint64_t bytes = 1;
    aq_size_limit_t limit = {.bytes = 1};
    aq_size_parse_int(text, &whole);
    aq_size_parse_bool(text, &yes);
    aq_size_parse_bytes(text, &bytes);
    if (aq_size_parse_real(text, &real))
        require(isfinite(real));
    if (aq_size_parse_limit(text, &limit)) {
        require((limit.bytes > 0) != (limit.fraction > 0));
        require(limit.fraction >= 0 && limit.fraction <= 1);
    }
}

// Loads the variable with this value; returns whether the value is legal.
static bool fuzz_row(aq_setting_id_t id, const char *text)
{
    char err[512] = "";
    const char *name = aq_settings[id].name;
    require(setenv(name, text, 1) == 0);
    aq_status_t status = aq_settings_load(err, sizeof err);
    unsetenv(name);
    if (status == AQ_OK) {
        require(aq_settings_given(id) == (*text != '\0'));
        return true;
    }
    require(status == AQ_ERR_CONFIG);
    require(strncmp(err, name, strlen(name)) == 0);
    require(strchr(err, '\n') == NULL);
    return false;
}

static void fuzz_settings(const char *text)
{
    if (fuzz_row(AQ_SET_MAX_SEGSIZE, text))
        require(aq_settings_limit(AQ_SET_MAX_SEGSIZE)->fraction <= 1);
    if (fuzz_row(AQ_SET_WAITMODE, text))
        require(strstr(aq_settings[AQ_SET_WAITMODE].choices, aq_settings_text(AQ_SET_WAITMODE)));
    if (fuzz_row(AQ_SET_PSHM_NODES, text))
        require(aq_settings_int(AQ_SET_PSHM_NODES) >= 1 &&
                aq_settings_int(AQ_SET_PSHM_NODES) <= 4096);
    fuzz_row(AQ_SET_NO_CATCH_SIGNAL, text);
    if (fuzz_row(AQ_SET_BACKTRACE_NODES, text))
        require(aq_settings_has_rank(aq_settings_text(AQ_SET_BACKTRACE_NODES), 1) >= 0);
    require(fuzz_row(AQ_SET_MODULE_PATH, text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    fuzz_parsers(text);
    fuzz_settings(text);
    free(text);
    return 0;
}
