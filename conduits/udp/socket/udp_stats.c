// SPDX-License-Identifier: BSD-3-Clause
// Counts, names and prints: udp_receive.c counts drops with it, udp_conduit.c publishes and prints
// the counters.
#include "udp_stats.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdarg.h>

#include "../../../core/aqueduct.h"
#include "../../../other/base/log/log.h"
#include "../../../other/base/modules/observed.h"

static const char *const names[UDP_DROPS] = {
    [UDP_DROP_TRUNCATED] = "truncated",
    [UDP_DROP_VERSION] = "other version",
    [UDP_DROP_MALFORMED] = "malformed",
    [UDP_DROP_FOREIGN] = "other job",
    [UDP_DROP_FORGED] = "forged",
    [UDP_DROP_CORRUPTED] = "corrupted",
    [UDP_DROP_MISDIRECTED] = "for another rank",
    [UDP_DROP_UNCONNECTED] = "not connected",
    [UDP_DROP_REPLAYED] = "replayed",
    [UDP_DROP_DUPLICATE] = "duplicate",
    [UDP_DROP_OLD_EPOCH] = "old epoch",
    [UDP_DROP_FUTURE_EPOCH] = "future epoch",
    [UDP_DROP_BEYOND] = "beyond window",
    [UDP_DROP_NO_MEMORY] = "no memory",
};

// The reason that the client sees (core/aqueduct.h).
static const uint8_t reasons[UDP_DROPS] = {
    [UDP_DROP_TRUNCATED] = GASNETX_DROP_CORRUPTED,
    [UDP_DROP_VERSION] = GASNETX_DROP_MALFORMED,
    [UDP_DROP_MALFORMED] = GASNETX_DROP_MALFORMED,
    [UDP_DROP_FOREIGN] = GASNETX_DROP_FOREIGN,
    [UDP_DROP_FORGED] = GASNETX_DROP_FORGED,
    [UDP_DROP_CORRUPTED] = GASNETX_DROP_CORRUPTED,
    [UDP_DROP_MISDIRECTED] = GASNETX_DROP_MISDIRECTED,
    [UDP_DROP_UNCONNECTED] = GASNETX_DROP_MISDIRECTED,
    [UDP_DROP_REPLAYED] = GASNETX_DROP_REPLAYED,
    [UDP_DROP_DUPLICATE] = GASNETX_DROP_DUPLICATE,
    [UDP_DROP_OLD_EPOCH] = GASNETX_DROP_STALE,
    [UDP_DROP_FUTURE_EPOCH] = GASNETX_DROP_STALE,
    [UDP_DROP_BEYOND] = GASNETX_DROP_FULL,
    [UDP_DROP_NO_MEMORY] = GASNETX_DROP_FULL,
};

// What the user can do about many datagrams of a kind.
static const char *drop_remedy(udp_drop_t kind)
{
    if (kind == UDP_DROP_VERSION)
        return "run all ranks with the same release of the library";
    if (kind == UDP_DROP_CORRUPTED || kind == UDP_DROP_TRUNCATED)
        return "look for a faulty cable, card or switch on the way";
    return "if that is no process of yours, keep it off with a firewall or GASNET_UDP_PORTS";
}

static void tell_drop(udp_drop_t kind)
{
    aq_observed(AQ_OBSERVED_DROP, AQ_OBSERVED_NO_PEER, reasons[kind]);
}

void udp_stats_drop(udp_stats_t *stats, udp_drop_t kind)
{
    stats->drops[kind]++;
    tell_drop(kind);
}

void udp_stats_add(udp_stats_t *sum, const udp_stats_t *more)
{
    sum->datagrams_out += more->datagrams_out;
    sum->datagrams_in += more->datagrams_in;
    sum->acks_out += more->acks_out;
    sum->acks_in += more->acks_in;
    sum->frames_out += more->frames_out;
    sum->frames_in += more->frames_in;
    sum->bytes_out += more->bytes_out;
    sum->bytes_in += more->bytes_in;
    sum->resent += more->resent;
    sum->epochs += more->epochs;
    for (unsigned kind = 0; kind < UDP_DROPS; kind++)
        sum->drops[kind] += more->drops[kind];
    if (more->rtt_ns > sum->rtt_ns)
        sum->rtt_ns = more->rtt_ns;
}

void udp_stats_publish(const udp_stats_t *stats, gasnetx_counters_t *sum)
{
    sum->frames_sent += stats->frames_out;
    sum->frames_received += stats->frames_in;
    sum->packets_sent += stats->datagrams_out - stats->resent;
    sum->packets_received += stats->datagrams_in;
    sum->bytes_sent += stats->bytes_out;
    sum->bytes_received += stats->bytes_in;
    sum->retransmissions += stats->resent;
    for (unsigned kind = 0; kind < UDP_DROPS; kind++)
        sum->dropped[reasons[kind]] += stats->drops[kind];
}

void udp_unauthenticated_publish(const udp_unauthenticated_t *unauthenticated,
                                 gasnetx_counters_t *sum)
{
    for (unsigned kind = 0; kind < UDP_DROPS; kind++)
        sum->dropped[reasons[kind]] +=
            atomic_load_explicit(&unauthenticated->drops[kind], memory_order_relaxed);
}

bool udp_unauthenticated_drop(udp_unauthenticated_t *unauthenticated, udp_drop_t kind,
                              const udp_sockaddr_t *from)
{
    char text[UDP_ADDRESS_TEXT];
    const uint64_t count = ++unauthenticated->drops[kind];
    tell_drop(kind);
    if (unauthenticated->warned || count < UDP_UNAUTHENTICATED_WARN - 1)
        return false;
    if (count < UDP_UNAUTHENTICATED_WARN ||
        (!from->length && count < (uint64_t)2 * UDP_UNAUTHENTICATED_WARN))
        return true;
    unauthenticated->warned = true;
    aq_log_warn("%" PRIu64 " datagrams were dropped (%s), the last of them from %s; %s", count,
                names[kind], from->length ? udp_address_text(from, text) : "an unknown sender",
                drop_remedy(kind));
    return false;
}

// ---- printing ----

// A line that is written at once, so that lines of several processes do not mix.
typedef struct udp_line {
    char text[1024];
    size_t length;
} udp_line_t;

static void AQ_PRINTF(2, 3) line_add(udp_line_t *line, const char *fmt, ...)
{
    va_list args;
    size_t size = sizeof line->text - line->length;
    va_start(args, fmt);
    int length = vsnprintf(line->text + line->length, size, fmt, args);
    va_end(args);
    if (length > 0)
        line->length += (size_t)length < size ? (size_t)length : size - 1;
}

static double ratio_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void line_add_traffic(udp_line_t *line, const udp_stats_t *stats)
{
    line_add(line,
             "sent %" PRIu64 " datagrams (%" PRIu64 " again), %" PRIu64
             " frames (%.2f a datagram), %" PRIu64 " bytes, %" PRIu64 " acknowledgements; ",
             stats->datagrams_out, stats->resent, stats->frames_out,
             ratio_of(stats->frames_out, stats->datagrams_out - stats->resent), stats->bytes_out,
             stats->acks_out);
    line_add(line,
             "received %" PRIu64 " datagrams, %" PRIu64 " frames, %" PRIu64 " bytes, %" PRIu64
             " acknowledgements; %" PRIu64 " epochs; round trip %.1f us; ",
             stats->datagrams_in, stats->frames_in, stats->bytes_in, stats->acks_in, stats->epochs,
             (double)stats->rtt_ns / 1e3);
}

static void line_add_drops(udp_line_t *line, const uint64_t drops[UDP_DROPS])
{
    const char *gap = "";
    line_add(line, "dropped ");
    for (unsigned kind = 0; kind < UDP_DROPS; kind++) {
        if (!drops[kind])
            continue;
        line_add(line, "%s%" PRIu64 " %s", gap, drops[kind], names[kind]);
        gap = ", ";
    }
    if (!*gap)
        line_add(line, "none");
}

static void line_add_socket(udp_line_t *line, const udp_socket_t *socket)
{
    const udp_socket_counts_t *c = &socket->counts;
    char here[UDP_ADDRESS_TEXT];
    line_add(line,
             "; socket %s, %" PRIu64 " datagrams in %" PRIu64 " sends, %" PRIu64 " in %" PRIu64
             " receives, buffer full %" PRIu64 ", refused %" PRIu64,
             udp_address_text(&socket->here, here), c->sent, c->send_calls, c->received,
             c->receive_calls, c->full + c->no_buffers, c->refused + c->unreachable + c->too_long);
}

static void line_print(FILE *out, udp_line_t *line)
{
    line_add(line, "\n");
    line->text[line->length - 1] = '\n'; // also if the line was truncated
    fwrite(line->text, 1, line->length, out);
    fflush(out);
}

static void line_add_ep_id(udp_line_t *line, uint32_t ep_id)
{
    line_add(line, "rank %" PRIu32, udp_ep_id_rank(ep_id));
    if (udp_ep_id_endpoint(ep_id))
        line_add(line, " endpoint %u", udp_ep_id_endpoint(ep_id));
}

void udp_stats_print_peer(FILE *out, uint32_t ep_id, uint32_t peer, const udp_stats_t *stats)
{
    udp_line_t line = {.length = 0};
    line_add(&line, "udp: ");
    line_add_ep_id(&line, ep_id);
    line_add(&line, " with ");
    line_add_ep_id(&line, peer);
    line_add(&line, ": ");
    line_add_traffic(&line, stats);
    line_add_drops(&line, stats->drops);
    line_print(out, &line);
}

void udp_stats_print_all(FILE *out, uint32_t ep_id, const udp_stats_t *sum,
                         const udp_unauthenticated_t *unauthenticated, const udp_socket_t *socket)
{
    udp_line_t line = {.length = 0};
    udp_stats_t all = *sum;
    for (unsigned kind = 0; kind < UDP_DROPS; kind++)
        all.drops[kind] += unauthenticated->drops[kind];
    line_add(&line, "udp: ");
    line_add_ep_id(&line, ep_id);
    line_add(&line, " in all: ");
    line_add_traffic(&line, &all);
    line_add_drops(&line, all.drops);
    line_add(&line, "; arrived datagrams took up to %" PRIu64 " bytes", all.memory);
    line_add_socket(&line, socket);
    line_print(out, &line);
}
