// SPDX-License-Identifier: BSD-3-Clause
// Accepts readers, reads their requests, and queues the answers. The launcher (launcher_look.c) and
// each helper (helper_look.c) have one such table in their loop.
#include "look_readers.h"

#include <errno.h>
#include <unistd.h>

#include "../../other/base/system/local_socket.h"
#include "node_watch.h"

static void reader_close(aq_look_reader_t *reader)
{
    aq_link_close(&reader->link);
    *reader = (aq_look_reader_t){.of = reader->of, .link.fd = -1};
}

void aq_readers_init(aq_look_readers_t *readers, aq_look_query_t *query)
{
    *readers = (aq_look_readers_t){.listener = -1, .query = query};
    for (unsigned i = 0; i < AQ_LOOK_READERS; i++)
        readers->reader[i] = (aq_look_reader_t){.of = readers, .link.fd = -1};
}

void aq_readers_listen(aq_look_readers_t *readers, const struct sockaddr_un *address,
                       socklen_t length)
{
    readers->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (readers->listener < 0)
        return;
    if (bind(readers->listener, (const struct sockaddr *)address, length) == 0 &&
        listen(readers->listener, AQ_LOOK_READERS) == 0)
        return;
    (void)close(readers->listener);
    readers->listener = -1;
}

// ---- requests ----

bool aq_look_is_request(unsigned what)
{
    return what == AQ_LOOK_ALL || what == AQ_LOOK_ONE || what == AQ_LOOK_STACK;
}

// Returns false if the reader asks for something unknown.
static bool take_request(aq_node_t *node, aq_look_reader_t *reader)
{
    aq_view_t view = {.at = reader->request, .left = AQ_LOOK_REQUEST};
    const unsigned what = aq_get_u8(&view);
    const uint32_t rank = aq_get_u32(&view);
    if (!aq_look_is_request(what))
        return false;
    reader->of->query(node, reader, (aq_look_request_t)what, rank);
    return true;
}

static void take_requests(aq_node_t *node, aq_look_reader_t *reader)
{
    const size_t size = AQ_LOOK_REQUEST - reader->request_bytes;
    const ssize_t got = read(reader->link.fd, reader->request + reader->request_bytes, size);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    reader->request_bytes += got > 0 ? (size_t)got : 0;
    bool fine = got > 0;
    if (fine && reader->request_bytes == AQ_LOOK_REQUEST) {
        reader->request_bytes = 0;
        fine = take_request(node, reader);
    }
    if (!fine)
        reader_close(reader);
}

static void serve_reader(aq_node_t *node, void *item, short events)
{
    aq_look_reader_t *reader = item;
    if (reader->link.fd >= 0 && (events & (POLLIN | POLLHUP | POLLERR)))
        take_requests(node, reader);
    if (reader->link.fd >= 0 && aq_link_flush(&reader->link) != 0)
        reader_close(reader);
}

static aq_look_reader_t *free_reader(aq_look_readers_t *readers)
{
    for (unsigned i = 0; i < AQ_LOOK_READERS; i++)
        if (readers->reader[i].link.fd < 0)
            return &readers->reader[i];
    return NULL;
}

static void serve_listener(aq_node_t *node, void *item, short events)
{
    aq_look_readers_t *readers = item;
    aq_look_reader_t *reader = free_reader(readers);
    (void)node;
    (void)events;
    const int fd =
        reader ? accept4(readers->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    if (fd >= 0 && aq_local_is_own_or_root(fd))
        aq_link_open(&reader->link, fd);
    else if (fd >= 0)
        (void)close(fd);
}

void aq_readers_watch(aq_look_readers_t *readers, aq_node_t *node)
{
    if (readers->listener >= 0 && free_reader(readers) != NULL)
        aq_node_watch(node, readers->listener, POLLIN, serve_listener, readers);
    for (unsigned i = 0; i < AQ_LOOK_READERS; i++) {
        aq_look_reader_t *reader = &readers->reader[i];
        const bool waits = reader->link.fd >= 0 && aq_link_waiting(&reader->link) > 0;
        if (reader->link.fd >= 0)
            aq_node_watch(node, reader->link.fd, (short)(POLLIN | (waits ? POLLOUT : 0)),
                          serve_reader, reader);
    }
}

// ---- answers ----

aq_look_reader_t *aq_readers_find(aq_look_readers_t *readers, uint32_t number)
{
    for (unsigned i = 0; i < AQ_LOOK_READERS; i++)
        if (readers->reader[i].link.fd >= 0 && number != 0 && readers->reader[i].number == number)
            return &readers->reader[i];
    return NULL;
}

void aq_reader_tell(aq_look_reader_t *reader, unsigned type, const uint8_t *data, size_t length)
{
    aq_bytes_t *out = &reader->link.out;
    const size_t begin = aq_frame_begin(out, type);
    aq_put_raw(out, data, length);
    aq_frame_end(out, begin);
    if (aq_link_waiting(&reader->link) > AQ_LOOK_WAITING_MAX)
        reader_close(reader);
    else if (aq_link_flush(&reader->link) != 0)
        reader_close(reader);
}
