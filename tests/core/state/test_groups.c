// SPDX-License-Identifier: BSD-3-Clause
// The grouping of a job's ranks into hosts and neighbourhoods, compared with a simple model.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../core/state/job_groups.h"
#include "../../../other/base/settings/settings.h"

enum { RANKS_MAX = 40, HOSTS_MAX = 6, LIMIT_MAX = 9, CASES = 300 };

static uint64_t seed = 3;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % n);
}

// A job: the host of each rank, and the neighbourhood in which the model places that rank.
static struct {
    uint32_t size, limit, hosts, nbrhds; // limit: ranks of a neighbourhood at most; 0: no limit
    uint32_t host[RANKS_MAX], nbrhd[RANKS_MAX];
} model;

// Renumbers the hosts in the order in which they appear.
static void number_hosts(void)
{
    uint32_t number[HOSTS_MAX];
    memset(number, 0xff, sizeof number);
    model.hosts = 0;
    for (uint32_t r = 0; r < model.size; r++) {
        uint32_t h = model.host[r];
        if (number[h] == UINT32_MAX)
            number[h] = model.hosts++;
        model.host[r] = number[h];
    }
}

// Each rank joins the newest neighbourhood of its host, or opens a new one if that neighbourhood is
// full or none exists.
static void find_nbrhds(void)
{
    uint32_t newest[HOSTS_MAX], members[RANKS_MAX] = {0};
    memset(newest, 0xff, sizeof newest);
    model.nbrhds = 0;
    for (uint32_t r = 0; r < model.size; r++) {
        uint32_t *n = &newest[model.host[r]];
        if (*n == UINT32_MAX || (model.limit && members[*n] == model.limit)) {
            *n = model.nbrhds++;
        }
        members[*n]++;
        model.nbrhd[r] = *n;
    }
}

static void make_case(uint32_t size, uint32_t hosts, uint32_t limit)
{
    model.size = size;
    model.limit = limit;
    bool blocks = random_below(2); // consecutive ranks on a host, as most launchers place them
    for (uint32_t r = 0; r < size; r++)
        model.host[r] = blocks ? r * hosts / size : random_below(hosts);
    number_hosts();
    find_nbrhds();
}

static void check_group(const aq_group_t *group, const uint32_t *group_of, uint32_t groups,
                        uint32_t rank)
{
    uint32_t count = 0;
    assert_int_equal(group->groups, groups);
    assert_int_equal(group->my_group, group_of[rank]);
    for (uint32_t r = 0; r < model.size; r++) {
        if (group_of[r] != group_of[rank])
            continue;
        assert_true(count < group->size);
        if (r == rank)
            assert_int_equal(group->my_index, count);
        assert_int_equal(group->members[count++].gex_jobrank, r);
    }
    assert_int_equal(group->size, count);
}

static void check_case(void)
{
    aq_boot_t boot = {.size = model.size, .host_of_rank = model.host};
    for (uint32_t rank = 0; rank < model.size; rank++) {
        aq_job_t job = {.boot = &boot, .rank = rank, .size = model.size};
        boot.rank = rank;
        assert_int_equal(aq_job_find_groups(&job, model.limit), AQ_OK);
        check_group(&job.host, model.host, model.hosts, rank);
        check_group(&job.nbrhd, model.nbrhd, model.nbrhds, rank);
        free((void *)(uintptr_t)job.host.members);
        free((void *)(uintptr_t)job.nbrhd.members);
    }
}

static void test_one_host(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= RANKS_MAX; size++) {
        make_case(size, 1, 0);
        assert_int_equal(model.nbrhds, 1);
        check_case();
    }
}

static void test_limits(void **state)
{
    (void)state;
    for (uint32_t limit = 1; limit <= RANKS_MAX + 1; limit++) {
        make_case(RANKS_MAX, 1, limit);
        assert_int_equal(model.nbrhds, (RANKS_MAX + limit - 1) / limit);
        check_case();
    }
}

static void test_random(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CASES; i++) {
        make_case(1 + random_below(RANKS_MAX), 1 + random_below(HOSTS_MAX),
                  random_below(LIMIT_MAX + 1));
        check_case();
    }
}

// aq_job_group_numbers applies the limit of the settings.
static void test_nbrhds(void **state)
{
    (void)state;
    for (uint32_t limit = 0; limit <= LIMIT_MAX; limit++) {
        char text[16], err[256];
        snprintf(text, sizeof text, "%u", limit);
        setenv("GASNET_SUPERNODE_MAXSIZE", text, 1);
        assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
        for (unsigned i = 0; i < 20; i++) {
            make_case(1 + random_below(RANKS_MAX), 1 + random_below(HOSTS_MAX), limit);
            aq_boot_t boot = {.size = model.size, .host_of_rank = model.host};
            aq_job.boot = &boot;
            aq_job.size = model.size;
            aq_group_numbers_t *numbers = aq_job_group_numbers();
            assert_non_null(numbers);
            for (uint32_t r = 0; r < model.size; r++)
                assert_int_equal(numbers[r].nbrhd, model.nbrhd[r]);
            free(numbers);
            aq_job.boot = NULL;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_host),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_nbrhds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
