// SPDX-License-Identifier: BSD-3-Clause
// Children of a process of the tree that the daemons of a universe fork.
#include <stdio.h>
#include <stdlib.h>

#include "node_dial.h"
#include "node_tree.h"
#include "node_watch.h"
#include "node_start.h"

// The daemon forks a helper, which goes on with the connection.
static void send_job(aq_node_t *node, aq_child_t *child)
{
    child->link = child->dial->link;
    child->dial->link.fd = -1;
    aq_link_bear(&child->link, node->spec.tree.silence_ms);
    snprintf(child->seen, sizeof child->seen, "%s", child->dial->address);
    free(child->dial);
    child->dial = NULL;
    child->state = AQ_CHILD_UP;
    aq_write_empty(&child->link.out, AQ_MSG_HELPER);
    aq_node_send_job(node, child);
}

static void turn_dial(aq_node_t *node, aq_child_t *child)
{
    char why[AQ_DIAL_TEXT];
    aq_status_t status = aq_dial_turn(child->dial, node->key);
    if (status == AQ_OK)
        send_job(node, child);
    else if (status != AQ_AGAIN) {
        snprintf(why, sizeof why, "%s", child->dial->why);
        aq_node_lose_child(node, child, why);
    }
}

static void serve_dial(aq_node_t *node, void *item, short events)
{
    aq_child_t *child = item;
    (void)events;
    if (child->dial != NULL)
        turn_dial(node, child);
}

void aq_node_watch_dials(aq_node_t *node)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        aq_child_t *child = &node->children[i];
        if (child->dial != NULL && child->dial->link.fd >= 0)
            aq_node_watch(node, child->dial->link.fd, aq_dial_events(child->dial), serve_dial,
                          child);
    }
}

// Calls that failed at once, and addresses that do not answer.
void aq_node_check_dials(aq_node_t *node)
{
    for (uint32_t i = 0; i < node->child_count; i++)
        if (node->children[i].dial != NULL)
            turn_dial(node, &node->children[i]);
}
