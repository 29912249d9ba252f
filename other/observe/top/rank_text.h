// SPDX-License-Identifier: BSD-3-Clause
// What a rank does, in words.
#pragma once

#include "job_watch.h"

enum { AQ_RANK_TEXT = 256 };

// "41 s", "3 min 5 s", "2 h 10 min"; below a second: "0.4 s".
const char *aq_text_time(uint64_t ns, char text[AQ_RANK_TEXT]);

// "barrier", "broadcast" ...
const char *aq_text_call(unsigned call);

// "team 5", or "the team of all ranks".
const char *aq_text_team(uint64_t id, char text[AQ_RANK_TEXT]);

// "rank 3", "ranks 0-2, 7": of a sorted list.
const char *aq_text_ranks(const uint32_t *ranks, uint32_t count, char text[AQ_RANK_TEXT]);

// Why ranks of other hosts are not shown, and what to run where to see them: part of a sentence;
// "": they are shown, or that is not known. Returns text.
enum { AQ_ELSEWHERE_TEXT = 1536 };
const char *aq_text_elsewhere(const aq_watched_job_t *job, char text[AQ_ELSEWHERE_TEXT]);

// The kind of a call of a team, or AQ_SHOWN_NONE: it is too long ago, or has not begun. call: its
// number modulo 65536.
unsigned aq_seen_call(const aq_seen_team_t *team, uint32_t call);

// Whether a rank has begun a call of a team.
bool aq_seen_has_begun(const aq_seen_team_t *team, uint32_t call);

// What the thread waits for: "barrier 17 of team 3", "room to send to rank 5" ...; "": it does not
// wait.
const char *aq_text_wait(const aq_seen_rank_t *rank, const aq_seen_thread_t *thread,
                         char text[AQ_RANK_TEXT]);

// The thread that has waited longest; NULL: none waits for so long (nanoseconds).
const aq_seen_thread_t *aq_seen_longest(const aq_seen_rank_t *rank, uint64_t now, uint64_t least);
