/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Further endpoints and their segments, for the programs conform_maps and conform_brought.
 */
#ifndef CONFORM_STATIONS_H
#define CONFORM_STATIONS_H

#include <gasnetex.h>

#include <stddef.h>
#include <stdint.h>

/* Of the job; set by stations_init. */
extern gex_Client_t client;
extern gex_EP_t primordial;
extern gex_TM_t team;
extern gex_Rank_t me, ranks;
extern char *is_near; /* by rank: whether it shares memory with this one */

/* Starts the job under this name. Returns 0, or 1 if it cannot start. */
int stations_init(const char *name, int *argc, char ***argv);

/* An endpoint with its segment. */
typedef struct {
    gex_EP_t ep;
    gex_Segment_t segment;
    uint64_t *words;
} station_t;

void make_endpoint(station_t *station);
void bind_segment(station_t *station, void *memory, size_t size);
void publish(const station_t *station); /* collective */

/* All three. memory NULL: of the library. */
station_t make_station(void *memory, size_t size);
void end_station(station_t *station);

/* The pair of an endpoint of this rank (NULL: the primordial one) with those of other ranks that
 * have the index of `like`. */
gex_TM_t pair_of(const station_t *from, gex_EP_t like);

/* Where the segment of a rank of the pair is there, or NULL, and here, if it is mapped, or NULL. */
uint64_t *find_segment(gex_TM_t pair, gex_Rank_t rank, uint64_t **here, uintptr_t *size);

#endif
