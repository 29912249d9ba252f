// The exchange of addresses: what each rank learns of all others, and how much it keeps.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "../../conduits/ibv/ibv_addresses.h"

enum { RANKS = 600, MOST = 64 };

static struct sockaddr_storage listens[RANKS];
static char told[RANKS * MOST]; // what each rank tells
static aq_ibv_addresses_t table;

// Each rank announces its address, and exits.
static aq_status_t tell(aq_boot_t *boot, const void *mine, size_t bytes, void *all)
{
    (void)all;
    memcpy(told + boot->rank * bytes, mine, bytes);
    return AQ_ERR_PEER;
}

static aq_status_t learn(aq_boot_t *boot, const void *mine, size_t bytes, void *all)
{
    assert_memory_equal(told + boot->rank * bytes, mine, bytes);
    memcpy(all, told, boot->size * bytes);
    return AQ_OK;
}

// What the first rank knows afterwards.
static void exchange(uint32_t ranks)
{
    const aq_boot_ops_t telling = {.exchange = tell}, learning = {.exchange = learn};
    aq_boot_t boot = {.ops = &telling, .size = ranks};
    for (boot.rank = 0; boot.rank < ranks; boot.rank++) {
        assert_int_equal(aq_ibv_addresses_exchange(&boot, &listens[boot.rank], &table),
                         AQ_ERR_PEER);
        assert_null(table.rows);
    }
    boot.rank = 0;
    boot.ops = &learning;
    assert_int_equal(aq_ibv_addresses_exchange(&boot, &listens[0], &table), AQ_OK);
}

static void listen_four(uint32_t rank, uint32_t address)
{
    struct sockaddr_in *four = (struct sockaddr_in *)&listens[rank];
    memset(&listens[rank], 0, sizeof listens[rank]);
    four->sin_family = AF_INET;
    four->sin_port = htons((uint16_t)(1024 + rank));
    four->sin_addr.s_addr = htonl(address);
}

static void listen_six(uint32_t rank, uint8_t last)
{
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&listens[rank];
    memset(&listens[rank], 0, sizeof listens[rank]);
    six->sin6_family = AF_INET6;
    six->sin6_port = htons((uint16_t)(1024 + rank));
    six->sin6_addr.s6_addr[0] = 0xfd;
    six->sin6_addr.s6_addr[15] = last;
}

static void expect(uint32_t rank)
{
    struct sockaddr_storage where;
    assert_true(aq_ibv_addresses_has(&table, rank));
    const socklen_t length = aq_ibv_addresses_get(&table, rank, &where);
    assert_int_equal(length, listens[0].ss_family == AF_INET ? sizeof(struct sockaddr_in)
                                                             : sizeof(struct sockaddr_in6));
    assert_memory_equal(&where, &listens[rank], length);
}

// 600 ranks on 3 hosts take 4 bytes each, and one address for each host.
static void test_hosts(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        listen_four(rank, 0x0a540001 + rank * 7 % 3);
    exchange(RANKS);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        expect(rank);
    assert_int_equal(table.count, 3);
    assert_int_equal(aq_ibv_addresses_bytes(&table, RANKS), RANKS * 4 + 3 * 4);
    aq_ibv_addresses_free(&table);
}

// Each rank has a host of its own.
static void test_alone(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        listen_four(rank, 0x0a540001 + rank * 7919);
    exchange(RANKS);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        expect(rank);
    assert_int_equal(table.count, RANKS);
    assert_int_equal(aq_ibv_addresses_bytes(&table, RANKS), RANKS * 8);
    aq_ibv_addresses_free(&table);
    for (uint32_t rank = 0; rank < 200; rank++)
        listen_six(rank, (uint8_t)(200 - rank));
    exchange(200);
    for (uint32_t rank = 0; rank < 200; rank++)
        expect(rank);
    assert_int_equal(aq_ibv_addresses_bytes(&table, 200), 200 * 20);
    aq_ibv_addresses_free(&table);
}

// Ranks that listen at an address of the other family cannot be reached.
static void test_mixed(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < 20; rank++)
        if (rank % 3)
            listen_six(rank, (uint8_t)rank);
        else
            listen_four(rank, 0x0a540001 + rank);
    exchange(20);
    for (uint32_t rank = 0; rank < 20; rank++)
        if (rank % 3)
            assert_false(aq_ibv_addresses_has(&table, rank));
        else
            expect(rank);
    assert_int_equal(table.count, 7);
    aq_ibv_addresses_free(&table);
}

// The address stands first in what a rank announces.
static aq_status_t differ(aq_boot_t *boot, const void *mine, size_t bytes, void *all)
{
    for (uint32_t rank = 0; rank < boot->size; rank++) {
        memcpy((char *)all + rank * bytes, mine, bytes);
        memcpy((char *)all + rank * bytes, &rank, sizeof rank);
    }
    return AQ_OK;
}

static void test_too_many(void **state)
{
    (void)state;
    const aq_boot_ops_t ops = {.exchange = differ};
    aq_boot_t boot = {.ops = &ops, .size = AQ_IBV_ADDRESSES_MOST};
    listen_four(0, 0x0a540001);
    assert_int_equal(aq_ibv_addresses_exchange(&boot, &listens[0], &table), AQ_OK);
    assert_int_equal(table.count, AQ_IBV_ADDRESSES_MOST);
    aq_ibv_addresses_free(&table);
    boot.size++;
    assert_int_equal(aq_ibv_addresses_exchange(&boot, &listens[0], &table), AQ_ERR_RESOURCE);
    assert_null(table.rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
