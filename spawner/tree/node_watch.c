// SPDX-License-Identifier: BSD-3-Clause
// What a process of the tree waits for.
#include "node_watch.h"

#include <stdlib.h>
#include <unistd.h>

#include "../../other/base/log/log.h"

void aq_node_watch(aq_node_t *node, int fd, short events, aq_watcher_t *call, void *item)
{
    if (node->watch_count == node->watch_room) {
        size_t room = 2 * node->watch_room + 32;
        struct pollfd *polls = realloc(node->polls, room * sizeof *polls);
        node->polls = polls != NULL ? polls : node->polls;
        aq_watch_t *watches = realloc(node->watches, room * sizeof *watches);
        node->watches = watches != NULL ? watches : node->watches;
        if (polls == NULL || watches == NULL) {
            aq_log_error("no memory to watch the hosts of the job; the job is ended");
            _exit(1); // what this process started ends with its links
        }
        node->watch_room = room;
    }
    node->polls[node->watch_count] = (struct pollfd){.fd = fd, .events = events};
    node->watches[node->watch_count++] = (aq_watch_t){call, item};
}

void aq_node_wait(aq_node_t *node, int ms)
{
    size_t count = node->watch_count;
    if (poll(node->polls, count, ms) > 0)
        for (size_t i = 0; i < count; i++)
            if (node->polls[i].revents != 0)
                node->watches[i].call(node, node->watches[i].item, node->polls[i].revents);
    node->watch_count = 0;
}
