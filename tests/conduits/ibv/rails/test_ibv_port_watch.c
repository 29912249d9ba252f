// SPDX-License-Identifier: BSD-3-Clause
// The watch over the ports of conduit ibv: which events of a device mean that a port is down or up
// again.
#include "../../../unit/unit_test.h"

#include <errno.h>
#include <string.h>

#include "../../../../conduits/ibv/rails/ibv_port_watch.h"

#define SECOND UINT64_C(1000000000)

static aq_ibv_rail_ports_t ports;
static aq_ibv_port_watch_t watch;
static struct ibv_context devices[2];
static struct ibv_async_event queue[8]; // of device 1
static unsigned queued, taken, acknowledged, changes;
static unsigned last_port;
static bool last_up;

static int event_next(struct ibv_context *verbs, struct ibv_async_event *event)
{
    if (verbs != &devices[1] || taken == queued)
        return EAGAIN;
    *event = queue[taken++];
    return 0;
}

static void event_acknowledge(struct ibv_async_event *event)
{
    (void)event;
    acknowledged++;
}

static void on_change(void *context, unsigned port, bool up)
{
    assert_ptr_equal(context, &watch);
    changes++;
    last_port = port;
    last_up = up;
}

static int begin(void **state)
{
    (void)state;
    queued = taken = acknowledged = changes = 0;
    ports = (aq_ibv_rail_ports_t){
        .count = 2,
        .list = {{.number = 1, .verbs = &devices[0]}, {.number = 2, .verbs = &devices[1]}}};
    devices[0].async_fd = 7;
    devices[1].async_fd = 8;
    watch = (aq_ibv_port_watch_t){.ports = &ports,
                                  .changed = on_change,
                                  .context = &watch,
                                  .next = event_next,
                                  .acknowledge = event_acknowledge};
    return 0;
}

// An event of device 1 that is there when the next turn comes.
static void event_add(enum ibv_event_type type, int number)
{
    queue[queued++] = (struct ibv_async_event){.element.port_num = number, .event_type = type};
}

static void expect_change(unsigned count, bool up)
{
    assert_int_equal(changes, count);
    assert_int_equal(last_port, 1);
    assert_int_equal(last_up, up);
    assert_int_equal(acknowledged, queued);
}

static void test_down_and_up(void **state)
{
    (void)state;
    event_add(IBV_EVENT_PORT_ERR, 2);
    aq_ibv_port_watch_turn(&watch, 5 * SECOND);
    assert_int_equal(changes, 0); // it may come back soon
    assert_int_equal(aq_ibv_port_watch_timeout(&watch, 5 * SECOND), 1001);
    aq_ibv_port_watch_turn(&watch, 6 * SECOND);
    expect_change(1, false);
    assert_int_equal(aq_ibv_port_watch_timeout(&watch, 6 * SECOND), -1);
    event_add(IBV_EVENT_PORT_ERR, 2); // it is known to be down
    aq_ibv_port_watch_turn(&watch, 7 * SECOND);
    aq_ibv_port_watch_turn(&watch, 9 * SECOND);
    expect_change(1, false);
    event_add(IBV_EVENT_PORT_ACTIVE, 2);
    aq_ibv_port_watch_turn(&watch, 9 * SECOND);
    expect_change(2, true);
}

static void test_short_interruption(void **state)
{
    (void)state;
    event_add(IBV_EVENT_PORT_ERR, 2);
    aq_ibv_port_watch_turn(&watch, 5 * SECOND);
    event_add(IBV_EVENT_PORT_ACTIVE, 2);
    aq_ibv_port_watch_turn(&watch, 6 * SECOND);
    aq_ibv_port_watch_turn(&watch, 9 * SECOND);
    assert_int_equal(changes, 0);
    assert_int_equal(acknowledged, 2);
}

// Events about other ports of the device, and about other things than ports.
static void test_others(void **state)
{
    (void)state;
    event_add(IBV_EVENT_PORT_ERR, 1);
    event_add(IBV_EVENT_LID_CHANGE, 2);
    event_add(IBV_EVENT_GID_CHANGE, 2);
    aq_ibv_port_watch_turn(&watch, 5 * SECOND);
    aq_ibv_port_watch_turn(&watch, 9 * SECOND);
    assert_int_equal(changes, 0);
    assert_int_equal(acknowledged, 3);
}

// A device that fails has no port any more, whatever else it says.
static void test_device(void **state)
{
    (void)state;
    event_add(IBV_EVENT_DEVICE_FATAL, 0);
    aq_ibv_port_watch_turn(&watch, 5 * SECOND);
    expect_change(1, false);
    event_add(IBV_EVENT_PORT_ACTIVE, 2);
    aq_ibv_port_watch_turn(&watch, 6 * SECOND);
    expect_change(1, false);
}

// A process with one port leaves its events to others.
static void test_one_port(void **state)
{
    struct pollfd events[AQ_IBV_RAIL_PORTS_MAX];
    (void)state;
    assert_int_equal(aq_ibv_port_watch_fds(&watch, events), 2);
    assert_int_equal(events[1].fd, 8);
    ports.count = 1;
    event_add(IBV_EVENT_PORT_ERR, 2);
    assert_int_equal(aq_ibv_port_watch_fds(&watch, events), 0);
    aq_ibv_port_watch_turn(&watch, 5 * SECOND);
    assert_int_equal(taken, 0);
    assert_int_equal(aq_ibv_port_watch_timeout(&watch, 5 * SECOND), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_down_and_up, begin),
        cmocka_unit_test_setup(test_short_interruption, begin),
        cmocka_unit_test_setup(test_others, begin),
        cmocka_unit_test_setup(test_device, begin),
        cmocka_unit_test_setup(test_one_port, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
