// SPDX-License-Identifier: BSD-3-Clause
// The children of a process of the tree, and frames that it makes for them and for the launcher.
#include "node_tree.h"

#include <stdlib.h>

void aq_node_part(uint32_t low, uint32_t high, uint32_t parts, uint32_t index, uint32_t *from,
                  uint32_t *to)
{
    uint32_t count = high - low, more = count % parts;
    *from = low + index * (count / parts) + (index < more ? index : more);
    *to = *from + count / parts + (index < more);
}

bool aq_node_split(aq_node_t *node, uint32_t low, uint32_t high, uint32_t parts)
{
    uint32_t count = high - low;
    parts = parts == 0 || parts > count ? count : parts;
    aq_child_t *children =
        realloc(node->children, (node->child_count + (size_t)parts + 1) * sizeof *children);
    if (children == NULL)
        return false;
    node->children = children;
    for (uint32_t i = 0; i < parts; i++) {
        aq_child_t *child = &children[node->child_count++];
        *child = (aq_child_t){.link.fd = -1};
        aq_remote_clear(&child->remote);
        aq_node_part(low, high, parts, i, &child->low, &child->high);
    }
    return true;
}

void aq_node_init(aq_node_t *node, const aq_node_ops_t *ops)
{
    *node = (aq_node_t){.ops = ops, .signals = -1};
    for (uint32_t i = 0; i < AQ_CALLERS; i++)
        node->calls.callers[i].link.fd = -1;
}

bool aq_node_is_quiet(const aq_node_t *node)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        const aq_child_t *child = &node->children[i];
        if (child->remote.pid > 0 || child->orphaned > 0 ||
            (child->state != AQ_CHILD_GONE && child->done < child->high - child->low))
            return false;
    }
    return true;
}

void aq_node_down(aq_node_t *node, const aq_bytes_t *frames)
{
    for (uint32_t i = 0; i < node->child_count; i++)
        if (aq_child_is_linked(&node->children[i]))
            aq_put_raw(&node->children[i].link.out, frames->data, frames->used);
}

void aq_node_send_job(aq_node_t *node, aq_child_t *child)
{
    aq_bytes_t hosts = {0};
    aq_write_hosts(&hosts, &node->spec, child->low, child->high);
    aq_write_job(&child->link.out,
                 &(aq_job_message_t){child->low, child->high, hosts.data, hosts.used,
                                     node->spec_bytes.data, node->spec_bytes.used});
    aq_bytes_free(&hosts);
}

aq_child_t *aq_node_child_of(aq_node_t *node, uint32_t host)
{
    for (uint32_t i = 0; i < node->child_count; i++)
        if (aq_child_is_linked(&node->children[i]) && aq_child_has_host(&node->children[i], host))
            return &node->children[i];
    return NULL;
}

aq_child_t *aq_node_first_child(aq_node_t *node)
{
    return aq_node_child_of(node, node->first_host);
}

void aq_node_report(aq_node_t *node, uint32_t low, uint32_t high, const char *why)
{
    aq_bytes_t bytes = {0};
    aq_frame_t frame;
    aq_write_failed(&bytes, &(aq_failed_t){low, high, why});
    if (!bytes.failed &&
        aq_frame_read(bytes.data, bytes.used, AQ_FRAME_MAX, &frame) == AQ_FRAME_WHOLE)
        node->ops->up(node, &frame);
    aq_bytes_free(&bytes);
}
