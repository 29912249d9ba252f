// SPDX-License-Identifier: BSD-3-Clause
// The lines of PMI-1, the protocol of MPICH's mpirun, of srun --mpi=pmi2 and of many others: words
// KEY=VALUE with spaces between them, of which the first is cmd=NAME. A line comes from the
// launcher, and nothing in it is used before these functions have checked it.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    AQ_PMI1_LINE_BYTES = 1024,   // of a request, with its newline: every launcher reads as much
    AQ_PMI1_ANSWER_BYTES = 4096, // of an answer, with its newline or final zero
};

// Whether the line (without its newline) is well formed and answers the command of that name.
bool aq_pmi1_answers(const char *line, size_t length, const char *name);

// Copies the value of a key of a line that was checked. False: the line does not have the key
// exactly once, or its value is empty or longer than room.
bool aq_pmi1_text(const char *line, const char *key, char *value, size_t size);

// The same for a decimal number between the two limits.
bool aq_pmi1_number(const char *line, const char *key, int least, int most, int *value);
