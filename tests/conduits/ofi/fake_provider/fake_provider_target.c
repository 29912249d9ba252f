// SPDX-License-Identifier: BSD-3-Clause
// What the target of an operation does when the operation has arrived completely.
#include "fake_provider.h"

#include <stdlib.h>
#include <string.h>

static bool chance(unsigned percent)
{
    static uint64_t state;
    if (state == 0)
        state = 0x9e3779b97f4a7c15 * (fake_number(WORD_SEED) + 1);
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 33) % 100 < percent;
}

bool fake_again(void)
{
    return fake_number(WORD_AGAIN) && chance(fake_number(WORD_AGAIN));
}

void fake_reply(fake_endpoint_t *endpoint, const fake_head_t *to, int status, char *owned,
                size_t bytes)
{
    fake_out_t *out = fake_alloc(sizeof *out);
    out->head.kind = owned ? FAKE_DATA : FAKE_ACK;
    out->head.number = to->number;
    out->head.status = (uint32_t)status;
    out->head.total = owned ? bytes : 0;
    out->owned = owned;
    fake_out_queue(endpoint, fake_peer_find(endpoint, to->source), out);
}

// ---- messages ----

static void receive_remove_first(fake_endpoint_t *endpoint)
{
    fake_receive_t *receive = endpoint->receives;
    endpoint->receives = receive->next;
    endpoint->receive_count--;
    fake_context_give_back(receive->context);
    free(receive);
}

static size_t receive_fill(fake_receive_t *receive, const fake_arrival_t *arrival)
{
    const size_t room = receive->bytes - receive->used;
    size_t bytes = arrival->head.total < room ? arrival->head.total : room;
    const size_t filled = bytes;
    const char *from = arrival->bytes;
    size_t skip = receive->used;
    for (size_t i = 0; i < receive->iov_count && bytes; i++) {
        const size_t length =
            receive->iov[i].iov_len - skip < bytes ? receive->iov[i].iov_len - skip : bytes;
        memcpy((char *)receive->iov[i].iov_base + skip, from, length);
        from += length;
        bytes -= length;
        skip = 0;
    }
    return filled;
}

static fake_completion_t receive_completion(const fake_endpoint_t *endpoint,
                                            const fake_receive_t *receive,
                                            const fake_arrival_t *arrival, size_t filled)
{
    char *base = receive->iov_count ? receive->iov[0].iov_base : NULL;
    const fake_head_t *head = &arrival->head;
    return (fake_completion_t){
        .context = receive->context,
        .flags = FI_MSG | FI_RECV | (head->has_data ? FI_REMOTE_CQ_DATA : 0),
        .length = filled,
        .buffer = base ? base + receive->used : NULL,
        .data = head->has_data ? head->data : 0,
        .source = fake_word(WORD_NO_SOURCE) ? FI_ADDR_NOTAVAIL
                                            : fake_av_reverse(endpoint->av, head->source),
        .error = filled < head->total ? FI_ETRUNC : 0,
        .lost = head->total - filled,
    };
}

static void release_report(fake_endpoint_t *endpoint, const fake_receive_t *receive)
{
    const fake_completion_t release = {
        .context = receive->context, .flags = FI_MULTI_RECV, .source = FI_ADDR_NOTAVAIL};
    fake_cq_add(endpoint->rx_cq, &release);
}

// Gives the message to the first receive, which there is.
static void message_deliver(fake_endpoint_t *endpoint, const fake_arrival_t *arrival)
{
    fake_receive_t *receive = endpoint->receives;
    const size_t filled = receive_fill(receive, arrival);
    fake_completion_t completion = receive_completion(endpoint, receive, arrival, filled);
    receive->used += filled;
    const bool ends = !receive->multi || receive->bytes - receive->used < endpoint->least_multi ||
                      receive->used == receive->bytes;
    const bool releases = ends && receive->multi, apart = fake_word(WORD_APART);
    if (releases && !apart)
        completion.flags |= FI_MULTI_RECV;
    if (receive->wants_completion || completion.error)
        fake_cq_add(endpoint->rx_cq, &completion);
    if (releases && apart)
        release_report(endpoint, receive);
    if (arrival->head.delivery)
        fake_reply(endpoint, &arrival->head, completion.error, NULL, 0);
    if (ends)
        receive_remove_first(endpoint);
}

static void arrival_free(fake_arrival_t *arrival)
{
    free(arrival->bytes);
    free(arrival);
}

void fake_unexpected_match(fake_endpoint_t *endpoint)
{
    while (endpoint->unexpected && endpoint->receives) {
        fake_arrival_t *arrival = endpoint->unexpected;
        endpoint->unexpected = arrival->next;
        message_deliver(endpoint, arrival);
        arrival_free(arrival);
    }
}

static void message_take(fake_endpoint_t *endpoint, fake_arrival_t *arrival)
{
    if (!endpoint->receives && fake_word(WORD_STRICT))
        fake_die("strict: a message of %llu bytes from %08x came while no receive was posted",
                 (unsigned long long)arrival->head.total, (unsigned)arrival->head.source);
    fake_arrival_t **at = &endpoint->unexpected;
    while (*at)
        at = &(*at)->next;
    arrival->next = NULL;
    *at = arrival;
    fake_unexpected_match(endpoint);
}

// ---- memory ----

// Without delivery-complete, a write is complete when its bytes have arrived: with the word
// reorder, some time before they are in the memory.
void fake_arrival_accept(fake_endpoint_t *endpoint, const fake_arrival_t *arrival)
{
    const fake_head_t *head = &arrival->head;
    int error;
    if (head->kind != FAKE_WRITE || head->delivery)
        return;
    fake_region_resolve(endpoint->domain, head->key, head->address, head->total, FI_REMOTE_WRITE,
                        &error);
    fake_reply(endpoint, head, error, NULL, 0);
}

static void write_take(fake_endpoint_t *endpoint, const fake_arrival_t *arrival)
{
    const fake_head_t *head = &arrival->head;
    int error;
    void *memory = fake_region_resolve(endpoint->domain, head->key, head->address, head->total,
                                       FI_REMOTE_WRITE, &error);
    if (memory)
        memcpy(memory, arrival->bytes, head->total);
    const fake_completion_t completion = {.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
                                          .data = head->data,
                                          .length = head->total,
                                          .source = fake_av_reverse(endpoint->av, head->source)};
    if (memory && head->has_data)
        fake_cq_add(endpoint->rx_cq, &completion);
    if (head->delivery)
        fake_reply(endpoint, head, error, NULL, 0);
}

static void read_take(fake_endpoint_t *endpoint, const fake_arrival_t *arrival)
{
    const fake_head_t *head = &arrival->head;
    int error;
    void *memory = fake_region_resolve(endpoint->domain, head->key, head->address, head->length,
                                       FI_REMOTE_READ, &error);
    char *copy = memory ? fake_alloc(head->length) : NULL;
    if (memory)
        memcpy(copy, memory, head->length);
    fake_reply(endpoint, head, error, copy, head->length);
}

static int atomic_check(const fake_arrival_t *arrival, size_t bytes)
{
    const fake_head_t *head = &arrival->head;
    const uint64_t sets = head->kind == FAKE_COMPARE ? 2 : 1;
    const size_t element = fake_datatype_bytes(head->datatype);
    if (element == 0 || !fake_operation_is_known(head->kind, head->operation))
        return FI_EOPNOTSUPP;
    return head->total == sets * bytes ? 0 : FI_EINVAL;
}

static void atomic_take(fake_endpoint_t *endpoint, const fake_arrival_t *arrival)
{
    const fake_head_t *head = &arrival->head;
    const size_t element = fake_datatype_bytes(head->datatype);
    const size_t bytes = head->length * element;
    char *result = NULL, *memory = NULL;
    int error = atomic_check(arrival, bytes);
    if (!error)
        memory = fake_region_resolve(endpoint->domain, head->key, head->address, bytes,
                                     FI_REMOTE_READ | FI_REMOTE_WRITE, &error);
    if (memory && (uintptr_t)memory % element)
        error = FI_EINVAL;
    if (!error) {
        result = head->kind == FAKE_ATOMIC ? NULL : fake_alloc(bytes);
        fake_atomic_run(head, memory, arrival->bytes, arrival->bytes + bytes, result);
    }
    fake_reply(endpoint, head, error, result, bytes);
}

// ---- requests ----

static void arrival_run(fake_endpoint_t *endpoint, fake_arrival_t *arrival)
{
    if (arrival->head.kind == FAKE_SEND) {
        message_take(endpoint, arrival);
        return;
    }
    if (arrival->head.kind == FAKE_WRITE)
        write_take(endpoint, arrival);
    else if (arrival->head.kind == FAKE_READ)
        read_take(endpoint, arrival);
    else
        atomic_take(endpoint, arrival);
    arrival_free(arrival);
}

// With reorder, each progress runs about half of what has arrived, and holds the others back.
void fake_arrivals_run(fake_endpoint_t *endpoint)
{
    fake_arrival_t **at = &endpoint->arrived;
    while (*at) {
        fake_arrival_t *arrival = *at;
        if (fake_word(WORD_REORDER) && chance(50)) {
            at = &arrival->next;
            continue;
        }
        *at = arrival->next;
        arrival_run(endpoint, arrival);
    }
}
