// SPDX-License-Identifier: BSD-3-Clause
#include "fake_faults.h"

#include <errno.h>
#include <stdlib.h>

#include "../../../other/base/log/log.h"

enum { HOLD_POLLS_MAX = 8 };

static aq_status_t read_number(const char *name, uint64_t most, uint64_t fallback, uint64_t *out)
{
    const char *text = getenv(name);
    char *end = NULL;
    *out = fallback;
    if (!text)
        return AQ_OK;
    errno = 0;
    *out = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *out <= most)
        return AQ_OK;
    aq_log_error("%s: '%s' is not a whole number from 0 to %llu", name, text,
                 (unsigned long long)most);
    return AQ_ERR_CONFIG;
}

// Returns the next random number: a hash of a counter (splitmix64), so that threads need no lock.
static uint64_t next_random(fake_faults_t *faults)
{
    const uint64_t step = 0x9e3779b97f4a7c15u;
    uint64_t z = atomic_fetch_add_explicit(&faults->random, step, memory_order_relaxed) + step;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static bool fault_occurs(fake_faults_t *faults, unsigned percent)
{
    return percent && next_random(faults) % 100 < percent;
}

aq_status_t fake_faults_start(fake_faults_t *faults, uint32_t rank)
{
    uint64_t again, hold, seed;
    aq_status_t status = read_number("AQ_FAKE_AGAIN", 95, 0, &again);
    if (status == AQ_OK)
        status = read_number("AQ_FAKE_HOLD", 100, 0, &hold);
    if (status == AQ_OK)
        status = read_number("AQ_FAKE_SEED", UINT64_MAX, 1, &seed);
    if (status == AQ_OK)
        status = read_number("AQ_FAKE_FAIL_AFTER", UINT64_MAX, 0, &faults->fail_after);
    if (status != AQ_OK)
        return status;
    faults->again = (unsigned)again;
    faults->hold = (unsigned)hold;
    atomic_init(&faults->random, seed * 0xd1342543de82ef95u + ((uint64_t)rank << 32));
    atomic_init(&faults->sends, 0);
    return AQ_OK;
}

aq_status_t fake_faults_send(fake_faults_t *faults)
{
    if (faults->fail_after) {
        uint64_t number = atomic_fetch_add_explicit(&faults->sends, 1, memory_order_relaxed) + 1;
        if (number == faults->fail_after) {
            aq_log_error("the fake conduit fails send %llu, as AQ_FAKE_FAIL_AFTER asks for",
                         (unsigned long long)number);
            return AQ_ERR_PEER;
        }
    }
    return fault_occurs(faults, faults->again) ? AQ_AGAIN : AQ_OK;
}

unsigned fake_faults_hold(fake_faults_t *faults)
{
    return fault_occurs(faults, faults->hold) ? 1 + (unsigned)(next_random(faults) % HOLD_POLLS_MAX)
                                              : 0;
}
