/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sort.c - samplesort: sorts numbers that are divided over the ranks, by messages with two sides.
 *
 *     every rank:  sorts its numbers, and sends some of them, evenly spaced, to rank 0
 *     rank 0:      sorts these samples, and tells all ranks the splitters between the ranks
 *     every rank:  sends each rank the numbers between its splitters, and sorts what it receives
 *
 * Then rank r has only numbers that are not greater than those of rank r + 1. Nobody knows before
 * how many numbers a message has: the receiver probes for it.
 *
 * The check: each rank's numbers ascend, also towards the next rank, and their count and sum are
 * those of all numbers that were made.
 */
#include "example.h"

#include <aqueduct_msg.h>

static const char help[] =
    "usage: samplesort [--numbers N] [--samples S]\n"
    "Sorts N numbers that are divided over the ranks, and checks the result.\n"
    "  --numbers N  of all ranks together (0 to 1000000000; default 1000000)\n"
    "  --samples S  of each rank, from which the splitters are chosen (1 to 10000; default 64)\n";

enum { SAMPLES, SPLITTERS, NUMBERS, GREATEST }; /* tags */

static uint64_t count_of_all = 1000000, samples = 64;

typedef struct numbers {
    uint64_t *list;
    uint64_t count;
} numbers_t;

/* Number i of all: a hash, so that any number of ranks makes the same numbers. */
static uint64_t number_at(uint64_t i)
{
    uint64_t x = i + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static numbers_t numbers_make(void)
{
    const uint64_t first = example_share(count_of_all, job.me);
    numbers_t numbers = {NULL, example_share(count_of_all, job.me + 1) - first};
    numbers.list = example_alloc(numbers.count, sizeof *numbers.list);
    for (uint64_t i = 0; i < numbers.count; i++)
        numbers.list[i] = number_at(first + i);
    return numbers;
}

static int number_compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void numbers_sort(numbers_t numbers)
{
    qsort(numbers.list, numbers.count, sizeof *numbers.list, number_compare);
}

/* Evenly spaced numbers of a sorted list; the greatest possible number where there are none. */
static void samples_take(numbers_t sorted, uint64_t *taken, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        taken[i] = sorted.count ? sorted.list[sorted.count * i / count] : UINT64_MAX;
}

/* Rank 0: the splitters from the samples of all ranks, which come in any order. */
static void splitters_choose(uint64_t *splitters)
{
    const uint64_t all = samples * job.ranks;
    numbers_t from = {example_alloc(all, sizeof(uint64_t)), all};
    for (gex_Rank_t i = 0; i < job.ranks; i++)
        gasnetx_Msg_Recv(job.tm, GASNETX_ANY_RANK, SAMPLES, from.list + i * samples,
                         samples * sizeof(uint64_t), NULL);
    numbers_sort(from);
    for (gex_Rank_t i = 1; i < job.ranks; i++)
        splitters[i - 1] = from.list[i * samples];
    free(from.list);
    for (gex_Rank_t to = 0; to < job.ranks; to++)
        gasnetx_Msg_Send(job.tm, to, SPLITTERS, splitters, (job.ranks - 1) * sizeof(uint64_t));
}

/* The numbers of which rank i gets those below splitters[i], as far as a lower rank does not. */
static void splitters_agree(numbers_t sorted, uint64_t *splitters)
{
    uint64_t *mine = example_alloc(samples, sizeof *mine);
    gasnetx_Request_t send, receive;
    samples_take(sorted, mine, samples);
    gasnetx_Msg_RecvNB(job.tm, 0, SPLITTERS, splitters, (job.ranks - 1) * sizeof(uint64_t),
                       &receive);
    gasnetx_Msg_SendNB(job.tm, 0, SAMPLES, mine, samples * sizeof *mine, &send);
    if (job.me == 0)
        splitters_choose(splitters);
    gasnetx_Request_Wait(&receive, NULL);
    gasnetx_Request_Wait(&send, NULL);
    free(mine);
}

/* Begins to send each rank its part of the sorted numbers. */
static void parts_send(numbers_t sorted, const uint64_t *splitters, gasnetx_Request_t *sends)
{
    uint64_t from = 0, to;
    for (gex_Rank_t rank = 0; rank < job.ranks; rank++, from = to) {
        to = from;
        while (to < sorted.count && (rank + 1 == job.ranks || sorted.list[to] < splitters[rank]))
            to++;
        gasnetx_Msg_SendNB(job.tm, rank, NUMBERS, sorted.list + from,
                           (to - from) * sizeof(uint64_t), &sends[rank]);
    }
}

/* Receives a part from each rank, in any order. */
static numbers_t parts_receive(void)
{
    numbers_t got = {NULL, 0};
    for (gex_Rank_t i = 0; i < job.ranks; i++) {
        gasnetx_msg_status_t status;
        while (gasnetx_Msg_Probe(job.tm, GASNETX_ANY_RANK, NUMBERS, &status) != GASNET_OK) {
        }
        const uint64_t count = status.nbytes / sizeof(uint64_t);
        got.list = realloc(got.list, (got.count + count + 1) * sizeof(uint64_t));
        if (!got.list)
            example_fatal("no memory for %" PRIu64 " numbers; sort fewer.", got.count + count);
        gasnetx_Msg_Recv(job.tm, status.rank, NUMBERS, got.list + got.count, status.nbytes, NULL);
        got.count += count;
    }
    return got;
}

static numbers_t sort_all(numbers_t numbers)
{
    uint64_t *splitters = example_alloc(job.ranks, sizeof *splitters);
    gasnetx_Request_t *sends = example_alloc(job.ranks, sizeof *sends);
    numbers_sort(numbers);
    splitters_agree(numbers, splitters);
    parts_send(numbers, splitters, sends);
    numbers_t got = parts_receive();
    gasnetx_Request_WaitAll(sends, job.ranks, NULL);
    numbers_sort(got);
    free(splitters);
    free(sends);
    return got;
}

/* ---- the check ---- */

static uint64_t sum_of(numbers_t numbers)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < numbers.count; i++)
        sum += numbers.list[i];
    return sum;
}

/* The greatest number of all lower ranks, which pass it on; 0: there is none. */
static uint64_t greatest_below(numbers_t sorted)
{
    uint64_t below = 0;
    if (job.me > 0)
        gasnetx_Msg_Recv(job.tm, job.me - 1, GREATEST, &below, sizeof below, NULL);
    const uint64_t greatest = sorted.count ? sorted.list[sorted.count - 1] : below;
    if (job.me + 1 < job.ranks)
        gasnetx_Msg_Send(job.tm, job.me + 1, GREATEST, &greatest, sizeof greatest);
    return below;
}

/* Places where a number is smaller than the one before it. */
static uint64_t descents(numbers_t sorted)
{
    uint64_t last = greatest_below(sorted), found = 0;
    for (uint64_t i = 0; i < sorted.count; i++) {
        found += sorted.list[i] < last;
        last = sorted.list[i];
    }
    return found;
}

int main(int argc, char **argv)
{
    const example_option_t options[] = {{"--numbers", 0, 1000000000, &count_of_all},
                                        {"--samples", 1, 10000, &samples}};
    example_start("samplesort", help, &argc, &argv, NULL, 0);
    example_no_arguments(argc, argv, example_options(argc, argv, options, 2));
    numbers_t numbers = numbers_make();
    const uint64_t made = example_sum(sum_of(numbers));
    const double start = example_seconds();
    numbers_t sorted = sort_all(numbers);
    example_barrier();
    const double seconds = example_seconds() - start;
    const uint64_t wrong = example_sum(descents(sorted)), count = example_sum(sorted.count);
    const uint64_t sum = example_sum(sum_of(sorted));
    const int ok = !wrong && count == count_of_all && sum == made;
    if (job.me == 0)
        printf("%" PRIu64 " numbers by %u ranks: %.3f s, %.1f million/s\ncheck: %s\n", count,
               (unsigned)job.ranks, seconds, (double)count / seconds * 1e-6,
               ok ? "ok" : "the numbers are not sorted, or not all there");
    free(numbers.list);
    free(sorted.list);
    example_finish(ok ? 0 : 1);
}
