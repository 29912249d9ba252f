// SPDX-License-Identifier: BSD-3-Clause
// What a process of the tree waits for.
#include "node_watch.h"

#include <stdlib.h>
#include <unistd.h>

#include "../../other/base/log/log.h"

void aq_node_watch(aq_node_t *node, int fd, short events, aq_watcher_t *call, void *item)
{
    if (node->wait.count == node->wait.room) {
        size_t size = 2 * node->wait.room + 32;
        struct pollfd *polls = realloc(node->wait.polls, size * sizeof *polls);
        node->wait.polls = polls != NULL ? polls : node->wait.polls;
        aq_watch_t *watches = realloc(node->wait.watches, size * sizeof *watches);
        node->wait.watches = watches != NULL ? watches : node->wait.watches;
        if (polls == NULL || watches == NULL) {
            aq_log_error("no memory to watch the hosts of the job; the job is ended");
            _exit(1); // what this process started ends with its links
        }
        node->wait.room = size;
    }
    node->wait.polls[node->wait.count] = (struct pollfd){.fd = fd, .events = events};
    node->wait.watches[node->wait.count++] = (aq_watch_t){call, item};
}

void aq_node_wait(aq_node_t *node, int ms)
{
    size_t count = node->wait.count;
    if (poll(node->wait.polls, count, ms) > 0)
        for (size_t i = 0; i < count; i++)
            if (node->wait.polls[i].revents != 0)
                node->wait.watches[i].call(node, node->wait.watches[i].item,
                                           node->wait.polls[i].revents);
    node->wait.count = 0;
}
