// SPDX-License-Identifier: BSD-3-Clause
// What libfabric is asked about the chosen provider (ofi_query.h). The fi_getinfo here records the
// question and finds nothing.
#include "../../../unit/unit_test.h"

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../conduits/ofi/fabric/ofi_query.h"

static struct fi_info *asked; // the hints of the last question

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
               const struct fi_info *hints, struct fi_info **info)
{
    (void)version, (void)node, (void)service, (void)flags, (void)info;
    fi_freeinfo(asked);
    asked = fi_dupinfo(hints);
    return -FI_ENODATA;
}

static void ask_about(uint32_t addr_format)
{
    struct fi_info *chosen = fi_allocinfo();
    assert_non_null(chosen);
    chosen->fabric_attr->prov_name = strdup("tcp");
    chosen->addr_format = addr_format;
    chosen->src_addr = strdup("the address");
    chosen->src_addrlen = sizeof "the address";
    assert_false(ofi_query_delivers(chosen));
    fi_freeinfo(chosen);
    assert_non_null(asked);
    assert_int_equal(asked->addr_format, addr_format);
}

static int forget(void **state)
{
    (void)state;
    fi_freeinfo(asked);
    asked = NULL;
    return 0;
}

static void names_an_internet_address(void **state)
{
    static const uint32_t formats[] = {FI_SOCKADDR_IN, FI_SOCKADDR_IN6};
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        ask_about(formats[i]);
        assert_int_equal(asked->src_addrlen, sizeof "the address");
        assert_string_equal(asked->src_addr, "the address");
    }
}

static void names_no_address_of_another_format(void **state)
{
    (void)state;
    ask_about(FI_ADDR_STR);
    assert_null(asked->src_addr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(names_an_internet_address, forget),
        cmocka_unit_test_teardown(names_no_address_of_another_format, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
