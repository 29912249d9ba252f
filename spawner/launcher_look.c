// Readers of a job with several hosts (gasnet_top), at an abstract socket of the launcher: each
// look goes down the tree, and the answers of the hosts go to the readers
// (other/observe/look_format.h).
//
// A reader cannot hold the job up: its answers wait in memory up to a limit, and then it is cut
// off.
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../other/observe/look_format.h"
#include "launcher_job.h"

enum { WAITING_MOST = 64 << 20, REQUESTS = 64 };

static void reader_close(aq_look_reader_t *reader)
{
    aq_link_close(&reader->link);
    *reader = (aq_look_reader_t){.link.fd = -1};
}

void aq_launcher_look_start(aq_launcher_t *launcher)
{
    struct sockaddr_un address;
    const socklen_t length = aq_look_address(getpid(), &address);
    aq_look_t *look = &launcher->look;
    for (unsigned i = 0; i < AQ_LOOK_READERS; i++)
        look->readers[i].link.fd = -1;
    look->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (look->listener < 0)
        return;
    if (bind(look->listener, (struct sockaddr *)&address, length) == 0 &&
        listen(look->listener, AQ_LOOK_READERS) == 0)
        return;
    (void)close(look->listener); // the job goes on without readers
    look->listener = -1;
}

// ---- requests ----

static void send_look(aq_launcher_t *launcher)
{
    aq_bytes_t bytes = {0};
    aq_write_number(&bytes, AQ_MSG_LOOK, ++launcher->look.number);
    aq_node_down(&launcher->node, &bytes);
    aq_bytes_free(&bytes);
}

static void take_requests(aq_launcher_t *launcher, aq_look_reader_t *reader)
{
    uint8_t requests[REQUESTS];
    const ssize_t got = read(reader->link.fd, requests, sizeof requests);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        reader_close(reader);
        return;
    }
    const size_t begin = aq_frame_begin(&reader->link.out, AQ_LOOK_HOSTS);
    aq_put_u32(&reader->link.out, launcher->go.places);
    aq_frame_end(&reader->link.out, begin);
    reader->asked = true;
    send_look(launcher);
}

static void serve_reader(aq_node_t *node, void *item, short events)
{
    aq_look_reader_t *reader = item;
    if (reader->link.fd >= 0 && (events & (POLLIN | POLLHUP | POLLERR)))
        take_requests(aq_launcher_of(node), reader);
    if (reader->link.fd >= 0 && aq_link_flush(&reader->link) != 0)
        reader_close(reader);
}

static aq_look_reader_t *free_reader(aq_look_t *look)
{
    for (unsigned i = 0; i < AQ_LOOK_READERS; i++)
        if (look->readers[i].link.fd < 0)
            return &look->readers[i];
    return NULL;
}

static void serve_listener(aq_node_t *node, void *item, short events)
{
    aq_look_t *look = item;
    aq_look_reader_t *reader = free_reader(look);
    (void)node;
    (void)events;
    const int fd = reader ? accept4(look->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    if (fd >= 0 && aq_look_is_ours(fd, geteuid()))
        aq_link_open(&reader->link, fd);
    else if (fd >= 0)
        (void)close(fd);
}

void aq_launcher_look_watch(aq_launcher_t *launcher)
{
    aq_look_t *look = &launcher->look;
    if (look->listener >= 0 && free_reader(look) != NULL)
        aq_node_watch(&launcher->node, look->listener, POLLIN, serve_listener, look);
    for (unsigned i = 0; i < AQ_LOOK_READERS; i++) {
        aq_look_reader_t *reader = &look->readers[i];
        const bool waits = reader->link.fd >= 0 && aq_link_waiting(&reader->link) > 0;
        if (reader->link.fd >= 0)
            aq_node_watch(&launcher->node, reader->link.fd, (short)(POLLIN | (waits ? POLLOUT : 0)),
                          serve_reader, reader);
    }
}

// ---- answers ----

void aq_launcher_look_answer(aq_launcher_t *launcher, const aq_frame_t *frame)
{
    for (unsigned i = 0; i < AQ_LOOK_READERS; i++) {
        aq_look_reader_t *reader = &launcher->look.readers[i];
        if (reader->link.fd < 0 || !reader->asked)
            continue;
        const size_t begin = aq_frame_begin(&reader->link.out, AQ_LOOK_SEEN);
        aq_put_raw(&reader->link.out, frame->payload.at, frame->payload.left);
        aq_frame_end(&reader->link.out, begin);
        if (aq_link_waiting(&reader->link) > WAITING_MOST || aq_link_flush(&reader->link) != 0)
            reader_close(reader);
    }
}
