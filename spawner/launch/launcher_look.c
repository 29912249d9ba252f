// SPDX-License-Identifier: BSD-3-Clause
// Readers of a job with several hosts (gasnet_top), here or at a helper: each look goes down the
// tree, and the answers of the hosts go to the reader (other/observe/format/look_format.h).
#include <unistd.h>

#include "launcher_look.h"
#include "../tree/node_tree.h"

// The hosts that will answer.
static uint32_t hosts_with_ranks(const aq_launcher_t *launcher)
{
    uint32_t count = 0;
    for (uint32_t host = 0; host < launcher->node.spec.host_count; host++)
        count += launcher->start.states[host] == HOST_STARTED;
    return launcher->phase == LAUNCH_STARTING ? 0 : count;
}

// Sends a look with a new number down. Writes into out what the reader is told first.
static uint32_t look_send(aq_launcher_t *launcher, unsigned what, uint32_t rank, aq_bytes_t *out)
{
    aq_bytes_t frame = {0};
    const uint32_t hosts = hosts_with_ranks(launcher);
    const uint32_t one = hosts > 0 && rank < launcher->node.spec.size;
    const uint32_t number = ++launcher->look.number;
    aq_put_u32(out, number);
    aq_put_u32(out, what == AQ_LOOK_ALL ? hosts : one);
    aq_put_u64(out, aq_boot_number(launcher->node.spec.key));
    aq_write_query(&frame, &(aq_query_t){number, what, rank});
    aq_node_down(&launcher->node, &frame);
    aq_bytes_free(&frame);
    return number;
}

// ---- readers here ----

static void reader_query(aq_node_t *node, aq_look_reader_t *reader, aq_look_request_t what,
                         uint32_t rank)
{
    aq_bytes_t out = {0};
    reader->number = look_send(aq_launcher_of(node), what, rank, &out);
    aq_reader_tell(reader, AQ_LOOK_HOSTS, out.data, out.used);
    aq_bytes_free(&out);
}

void aq_launcher_look_start(aq_launcher_t *launcher)
{
    struct sockaddr_un address;
    const socklen_t length = aq_look_address(getpid(), &address);
    aq_readers_init(&launcher->look.readers, reader_query);
    aq_readers_listen(&launcher->look.readers, &address, length);
}

void aq_launcher_look_watch(aq_launcher_t *launcher)
{
    aq_readers_watch(&launcher->look.readers, &launcher->node);
}

// ---- readers at helpers ----

// Sends a frame to a reader at a helper. If the link is behind, the frame is dropped, and the
// reader has to do without it.
static void far_tell(aq_launcher_t *launcher, const aq_look_far_t *far, unsigned type,
                     aq_view_t what)
{
    aq_child_t *child = aq_node_child_of(&launcher->node, far->host);
    if (child != NULL && what.left <= AQ_READER_REPLY_MAX &&
        aq_link_waiting(&child->link) <= AQ_LOOK_WAITING_MAX)
        aq_write_reader_reply(&child->link.out,
                              &(aq_reader_reply_t){far->host, far->tag, type, what.at, what.left});
}

void aq_launcher_look_query(aq_launcher_t *launcher, const aq_frame_t *frame)
{
    aq_look_t *look = &launcher->look;
    aq_reader_query_t asker;
    aq_bytes_t out = {0};
    if (!aq_read_reader_query(frame->payload, &asker) || !aq_look_is_request(asker.what))
        return;
    const uint32_t number = look_send(launcher, asker.what, asker.rank, &out);
    aq_look_far_t *far = &look->far[look->next_far++ % AQ_LOOKS_FAR];
    *far = (aq_look_far_t){number, asker.host, asker.tag};
    if (!out.failed)
        far_tell(launcher, far, AQ_LOOK_HOSTS, (aq_view_t){.at = out.data, .left = out.used});
    aq_bytes_free(&out);
}

// ---- answers ----

void aq_launcher_look_answer(aq_launcher_t *launcher, const aq_frame_t *frame)
{
    aq_look_t *look = &launcher->look;
    aq_view_t view = frame->payload;
    const uint32_t number = aq_get_u32(&view);
    aq_look_reader_t *reader = aq_readers_find(&look->readers, number);
    if (reader != NULL)
        aq_reader_tell(reader, AQ_LOOK_SEEN, frame->payload.at, frame->payload.left);
    for (unsigned i = 0; i < AQ_LOOKS_FAR; i++)
        if (number != 0 && look->far[i].number == number)
            far_tell(launcher, &look->far[i], AQ_LOOK_SEEN, frame->payload);
}
