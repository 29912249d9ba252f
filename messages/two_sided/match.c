// SPDX-License-Identifier: BSD-3-Clause
// The lists of the matching engine and the searches in them. msg_recv.c calls it for each receive,
// probe and arriving message.
#include "match.h"

// ---- lists ----

static void list_append(aq_match_list_t *list, unsigned which, aq_match_entry_t *entry)
{
    entry->list[which] = list;
    entry->next[which] = NULL;
    entry->prev[which] = list->last;
    if (list->last)
        list->last->next[which] = entry;
    else
        list->first = entry;
    list->last = entry;
}

static void list_remove(unsigned which, aq_match_entry_t *entry)
{
    aq_match_list_t *list = entry->list[which];
    aq_match_entry_t *next = entry->next[which], *prev = entry->prev[which];
    if (!list)
        return;
    if (prev)
        prev->next[which] = next;
    else
        list->first = next;
    if (next)
        next->prev[which] = prev;
    else
        list->last = prev;
    entry->list[which] = NULL;
}

bool aq_match_remove(aq_match_entry_t *entry)
{
    if (!entry->list[AQ_MATCH_OF_SOURCE] && !entry->list[AQ_MATCH_OF_ALL])
        return false;
    list_remove(AQ_MATCH_OF_SOURCE, entry);
    list_remove(AQ_MATCH_OF_ALL, entry);
    return true;
}

// ---- searches ----

static bool key_accepts(const aq_match_key_t *receive, const aq_match_key_t *message)
{
    return (receive->tag == message->tag || receive->tag == AQ_MATCH_ANY_TAG) &&
           (receive->source == message->source || receive->source == AQ_MATCH_ANY_SOURCE) &&
           (receive->team == message->team || receive->team == AQ_MATCH_ANY_TEAM);
}

// The oldest entry of a list that matches a receive or a message. The key of the searching side is
// given; the other one is NULL and taken from the entry.
static aq_match_entry_t *list_find(aq_match_t *match, const aq_match_list_t *list, unsigned which,
                                   const aq_match_key_t *receive, const aq_match_key_t *message)
{
    aq_match_entry_t *at = list->first;
    for (; at; at = at->next[which]) {
        match->compared++;
        if (key_accepts(receive ? receive : &at->key, message ? message : &at->key))
            break;
    }
    return at;
}

aq_match_entry_t *aq_match_probe(aq_match_t *match, const aq_match_source_t *source,
                                 const aq_match_key_t *key)
{
    return source ? list_find(match, &source->unexpected, AQ_MATCH_OF_SOURCE, key, NULL)
                  : list_find(match, &match->arrived, AQ_MATCH_OF_ALL, key, NULL);
}

static aq_match_entry_t *older(aq_match_entry_t *a, aq_match_entry_t *b)
{
    if (!a || !b)
        return a ? a : b;
    return a->serial < b->serial ? a : b;
}

// ---- find one side, or keep the other ----

static void entry_fill(aq_match_t *match, aq_match_entry_t *entry, aq_match_source_t *source,
                       const aq_match_key_t *key)
{
    *entry = (aq_match_entry_t){.key = *key, .serial = match->serials++, .source = source};
}

aq_match_entry_t *aq_match_receive(aq_match_t *match, aq_match_source_t *source,
                                   const aq_match_key_t *key, aq_match_entry_t *receive)
{
    aq_match_entry_t *message = aq_match_probe(match, source, key);
    if (message) {
        (void)aq_match_remove(message);
        return message;
    }
    entry_fill(match, receive, source, key);
    if (source)
        list_append(&source->posted, AQ_MATCH_OF_SOURCE, receive);
    else
        list_append(&match->anywhere, AQ_MATCH_OF_ALL, receive);
    return NULL;
}

aq_match_entry_t *aq_match_arrive(aq_match_t *match, aq_match_source_t *source,
                                  const aq_match_key_t *key, aq_match_make_t *make, void *context)
{
    aq_match_entry_t *receive =
        older(list_find(match, &source->posted, AQ_MATCH_OF_SOURCE, NULL, key),
              list_find(match, &match->anywhere, AQ_MATCH_OF_ALL, NULL, key));
    if (receive) {
        (void)aq_match_remove(receive);
        return receive;
    }
    aq_match_entry_t *message = make(context);
    if (!message)
        return NULL;
    entry_fill(match, message, source, key);
    list_append(&source->unexpected, AQ_MATCH_OF_SOURCE, message);
    list_append(&match->arrived, AQ_MATCH_OF_ALL, message);
    return NULL;
}
