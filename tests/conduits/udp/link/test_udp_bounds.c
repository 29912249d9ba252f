// SPDX-License-Identifier: BSD-3-Clause
// A malicious peer that has the key of the job names memory outside of the segment, a segment that
// does not exist, a get that is not outstanding, or a wrong length. The job ends with a message
// that names the rank, and no byte outside of the segment changes.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "udp_harness.h"
#include "../../conduits/udp/link/udp_receive.h"
#include "../../conduits/udp/link/udp_link.h"
#include "../../conduits/udp/link/udp_rma.h"

enum { SEGMENT = 64 << 10, AROUND = 64 << 10, LARGE = 16384, POLLS = 100000 };

static uintptr_t segment_addr[2];
static const uintptr_t segment_size[2] = {SEGMENT, SEGMENT};
static aq_conduit_env_t env = {
    .size = 2, .nbrhd_size = 1, .segment_addr = segment_addr, .segment_size = segment_size};
static udp_conduit_t *udp;
static uint8_t *memory; // shared with children: AROUND, the segment, AROUND
static unsigned delivered;

static bool segment_holds_nothing(const void *addr, size_t nbytes)
{
    (void)addr;
    return nbytes == 0;
}

static bool count_delivery(const aq_arrival_t *arrival)
{
    (void)arrival;
    delivered++;
    return false;
}

static int open_conduit(void **state)
{
    (void)state;
    memory =
        mmap(NULL, 2 * AROUND + SEGMENT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    segment_addr[0] = segment_addr[1] = (uintptr_t)memory + AROUND;
    env.segment_holds = segment_holds_nothing;
    env.deliver = count_delivery;
    udp = udp_open_harness(&env);
    return udp ? 0 : -1;
}

// Sends one frame as rank 1 would, and polls until it has arrived.
static void receive_frame(const uint8_t *frame, size_t bytes, unsigned class, uint64_t number)
{
    static uint8_t datagram[UDP_HEADER_MAX + 2 * LARGE];
    const udp_header_t header = {.kind = UDP_DATA,
                                 .class = (uint8_t) class,
                                 .bytes = (uint16_t)(UDP_HEADER_MIN + bytes),
                                 .job = udp->auth.job_tag,
                                 .source = 1,
                                 .packet = number,
                                 .sequence = number,
                                 .epoch = UDP_FIRST_EPOCH};
    const struct iovec frames = {(void *)(uintptr_t)frame, bytes};
    const uint64_t received = udp->socket.counts.received;
    udp_header_encode(datagram, &header);
    udp_auth_sign(&udp->auth, datagram, &header, &frames, 1, udp_auth_token(&udp->auth, 1, 0));
    memcpy(datagram + UDP_HEADER_MIN, frame, bytes);
    int fd = udp_socket_connect(&udp->socket, &udp->socket.here);
    assert_int_equal(send(fd, datagram, header.bytes, 0), header.bytes);
    close(fd);
    for (unsigned i = 0; i < POLLS && udp->socket.counts.received == received; i++)
        udp_poll(&udp->base, AQ_POLL_REQUESTS | AQ_POLL_REPLIES);
    udp_poll(&udp->base, AQ_POLL_REQUESTS | AQ_POLL_REPLIES);
}

static void receive_rma(udp_frame_type_t type, uint64_t place, size_t nbytes, uint64_t cookie)
{
    static uint8_t frame[2 * LARGE], payload[LARGE];
    static uint64_t number;
    const udp_rma_t rma = {
        .type = type, .nbytes = nbytes, .payload = payload, .place = place, .cookie = cookie};
    memset(payload, 0x77, sizeof payload);
    udp_rma_write(frame, &rma);
    receive_frame(frame, udp_rma_bytes(type, nbytes), type == UDP_FRAME_GOT, number++);
}

static void receive_long(uint64_t place, size_t nbytes)
{
    static uint8_t frame[2 * LARGE], payload[LARGE];
    const aq_am_t am = {.payload = payload, .nbytes = nbytes, .category = AQ_AM_LONG};
    memset(payload, 0x77, sizeof payload);
    udp_frame_write(frame, &am, place);
    receive_frame(frame, udp_frame_bytes(AQ_AM_LONG, 0, nbytes), UDP_REQUESTS, 0);
}

// ---- attacks that end the job ----

typedef struct attack {
    const char *name;
    udp_frame_type_t type;
    udp_segment_key_t key;
    uint64_t offset; // in the segment; with key UDP_KEY_MEMORY in `memory`
    size_t nbytes;
    bool large_first; // send a large put first, so that the next put may be received in place
} attack_t;

static const attack_t attacks[] = {
    {"put behind the segment", UDP_FRAME_PUT, UDP_KEY_SEGMENT, SEGMENT, 8, false},
    {"put across its end", UDP_FRAME_PUT, UDP_KEY_SEGMENT, SEGMENT - 4, 8, false},
    {"put far away", UDP_FRAME_PUT, UDP_KEY_SEGMENT, (UINT64_C(1) << 56) - 8, 8, false},
    {"put to an address", UDP_FRAME_PUT, UDP_KEY_MEMORY, 16, 8, false},
    {"put to an unknown key", UDP_FRAME_PUT, 2, 16, 8, false},
    {"put to the last key", UDP_FRAME_PUT, 255, 16, 8, false},
    {"large put across the end", UDP_FRAME_PUT, UDP_KEY_SEGMENT, SEGMENT - LARGE + 1, LARGE, true},
    {"large put to an address", UDP_FRAME_PUT, UDP_KEY_MEMORY, 16, LARGE, true},
    {"Long behind the segment", UDP_FRAME_LONG, UDP_KEY_SEGMENT, SEGMENT, 8, false},
    {"Long to an address", UDP_FRAME_LONG, UDP_KEY_MEMORY, 16, 8, false},
    {"get behind the segment", UDP_FRAME_GET, UDP_KEY_SEGMENT, SEGMENT, 8, false},
    {"get across its end", UDP_FRAME_GET, UDP_KEY_SEGMENT, SEGMENT - 7, 8, false},
    {"get of an address", UDP_FRAME_GET, UDP_KEY_MEMORY, 16, 8, false},
};

static void play_attack(const attack_t *attack)
{
    const bool absolute = attack->key == UDP_KEY_MEMORY;
    const uint64_t place =
        udp_place_make(attack->key, absolute ? (uintptr_t)memory + attack->offset : attack->offset);
    if (attack->large_first)
        receive_rma(UDP_FRAME_PUT, udp_place_make(UDP_KEY_SEGMENT, 0), LARGE, 0);
    assert_int_equal(udp->receiving.large, attack->large_first);
    if (attack->type == UDP_FRAME_LONG)
        receive_long(place, attack->nbytes);
    else
        receive_rma(attack->type, place, attack->nbytes, 1);
}

// Removes datagrams that a child peeked at and did not receive: the children share one socket.
static void socket_drain(void)
{
    char byte;
    while (recv(udp->socket.fd, &byte, 1, MSG_DONTWAIT) >= 0)
        ;
}

// Runs the attack in a child process, which must end with exit code 1; returns what the child wrote
// to standard error.
static char *errors_of_child(void (*run)(const void *), const void *with)
{
    static char text[4096];
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        run(with);
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)got;
    text[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    socket_drain();
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    return text;
}

static void check_memory_is_untouched(void)
{
    for (size_t i = 0; i < AROUND; i++) {
        assert_int_equal(memory[i], 0xc5);
        assert_int_equal(memory[AROUND + SEGMENT + i], 0xc5);
    }
}

static void attack_in_child(const void *attack)
{
    play_attack(attack);
}

static void an_address_outside_of_segments_ends_the_job(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof attacks / sizeof attacks[0]; i++) {
        print_message("%s\n", attacks[i].name);
        memset(memory, 0xc5, 2 * AROUND + SEGMENT);
        const char *said = errors_of_child(attack_in_child, &attacks[i]);
        assert_non_null(strstr(said, "rank 1 names "));
        assert_non_null(strstr(said, "which are not in a segment"));
        check_memory_is_untouched();
    }
}

// ---- replies to gets ----

// Begins a get of 8 bytes into the memory in front of the segment; returns its cookie.
static uint64_t get_begin(void)
{
    static atomic_uint pending;
    udp_link_t *link = udp_link_get(udp, 1);
    aq_rma_t get = {.remote = (void *)segment_addr[1],
                    .local = memory,
                    .nbytes = 8,
                    .pending = &pending,
                    .kind = AQ_RMA_GET};
    assert_int_equal(udp_rma(&udp->base, link, &get), AQ_OK);
    assert_int_equal(get.nbytes, 0);
    return (uint64_t)link->gets.outstanding.slots[0].generation << 32;
}

static void answer_without_get(const void *unused)
{
    (void)unused;
    receive_rma(UDP_FRAME_GOT, 0, 8, UINT64_C(1) << 32);
}

static void answer_too_long(const void *unused)
{
    (void)unused;
    receive_rma(UDP_FRAME_GOT, 0, 16, get_begin());
}

static void answer_twice(const void *unused)
{
    (void)unused;
    uint64_t cookie = get_begin();
    receive_rma(UDP_FRAME_GOT, 0, 8, cookie);
    if (memory[0] != 0x77) // the first answer is legal
        _exit(2);
    memset(memory, 0xc5, AROUND);
    receive_rma(UDP_FRAME_GOT, 0, 8, cookie);
}

static void answer_with_pointer_as_cookie(const void *unused)
{
    (void)unused;
    (void)get_begin();
    receive_rma(UDP_FRAME_GOT, 0, 8, (uintptr_t)memory);
}

static void an_answer_without_a_pending_get_ends_the_job(void **state)
{
    (void)state;
    static void (*const answers[])(const void *) = {answer_without_get, answer_too_long,
                                                    answer_twice, answer_with_pointer_as_cookie};
    for (unsigned i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        memset(memory, 0xc5, 2 * AROUND + SEGMENT);
        const char *said = errors_of_child(answers[i], NULL);
        assert_non_null(strstr(said, "rank 1 answers a get that does not wait"));
        check_memory_is_untouched();
    }
}

// ---- legal accesses ----

static void accesses_inside_the_segment_are_performed(void **state)
{
    (void)state;
    memset(memory, 0xc5, 2 * AROUND + SEGMENT);
    receive_rma(UDP_FRAME_PUT, udp_place_make(UDP_KEY_SEGMENT, SEGMENT - 8), 8, 0);
    assert_int_equal(memory[AROUND + SEGMENT - 1], 0x77);
    assert_int_equal(memory[AROUND + SEGMENT - 9], 0xc5);
    receive_rma(UDP_FRAME_PUT, udp_place_make(UDP_KEY_SEGMENT, SEGMENT), 0, 0); // no byte at all
    receive_rma(UDP_FRAME_GET, udp_place_make(UDP_KEY_SEGMENT, 0), 8, 5);
    check_memory_is_untouched();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_outside_of_segments_ends_the_job),
        cmocka_unit_test(an_answer_without_a_pending_get_ends_the_job),
        cmocka_unit_test(accesses_inside_the_segment_are_performed),
    };
    return cmocka_run_group_tests(tests, open_conduit, NULL);
}
