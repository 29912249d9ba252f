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

enum { WAITING_MOST = 64 << 20 };

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

static void send_look(aq_launcher_t *launcher, const aq_look_order_t *order)
{
    aq_bytes_t bytes = {0};
    aq_write_look(&bytes, order);
    aq_node_down(&launcher->node, &bytes);
    aq_bytes_free(&bytes);
}

// The hosts that will answer.
static uint32_t hosts_with_ranks(const aq_launcher_t *launcher)
{
    uint32_t count = 0;
    for (uint32_t host = 0; host < launcher->node.spec.host_count; host++)
        count += launcher->hosts[host] == HOST_STARTED;
    return launcher->phase == LAUNCH_STARTING ? 0 : count;
}

static void tell_hosts(aq_launcher_t *launcher, aq_look_reader_t *reader, uint32_t answers)
{
    aq_bytes_t *out = &reader->link.out;
    const size_t begin = aq_frame_begin(out, AQ_LOOK_HOSTS);
    aq_put_u32(out, reader->number);
    aq_put_u32(out, answers);
    aq_put_u64(out, aq_boot_number(launcher->node.spec.key));
    aq_frame_end(out, begin);
}

// Returns false if the reader asks for something unknown.
static bool take_request(aq_launcher_t *launcher, aq_look_reader_t *reader)
{
    aq_view_t view = {.at = reader->request, .left = AQ_LOOK_REQUEST};
    aq_look_order_t order = {.what = aq_get_u8(&view), .rank = aq_get_u32(&view)};
    const bool all = order.what == AQ_LOOK_ALL;
    if (!all && order.what != AQ_LOOK_ONE && order.what != AQ_LOOK_STACK)
        return false;
    const uint32_t hosts = hosts_with_ranks(launcher);
    const uint32_t one = hosts > 0 && order.rank < launcher->node.spec.size;
    order.number = reader->number = ++launcher->look.number;
    tell_hosts(launcher, reader, all ? hosts : one);
    send_look(launcher, &order);
    return true;
}

static void take_requests(aq_launcher_t *launcher, aq_look_reader_t *reader)
{
    const size_t room = AQ_LOOK_REQUEST - reader->request_bytes;
    const ssize_t got = read(reader->link.fd, reader->request + reader->request_bytes, room);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    reader->request_bytes += got > 0 ? (size_t)got : 0;
    bool fine = got > 0;
    if (fine && reader->request_bytes == AQ_LOOK_REQUEST) {
        fine = take_request(launcher, reader);
        reader->request_bytes = 0;
    }
    if (!fine)
        reader_close(reader);
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

static void pass_answer(aq_look_reader_t *reader, const aq_frame_t *frame)
{
    const size_t begin = aq_frame_begin(&reader->link.out, AQ_LOOK_SEEN);
    aq_put_raw(&reader->link.out, frame->payload.at, frame->payload.left);
    aq_frame_end(&reader->link.out, begin);
    if (aq_link_waiting(&reader->link) > WAITING_MOST || aq_link_flush(&reader->link) != 0)
        reader_close(reader);
}

void aq_launcher_look_answer(aq_launcher_t *launcher, const aq_frame_t *frame)
{
    aq_view_t view = frame->payload;
    const uint32_t number = aq_get_u32(&view);
    for (unsigned i = 0; i < AQ_LOOK_READERS; i++) {
        aq_look_reader_t *reader = &launcher->look.readers[i];
        if (reader->link.fd >= 0 && number != 0 && reader->number == number)
            pass_answer(reader, frame);
    }
}
