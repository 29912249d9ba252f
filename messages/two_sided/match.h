// SPDX-License-Identifier: BSD-3-Clause
// The matching engine: which receive takes which message. It allocates nothing, sends nothing and
// holds no lock; its caller makes each call atomic with a lock of its own.
//
//     source r:  posted      receives that name rank r
//                unexpected  messages of rank r that no receive has taken
//     engine:    anywhere    receives of any source
//                arrived     all unexpected messages, in the order of their arrival
//
// - A receive takes the oldest unexpected message that it accepts. A message goes to the oldest
//   posted receive that accepts it; serial numbers compare those that name its source with those
//   of any source.
// - The messages of one source are to be passed to the engine in the order in which they were sent,
//   whatever conduits brought them.
// - A search looks only at what is posted for that source and for any source; a receive of any
//   source looks at all unexpected messages.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a receive accepts, or what a message has. A receive may have a wildcard in each place.
#define AQ_MATCH_ANY_TEAM UINT64_MAX
#define AQ_MATCH_ANY_SOURCE UINT32_MAX
#define AQ_MATCH_ANY_TAG UINT32_MAX
typedef struct aq_match_key {
    uint64_t team;
    uint32_t source; // job rank
    uint32_t tag;
} aq_match_key_t;

// An entry is in up to two lists: that of its source, and that of the engine.
enum { AQ_MATCH_OF_SOURCE, AQ_MATCH_OF_ALL, AQ_MATCH_LISTS };

struct aq_match_entry;
typedef struct aq_match_list {
    struct aq_match_entry *first, *last;
} aq_match_list_t;

// A posted receive or an unexpected message: part of an object of the caller.
typedef struct aq_match_entry {
    aq_match_key_t key;
    uint64_t serial;                       // grows with each entry that the engine keeps
    struct aq_match_source *source;        // NULL: a receive of any source
    aq_match_list_t *list[AQ_MATCH_LISTS]; // NULL: in none
    struct aq_match_entry *next[AQ_MATCH_LISTS], *prev[AQ_MATCH_LISTS];
} aq_match_entry_t;

// What the engine keeps for one source; all zero at first. Belongs to the caller.
typedef struct aq_match_source {
    aq_match_list_t posted, unexpected;
} aq_match_source_t;

typedef struct aq_match {
    aq_match_list_t anywhere, arrived;
    uint64_t serials;
    uint64_t compared; // entries that searches have looked at, for tests
} aq_match_t;

// For a receive with this key: returns the oldest unexpected message that it accepts, which is then
// in no list, or posts the receive and returns NULL. source: of the key; NULL if the key accepts
// any source. The receive belongs to the engine until a call returns or removes it.
aq_match_entry_t *aq_match_receive(aq_match_t *match, aq_match_source_t *source,
                                   const aq_match_key_t *key, aq_match_entry_t *receive);

// For a message of a source: returns the oldest posted receive that accepts it, which is then in no
// list. If there is none, keeps the message that make(context) allocates, and returns NULL. So
// memory is allocated only for unexpected messages. If make returns NULL, the message is dropped.
typedef aq_match_entry_t *aq_match_make_t(void *context);
aq_match_entry_t *aq_match_arrive(aq_match_t *match, aq_match_source_t *source,
                                  const aq_match_key_t *key, aq_match_make_t *make, void *context);

// Returns the unexpected message that aq_match_receive would return, which stays; or NULL.
aq_match_entry_t *aq_match_probe(aq_match_t *match, const aq_match_source_t *source,
                                 const aq_match_key_t *key);

// Removes a posted receive or an unexpected message. Returns false, with no effect, if the entry is
// in no list because its partner was found, or because it was removed before.
bool aq_match_remove(aq_match_entry_t *entry);

// The oldest unexpected message of a source, and the one after a message, in the order in which
// they were sent; NULL at the end.
static inline aq_match_entry_t *aq_match_first(const aq_match_source_t *source)
{
    return source->unexpected.first;
}
static inline aq_match_entry_t *aq_match_next(const aq_match_entry_t *message)
{
    return message->next[AQ_MATCH_OF_SOURCE];
}
