// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of the reader of tuning files. Invariants: all limits are in their ranges; a refusal says
// why, in one line, and leaves the defaults.
#include <string.h>

#include "../../extended/coll/coll_tuning.h"
#include "fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ranges(const aq_coll_limits_t *limits)
{
    const aq_coll_limit_row_t *row;
    for (unsigned i = 0; (row = aq_coll_limit_at(i)) != NULL; i++)
        require(aq_coll_limit_get(limits, row) >= row->low &&
                aq_coll_limit_get(limits, row) <= row->high);
}

static void fuzz_job(const char *text, size_t size, aq_tuning_job_t job)
{
    aq_coll_limits_t limits;
    char why[256] = "";
    const aq_tuning_result_t result =
        aq_coll_tuning_parse(text, size, job, &limits, why, sizeof why);
    check_ranges(&limits);
    require((result == AQ_TUNING_FOUND) == (why[0] == '\0'));
    require(!strchr(why, '\n'));
    require(result == AQ_TUNING_FOUND || memcmp(&limits, &aq_coll_fallbacks, sizeof limits) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    fuzz_job(text, size, (aq_tuning_job_t){"smp", 4});
    fuzz_job(text, size, (aq_tuning_job_t){"udp", 1});
    free(text);
    return 0;
}
