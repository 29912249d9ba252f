// SPDX-License-Identifier: BSD-3-Clause
// Receives of conduit mpi, without MPI: a stub of MPI's function table counts posted receives.
// There is a receive for each request that the peers may still send, even while handlers run, so
// that MPI never has to buffer an unexpected message.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../conduits/mpi/mpi_messages.h"
#include "../../../conduits/mpi/mpi_buffers.h"
#include "../../../conduits/mpi/mpi_link.h"

enum { PEERS = 3, EACH = 4, TOTAL = PEERS * EACH, MESSAGES = 500, ME = PEERS };

static struct {
    unsigned posted[MPI_CLASSES];
    char *buffer[2 * (TOTAL + MPI_SPARES)]; // buffers of the receives, by handle - 1
    unsigned class[2 * (TOTAL + MPI_SPARES)];
    unsigned receives;
    unsigned waiting[PEERS];            // requests that a peer has sent, at most EACH
    unsigned free[PEERS];               // credits that a peer has
    unsigned delivered, deepest, depth; // depth: nested handlers
    bool replies;                       // handlers send replies
} stub;

static mpi_conduit_t conduits[2], *mpi = conduits; // both live until the end of the program

// ---- the stub of MPI ----

static bool holds_all(const void *addr, size_t nbytes)
{
    (void)addr, (void)nbytes;
    return true;
}

static int stub_receive(aq_mpilib_comm_t *comm, void *buffer, int room, int tag,
                        aq_mpilib_request_t *out)
{
    (void)comm;
    assert_int_equal(room, MPI_MESSAGE_BYTES);
    stub.class[stub.receives] = (unsigned)tag;
    stub.buffer[stub.receives++] = buffer;
    out->handle = stub.receives;
    return 0;
}

static int stub_restart(aq_mpilib_request_t *request)
{
    stub.posted[stub.class[request->handle - 1]]++;
    return 0;
}

// Completes the oldest receive with a request of a peer that has sent one.
static int stub_test_any(aq_mpilib_request_t *requests, int count, int *which, int *bytes,
                         uint32_t *from)
{
    const mpi_header_t header = {.category = AQ_AM_SHORT};
    unsigned peer = 0;
    *which = -1;
    while (peer < PEERS && !stub.waiting[peer])
        peer++;
    for (int i = 0; peer < PEERS && i < count; i++) {
        const uint64_t receive = requests[i].handle - 1;
        if (stub.class[receive] != MPI_REQUESTS)
            continue;
        stub.waiting[peer]--;
        stub.posted[MPI_REQUESTS]--;
        memcpy(stub.buffer[receive], &header, sizeof header);
        *which = i;
        *bytes = sizeof header;
        *from = peer;
    }
    return 0;
}

// Records the credits that a message of the conduit returns: those in its header, and one more if
// the message is a reply to a request.
static int stub_send(aq_mpilib_comm_t *comm, const void *buffer, int bytes, uint32_t to, int tag,
                     aq_mpilib_request_t *out)
{
    mpi_header_t header;
    (void)comm, (void)bytes;
    assert_int_equal(tag, MPI_REPLIES);
    memcpy(&header, buffer, sizeof header);
    stub.free[to] += header.credits + (header.category != MPI_HIDDEN);
    out->handle = 1;
    return 0;
}

static int stub_test(aq_mpilib_request_t *request, bool *done, int *bytes, uint32_t *from)
{
    (void)request, (void)bytes, (void)from;
    *done = true;
    return 0;
}

// ---- handlers ----

// Checks that each request has a receive: those that peers have sent, and those that peers may send
// now.
static void check_posted(void)
{
    unsigned may_come = 0;
    for (unsigned p = 0; p < PEERS; p++)
        may_come += stub.waiting[p] + stub.free[p];
    assert_true(stub.posted[MPI_REQUESTS] >= may_come);
    assert_int_equal(stub.posted[MPI_REPLIES], TOTAL + MPI_SPARES);
}

static void send_requests(void)
{
    for (unsigned p = 0; p < PEERS; p++) {
        stub.waiting[p] += stub.free[p];
        stub.free[p] = 0;
    }
    check_posted();
}

// Handles an arrival. Other threads poll while a handler runs: the nested poll stands for them, up
// to the limit of MPI_SPARES handlers at a time.
static bool deliver(const aq_arrival_t *arrival)
{
    const aq_am_t reply = {.category = AQ_AM_SHORT, .reply = true};
    stub.delivered++;
    stub.depth++;
    stub.deepest = stub.depth > stub.deepest ? stub.depth : stub.deepest;
    if (stub.replies)
        assert_int_equal(
            mpi_conduit_send(&mpi->mail.base, mpi_link_of(mpi, arrival->source), &reply), AQ_OK);
    send_requests();
    (void)mpi_conduit_poll(&mpi->mail.base, AQ_POLL_REQUESTS | AQ_POLL_REPLIES);
    stub.depth--;
    return stub.replies;
}

// ---- tests ----

static const aq_mpilib_table_t table = {
    .name = "stub",
    .receive = stub_receive,
    .restart = stub_restart,
    .test_any = stub_test_any,
    .send = stub_send,
    .test = stub_test,
};

static void run_messages(bool replies)
{
    static aq_boot_t boot = {.rank = ME, .size = PEERS + 1};
    static mpi_link_t *links[PEERS + 1];
    static aq_conduit_env_t env = {.boot = &boot,
                                   .rank = ME,
                                   .size = PEERS + 1,
                                   .deliver = deliver,
                                   .segment_holds = holds_all};
    memset(&stub, 0, sizeof stub);
    for (unsigned i = 0; i <= PEERS; i++)
        free(links[i]);
    memset(links, 0, sizeof links);
    mpi = &conduits[replies];
    *mpi = (mpi_conduit_t){.mail = {.base = {.ops = &aq_mpi_conduit, .env = &env}},
                           .shared.far = PEERS,
                           .mpi = &table,
                           .main = mpi,
                           .lock = &mpi->own_lock,
                           .links = links,
                           .limits = {EACH, TOTAL, EACH - 1}};
    aq_credit_pool_start(&mpi->pool, TOTAL);
    stub.replies = replies;
    assert_int_equal(mpi_buffers_open(mpi), AQ_OK);
    for (unsigned p = 0; p < PEERS; p++)
        stub.free[p] = EACH;
    while (stub.delivered < MESSAGES) {
        send_requests();
        assert_int_equal(mpi_conduit_poll(&mpi->mail.base, AQ_POLL_REQUESTS | AQ_POLL_REPLIES), 1);
    }
    assert_int_equal(stub.deepest, MPI_SPARES);
    assert_int_equal(stub.posted[MPI_REQUESTS], TOTAL + MPI_SPARES);
}

static void test_replies(void **state)
{
    (void)state;
    run_messages(true);
}

// Without replies, hidden replies return several credits at once, later.
static void test_hidden_replies(void **state)
{
    (void)state;
    run_messages(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_hidden_replies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
