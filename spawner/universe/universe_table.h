// SPDX-License-Identifier: BSD-3-Clause
// The table of a universe, and the messages that carry it. No input or output.
//
// Always true: the rows ascend by number, and every number is below `next`. A number is given once
// in the life of a universe. The coordinator is the first row that is not lost.
#pragma once

#include "../wire/messages.h"

#define AQ_NO_NUMBER UINT32_MAX // a daemon that has no number yet

typedef enum aq_row_state {
    AQ_ROW_UP,
    AQ_ROW_LEAVING, // takes no further job, and ends with its last one
    AQ_ROW_LOST,    // its connection broke; the row is for people
} aq_row_state_t;

typedef struct aq_row {
    uint32_t number;
    aq_row_state_t state;
    const char *name, *user, *prefix; // as in the list of hosts; "": not given
    const char *addresses;            // of its host, separated by commas
    uint32_t port;
    uint32_t slots, cpus; // from the list of hosts; 0: unknown
    uint32_t processors;  // that the host has
    bool idle;            // schedule=no: no rank is placed there
    uint32_t jobs;        // known to the coordinator, and to those that have asked it
} aq_row_t;

typedef struct aq_table {
    aq_row_t *rows; // the table owns their texts
    uint32_t count;
    size_t room;
    uint32_t next; // the number of the next daemon
    // Of the coordinator: numbers below next that were never given, because daemons join in another
    // order than that of the list of hosts.
    uint32_t *skipped;
    uint32_t skipped_count;
} aq_table_t;

void aq_table_free(aq_table_t *table);
// NULL: there is no such row, or only a lost one of that name.
aq_row_t *aq_table_find(const aq_table_t *table, uint32_t number);
aq_row_t *aq_table_named(const aq_table_t *table, const char *name, const char *user);
// NULL: all are lost.
aq_row_t *aq_table_coordinator(const aq_table_t *table);
// Adds a copy, in place of a lost row of that name, with its own number if that was never given,
// else with the next one. NULL: no memory.
aq_row_t *aq_table_add(aq_table_t *table, const aq_row_t *member);
void aq_table_remove(aq_table_t *table, uint32_t number);

// TABLE. self: the number of the receiver, or of the daemon that the receiver has asked.
void aq_write_table(aq_bytes_t *bytes, const aq_table_t *table, uint32_t self);
// The reader's table is {0} or was read before, and is replaced only by a legal one.
bool aq_read_table(aq_view_t view, aq_table_t *out, uint32_t *self);

// JOIN: the row of the sender. Texts point into the payload.
typedef struct aq_join {
    bool again; // it is a member, and calls a new coordinator; else it is new, and prefers that
                // number
    aq_row_t member;
} aq_join_t;
void aq_write_join(aq_bytes_t *bytes, const aq_join_t *join);
bool aq_read_join(aq_view_t view, aq_join_t *out);

// JOIN_CONFIG: what a new daemon needs to know. Texts point into the payload.
typedef struct aq_join_config {
    uint8_t key[AQ_KEY_BYTES];
    const char *universe;       // its name (GASNET_UNIVERSE)
    const char *ports;          // GASNET_SPAWN_PORTS
    const char *addresses;      // of the coordinator; "": the new daemon is the first one
    uint32_t port, coordinator; // of the coordinator
    uint32_t silence_ms;        // that links between daemons survive: aq_link_bear
    aq_row_t member;            // the new daemon, as far as the list of hosts knows it
} aq_join_config_t;
void aq_write_join_config(aq_bytes_t *bytes, const aq_join_config_t *config);
bool aq_read_join_config(aq_view_t view, aq_join_config_t *out);

// KEY: to a process of the same user on the same host.
void aq_write_key(aq_bytes_t *bytes, const uint8_t key[AQ_KEY_BYTES]);
bool aq_read_key(aq_view_t view, uint8_t key[AQ_KEY_BYTES]);
