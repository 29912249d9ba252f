// SPDX-License-Identifier: BSD-3-Clause
// Registration with a fake device: the requests to the device, the message about a refusal, and
// that nothing stays registered.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../../conduits/ibv/registration/ibv_implicit_odp.h"
#include "../../../../other/base/settings/settings.h"
#include "../../../unit/default_settings.h"
#include "../fake_verbs.h"

enum { PAGE = 4096 };

static aq_ibv_memory_t memory;

static int set_up(void **state)
{
    (void)state;
    fake_verbs_start();
    memory = (aq_ibv_memory_t){.calls = &fake_verbs_calls,
                               .device = "fake0",
                               .region_bytes = 1 << 30,
                               .piece_bytes = 1 << 30,
                               .most = UINT64_C(1) << 40};
    return default_settings();
}

// Fails unless the device and the library agree that nothing is registered.
static int tear_down(void **state)
{
    (void)state;
    return fake_verbs.regions == 0 && fake_verbs.bytes == 0 && memory.regions == 0 &&
                   memory.bytes == 0
               ? 0
               : -1;
}

static void *at(uintptr_t address)
{
    return (void *)address;
}

static void assert_contains(const char *why, const char *words)
{
    if (strstr(why, words) == NULL)
        fail_msg("'%s' is missing in: %s", words, why);
    assert_null(strchr(why, '\n'));
}

static size_t register_pool(size_t unit, size_t most, size_t least, struct ibv_mr **region,
                            char why[512])
{
    const aq_ibv_pool_area_t pool = {"the buffers", at(PAGE), unit, most, least};
    return aq_ibv_memory_register_pool(&memory, &pool, region, why, 512);
}

// ---- tests ----

// A device that pages on demand pins buffers only, and only these are limited.
static void test_paged(void **state)
{
    (void)state;
    enum { WRITE = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };
    struct ibv_mr *region, *buffers;
    char why[512];
    memory.paged = memory.limited = true;
    memory.most = 4 * PAGE;
    assert_int_equal(register_pool(PAGE, 8, 1, &buffers, why), 4);
    assert_int_equal(fake_verbs.access, WRITE);
    assert_int_equal(aq_ibv_memory_try(&memory, at(99 * PAGE), 1 << 20, AQ_IBV_READ, &region),
                     AQ_FIREHOSE_PINNED);
    assert_int_equal(fake_verbs.access, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
    aq_ibv_memory_release(&memory, region, AQ_IBV_WRITE);
    aq_ibv_segment_t segment = {.start = (uintptr_t)at(99 * PAGE),
                                .bytes = 1 << 20,
                                .cut = aq_ibv_segment_cut(&memory, 1 << 20)};
    assert_int_equal(aq_ibv_segment_register(&memory, &segment, why, sizeof why), AQ_OK);
    assert_int_equal(fake_verbs.access, WRITE | IBV_ACCESS_ON_DEMAND);
    assert_int_equal(memory.bytes, 4 * PAGE);
    assert_int_equal(memory.regions, 2);
    aq_ibv_segment_release(&memory, &segment);
    assert_int_equal(memory.bytes, 4 * PAGE);
    assert_int_equal(aq_ibv_memory_try(&memory, at(99 * PAGE), PAGE, AQ_IBV_BUFFER, &region),
                     AQ_FIREHOSE_SETTING);
    aq_ibv_memory_release(&memory, buffers, AQ_IBV_BUFFER);
}

// All memory is one region, which counts against no limit and is not open to atomics.
static void test_whole(void **state)
{
    (void)state;
    struct ibv_mr *region;
    enum { HERE = IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE };
    fake_verbs.whole = memory.limited = memory.atomics = true;
    memory.paged = AQ_IBV_PAGED_WHOLE;
    memory.most = PAGE;
    assert_int_equal(aq_ibv_memory_try(&memory, NULL, SIZE_MAX, AQ_IBV_WRITE, &region),
                     AQ_FIREHOSE_DEVICE);
    for (unsigned for_peers = 0; for_peers < 2; for_peers++) {
        aq_ibv_implicit_odp_t whole;
        aq_ibv_implicit_odp_register(&whole, &memory, NULL, for_peers);
        assert_int_not_equal(aq_ibv_implicit_odp_key(&whole, 0), 0);
        assert_int_equal(fake_verbs.access,
                         for_peers ? HERE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE
                                   : HERE);
        assert_int_equal(memory.bytes, 0);
        assert_int_equal(memory.regions, 1);
        aq_ibv_implicit_odp_release(&whole, &memory, NULL);
        assert_int_equal(memory.bytes, 0);
        assert_int_equal(memory.regions, 0);
    }
}

static void test_can_page(void **state)
{
    (void)state;
    enum { ALL = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ };
    struct ibv_odp_caps caps = {.general_caps = IBV_ODP_SUPPORT,
                                .per_transport_caps.rc_odp_caps = ALL};
    assert_int_equal(aq_ibv_memory_can_page(&caps, false), AQ_IBV_PAGED);
    assert_false(aq_ibv_memory_can_page(&caps, true));
    caps.per_transport_caps.rc_odp_caps |= IBV_ODP_SUPPORT_ATOMIC;
    assert_int_equal(aq_ibv_memory_can_page(&caps, true), AQ_IBV_PAGED);
    caps.general_caps |= IBV_ODP_SUPPORT_IMPLICIT;
    assert_int_equal(aq_ibv_memory_can_page(&caps, true), AQ_IBV_PAGED_WHOLE);
    caps.per_transport_caps.rc_odp_caps &= ~(uint32_t)IBV_ODP_SUPPORT_READ;
    assert_false(aq_ibv_memory_can_page(&caps, false));
    caps = (struct ibv_odp_caps){.per_transport_caps.rc_odp_caps = ALL};
    assert_false(aq_ibv_memory_can_page(&caps, false));
}

static void test_access(void **state)
{
    (void)state;
    struct ibv_mr *region;
    char why[512];
    assert_int_equal(aq_ibv_memory_try(&memory, at(PAGE), 10, AQ_IBV_READ, &region),
                     AQ_FIREHOSE_PINNED);
    assert_int_equal(fake_verbs.access, IBV_ACCESS_REMOTE_READ);
    assert_int_equal(memory.bytes, 10);
    assert_int_equal(memory.regions, 1);
    aq_ibv_memory_release(&memory, region, AQ_IBV_WRITE);
    assert_int_equal(aq_ibv_memory_try(&memory, at(PAGE), 10, AQ_IBV_WRITE, &region),
                     AQ_FIREHOSE_PINNED);
    assert_int_equal(fake_verbs.access,
                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    aq_ibv_memory_release(&memory, region, AQ_IBV_WRITE);
    memory.atomics = true;
    assert_int_equal(aq_ibv_memory_try(&memory, at(PAGE), 10, AQ_IBV_WRITE, &region),
                     AQ_FIREHOSE_PINNED);
    assert_int_equal(fake_verbs.access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                            IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
    aq_ibv_memory_release(&memory, region, AQ_IBV_WRITE);
    fake_verbs.read_only = PAGE;
    assert_int_equal(aq_ibv_memory_try(&memory, at(PAGE), 10, AQ_IBV_WRITE, &region),
                     AQ_FIREHOSE_NO_ACCESS);
    const aq_ibv_area_t area = {"it", at(PAGE), 10, AQ_IBV_WRITE};
    assert_int_equal(aq_ibv_memory_register(&memory, &area, &region, why, sizeof why), AQ_ERR_ARG);
    assert_contains(why, "it (10 bytes) cannot be registered with device fake0");
    assert_contains(why, "read-only");
    assert_int_equal(aq_ibv_memory_try(&memory, at(PAGE), 10, AQ_IBV_READ, &region),
                     AQ_FIREHOSE_PINNED);
    aq_ibv_memory_release(&memory, region, AQ_IBV_WRITE);
}

// Tries to register `bytes` bytes. Registration must be refused, with a message that contains these
// words.
static void assert_register_refused(size_t bytes, const char *const *words)
{
    struct ibv_mr *region;
    char why[512] = "";
    const aq_ibv_area_t area = {"the buffers", at(PAGE), bytes, AQ_IBV_WRITE};
    assert_int_equal(aq_ibv_memory_register(&memory, &area, &region, why, sizeof why),
                     AQ_ERR_RESOURCE);
    assert_memory_equal(why, "the buffers (", 13);
    for (; *words != NULL; words++)
        assert_contains(why, *words);
}

static void test_limits(void **state)
{
    (void)state;
    struct ibv_mr *region;
    assert_int_equal(aq_ibv_memory_try(&memory, at(PAGE), 100, AQ_IBV_WRITE, &region),
                     AQ_FIREHOSE_PINNED);
    // Limits of the device: the number of regions, and the length of a region.
    fake_verbs.most_regions = 1;
    assert_register_refused(200,
                            (const char *const[]){"(200 bytes)", "100 bytes in 1 regions", "max_mr",
                                                  "GASNET_PINNED_REGIONS_MAX", NULL});
    fake_verbs.most_regions = 1000;
    unsigned registrations = fake_verbs.registrations;
    assert_register_refused(
        memory.region_bytes + 1,
        (const char *const[]){"each of at most 1073741824 bytes", "max_mr_size", NULL});
    // The limit of the user applies before the device is asked.
    memory.most = 150;
    memory.limited = true;
    assert_register_refused(51, (const char *const[]){"may have 150 bytes, and has 100 already",
                                                      "raise GASNET_PHYSMEM_MAX", NULL});
    struct ibv_mr *other;
    assert_int_equal(aq_ibv_memory_try(&memory, at(PAGE), 51, AQ_IBV_WRITE, &other),
                     AQ_FIREHOSE_SETTING);
    assert_contains(aq_firehose_remedy(AQ_FIREHOSE_SETTING), "GASNET_PHYSMEM_MAX");
    assert_int_equal(fake_verbs.registrations, registrations);
    aq_ibv_memory_release(&memory, region, AQ_IBV_WRITE);
}

// In a child without privileges, the limit on locked memory is the reason of a refusal.
static void test_memlock(void **state)
{
    (void)state;
    struct rlimit limit = {65536, 65536};
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        fake_verbs.most_bytes = 0;
        if (setrlimit(RLIMIT_MEMLOCK, &limit) == 0 && (geteuid() != 0 || setuid(65534) == 0))
            assert_register_refused(65537,
                                    (const char *const[]){"(65537 bytes)", "may lock 65536 bytes",
                                                          "RLIMIT_MEMLOCK", "ulimit -l", NULL});
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_pool(void **state)
{
    (void)state;
    struct ibv_mr *region;
    char why[512] = "";
    assert_int_equal(register_pool(100, 64, 8, &region, why), 64);
    assert_string_equal(why, "");
    aq_ibv_memory_release(&memory, region, AQ_IBV_WRITE);
    fake_verbs.most_bytes = 2000;
    assert_int_equal(register_pool(100, 64, 8, &region, why), 16);
    assert_int_equal(region->length, 1600);
    assert_contains(why, "the buffers (6400 bytes)");
    assert_contains(why, "continuing with 16 of 64");
    aq_ibv_memory_release(&memory, region, AQ_IBV_WRITE);
    fake_verbs.most_bytes = 900;
    assert_int_equal(register_pool(100, 64, 9, &region, why), 9);
    aq_ibv_memory_release(&memory, region, AQ_IBV_WRITE);
    fake_verbs.most_bytes = 899;
    assert_int_equal(register_pool(100, 64, 9, &region, why), 0);
    assert_contains(why, "the buffers (6400 bytes)");
    assert_null(strstr(why, "going on"));
}

// Each byte of a segment belongs to a piece, and the piece's region extends as far beyond that byte
// as aq_ibv_segment_piece reports.
static void check_segment(const aq_ibv_segment_t *segment)
{
    size_t left, length = segment->count > 1 ? (size_t)1 << segment->cut.shift : segment->bytes;
    for (size_t at = 0; at < segment->bytes; at++) {
        uint32_t piece = aq_ibv_segment_piece(segment->bytes, segment->cut, at, 1 << 20, &left);
        assert_int_equal(piece, at / length);
        const struct ibv_mr *region = segment->pieces[piece];
        size_t start = (uintptr_t)region->addr - segment->start;
        assert_int_equal(start, piece * length);
        assert_int_equal(left, start + region->length - at);
        assert_true(left >= segment->cut.overlap || left == segment->bytes - at);
    }
    aq_ibv_segment_piece(segment->bytes, segment->cut, 0, 1, &left);
    assert_int_equal(left, 1);
}

static aq_status_t register_segment(size_t bytes, aq_ibv_segment_t *segment, char why[512])
{
    *segment = (aq_ibv_segment_t){.start = (uintptr_t)at(PAGE + 64),
                                  .bytes = bytes,
                                  .cut = aq_ibv_segment_cut(&memory, bytes)};
    return aq_ibv_segment_register(&memory, segment, why, 512);
}

static void test_segment(void **state)
{
    (void)state;
    aq_ibv_segment_t segment;
    char why[512];
    static const struct {
        size_t bytes, region;
        uint32_t pieces;
    } cases[] = {{1000, 1000, 1}, {1000, 999, 2}, {1024, 512, 2}, {1025, 512, 3}, {7, 3, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memory.piece_bytes = cases[i].region;
        memory.overlap = i % 2 * 40;
        assert_int_equal(register_segment(cases[i].bytes, &segment, why), AQ_OK);
        assert_int_equal(segment.count, cases[i].pieces);
        assert_true(segment.pieces[0]->length <= cases[i].region + memory.overlap);
        check_segment(&segment);
        aq_ibv_segment_release(&memory, &segment);
    }
    // If one piece cannot be registered, none stays registered.
    memory.overlap = 0;
    memory.piece_bytes = 256;
    fake_verbs.most_regions = 3;
    assert_int_equal(register_segment(1024, &segment, why), AQ_ERR_RESOURCE);
    assert_contains(why, "the segment (1024 bytes) cannot be registered");
    assert_contains(why, "768 bytes in 3 regions");
    assert_int_equal(fake_verbs.regions, 0);
    memory.most = 1000;
    memory.limited = true;
    assert_int_equal(register_segment(1024, &segment, why), AQ_ERR_RESOURCE);
    assert_contains(why, "GASNET_PHYSMEM_MAX");
}

static void test_pin_maxsz(void **state)
{
    (void)state;
    char err[512];
    assert_int_equal(aq_ibv_memory_piece_bytes(1 << 20), 1 << 20);
    setenv("GASNET_PIN_MAXSZ", "256K", 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    assert_int_equal(aq_ibv_memory_piece_bytes(1 << 20), 256 << 10);
    assert_int_equal(aq_ibv_memory_piece_bytes(1 << 10), 1 << 10);
    setenv("GASNET_PIN_MAXSZ", "2", 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    assert_int_equal(aq_ibv_memory_piece_bytes(1 << 20), PAGE);
}

static bool wanted_with(const char *name, const char *value)
{
    char err[512];
    setenv(name, value, 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    bool wanted = aq_ibv_memory_probe_wanted();
    unsetenv(name);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    return wanted;
}

static void test_probe(void **state)
{
    (void)state;
    assert_false(aq_ibv_memory_probe_wanted());
    assert_true(wanted_with("GASNET_PHYSMEM_PROBE", "1"));
    assert_true(wanted_with("GASNET_PHYSMEM_NOPROBE", "0"));
    assert_false(wanted_with("GASNET_PHYSMEM_NOPROBE", "1"));
    memory.most = 64 * PAGE * 64;
    memory.region_bytes = 100 * PAGE;
    assert_int_equal(aq_ibv_memory_probe(&memory), memory.most); // succeeds on the first try
    static const uint64_t truths[] = {0, 1, 63, 64, 1000, 4000};
    for (size_t i = 0; i < sizeof truths / sizeof truths[0]; i++) {
        fake_verbs.most_bytes = truths[i] * PAGE;
        uint64_t got = aq_ibv_memory_probe(&memory);
        if (got > fake_verbs.most_bytes || fake_verbs.most_bytes - got >= memory.most / 64)
            fail_msg("the probe finds %llu of %llu bytes", (unsigned long long)got,
                     (unsigned long long)fake_verbs.most_bytes);
    }
    memory.most = PAGE - 1;
    assert_int_equal(aq_ibv_memory_probe(&memory), 0);
}

static void test_fork(void **state)
{
    (void)state;
    char why[512] = "";
    fake_verbs.fork = IBV_FORK_UNNEEDED;
    assert_int_equal(aq_ibv_memory_fork_safe(&fake_verbs_calls, why, sizeof why), AQ_OK);
    fake_verbs.fork = IBV_FORK_ENABLED;
    assert_int_equal(aq_ibv_memory_fork_safe(&fake_verbs_calls, why, sizeof why), AQ_OK);
    assert_int_equal(fake_verbs.fork_inits, 0);
    fake_verbs.fork = IBV_FORK_DISABLED;
    assert_int_equal(aq_ibv_memory_fork_safe(&fake_verbs_calls, why, sizeof why), AQ_OK);
    assert_int_equal(fake_verbs.fork_inits, 1);
    assert_string_equal(why, "");
    fake_verbs.fork_error = EINVAL;
    assert_int_equal(aq_ibv_memory_fork_safe(&fake_verbs_calls, why, sizeof why), AQ_ERR_RESOURCE);
    assert_contains(why, "Linux 5.12");
}

#define DEVICE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_access), DEVICE_TEST(test_limits),  DEVICE_TEST(test_memlock),
        DEVICE_TEST(test_pool),   DEVICE_TEST(test_segment), DEVICE_TEST(test_pin_maxsz),
        DEVICE_TEST(test_probe),  DEVICE_TEST(test_paged),   DEVICE_TEST(test_can_page),
        DEVICE_TEST(test_whole),  DEVICE_TEST(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
