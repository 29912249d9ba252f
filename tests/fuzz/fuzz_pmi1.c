// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of the reader of lines from a launcher that speaks PMI-1. Invariants: a line that is
// accepted has the command once and only printable characters; a text that is taken from it is a
// part of it, fits, and has no space; a number lies between its limits.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/mpi/pmi1_wire.h"
#include "fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *line, const char *key)
{
    char value[40];
    if (!aq_pmi1_text(line, key, value, sizeof value))
        return;
    require(strlen(value) > 0 && strlen(value) < sizeof value);
    require(!strchr(value, ' ') && strstr(line, value));
}

static void check_number(const char *line, const char *key)
{
    int value = 1;
    if (aq_pmi1_number(line, key, -1, 1000, &value))
        require(value >= -1 && value <= 1000);
}

static void check_line(const char *line, size_t size)
{
    static const char *const names[] = {"maxes", "get_result", "response_to_init", "my_kvsname"};
    static const char *const keys[] = {"rc", "value", "vallen_max", "kvsname", "cmd"};
    bool accepted = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        accepted |= aq_pmi1_answers(line, size, names[i]);
    if (!accepted)
        return;
    require(strlen(line) == size && size < AQ_PMI1_ANSWER_BYTES);
    for (size_t i = 0; i < size; i++)
        require(line[i] >= ' ' && line[i] <= '~');
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        check_text(line, keys[i]);
        check_number(line, keys[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = malloc(size + 1);
    if (line == NULL)
        return 0;
    memcpy(line, data, size);
    line[size] = '\0';
    check_line(line, size);
    free(line);
    return 0;
}
