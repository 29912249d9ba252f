// SPDX-License-Identifier: BSD-3-Clause
// examples/ring.c in C++: a message travels round a ring of nodes, and each node that it passes
// writes a line into its own segment.
#include <gasnet.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::uint32_t rounds = 100;

struct Line {
    std::uint32_t hop; // nodes that the message had passed, this one included
    std::uint32_t sum; // of their numbers
    bool operator==(const Line &other) const { return hop == other.hop && sum == other.sum; }
};

Line message; // as it came by here
volatile int waiting;

// Handlers may not send requests: the main program sends the message on.
extern "C" void on_message(gasnet_token_t, gasnet_handlerarg_t hop, gasnet_handlerarg_t sum)
{
    message = {static_cast<std::uint32_t>(hop), static_cast<std::uint32_t>(sum)};
    waiting = 1;
}

void barrier()
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

// What line i of a node must say.
Line expected(std::uint32_t node, std::uint32_t i)
{
    const std::uint32_t nodes = gasnet_nodes();
    return {i * nodes + node + 1, i * (nodes * (nodes - 1) / 2) + node * (node + 1) / 2};
}

std::uint32_t wrong_lines(gasnet_node_t node, void *segment)
{
    std::vector<Line> lines(rounds);
    std::uint32_t wrong = 0;
    gasnet_get_bulk(lines.data(), node, segment, rounds * sizeof(Line));
    for (std::uint32_t i = 0; i < rounds; i++)
        wrong += !(lines[i] == expected(node, i));
    return wrong;
}

} // namespace

int main(int argc, char **argv)
{
    gasnet_handlerentry_t handlers[] = {{0, reinterpret_cast<void (*)()>(on_message)}};
    if (gasnet_init(&argc, &argv) != GASNET_OK ||
        gasnet_attach(handlers, 1, GASNET_PAGESIZE, 0) != GASNET_OK)
        return 1;
    const gasnet_node_t me = gasnet_mynode(), nodes = gasnet_nodes();
    std::vector<gasnet_seginfo_t> segments(nodes);
    gasnet_getSegmentInfo(segments.data(), static_cast<int>(nodes));
    auto *lines = static_cast<Line *>(segments[me].addr);

    waiting = me == 0; // where it begins
    for (std::uint32_t passed = 0; passed < rounds; passed++) {
        GASNET_BLOCKUNTIL(waiting);
        waiting = 0;
        lines[passed] = {message.hop + 1, message.sum + me};
        if (lines[passed].hop < rounds * nodes)
            gasnet_AMRequestShort2((me + 1) % nodes, handlers[0].index,
                                   static_cast<gasnet_handlerarg_t>(lines[passed].hop),
                                   static_cast<gasnet_handlerarg_t>(lines[passed].sum));
    }
    barrier();
    std::uint32_t wrong = 0;
    for (gasnet_node_t n = 0; me == 0 && n < nodes; n++)
        wrong += wrong_lines(n, segments[n].addr);
    if (me == 0)
        std::printf("%u nodes, %u times round: %s\n", nodes, rounds,
                    wrong ? "wrong" : "all sums are right");
    std::fflush(stdout);
    barrier();
    gasnet_exit(wrong != 0);
}
