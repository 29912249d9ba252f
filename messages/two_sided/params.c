// SPDX-License-Identifier: BSD-3-Clause
// Parses the descriptions of parameter blocks. large_table.c and large_send.c check those of the
// client with it, large_header.c those that peers have sent.
#include "params.h"

#include <string.h>

#include "../../other/base/minmax.h"

// `count` members of one type, in a row.
typedef struct run {
    char letter;
    size_t count, size, alignment;
} run_t;

static bool type_find(run_t *run)
{
    static const run_t types[] = {
        {'c', 0, sizeof(char), _Alignof(char)},
        {'h', 0, sizeof(short), _Alignof(short)},
        {'i', 0, sizeof(int), _Alignof(int)},
        {'l', 0, sizeof(long), _Alignof(long)},
        {'q', 0, sizeof(long long), _Alignof(long long)},
        {'f', 0, sizeof(float), _Alignof(float)},
        {'d', 0, sizeof(double), _Alignof(double)},
        {'p', 0, sizeof(void *), _Alignof(void *)},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].letter == run->letter) {
            run->size = types[i].size;
            run->alignment = types[i].alignment;
            return true;
        }
    return false;
}

// Reads a number from 1 to GASNETX_PARAMS_MAX, or none. Returns 0 if it is neither.
static size_t count_read(const char **types)
{
    size_t count = 0;
    if (**types < '0' || **types > '9')
        return 1;
    for (; **types >= '0' && **types <= '9'; ++*types) {
        count = 10 * count + (size_t)(**types - '0');
        if (!count || count > GASNETX_PARAMS_MAX)
            return 0;
    }
    return count;
}

// Reads the next run; false at the end of the description, and where it is wrong.
static bool run_read(const char **types, run_t *run)
{
    run->count = count_read(types);
    run->letter = **types;
    if (!run->count || !type_find(run))
        return false;
    ++*types;
    return true;
}

static size_t align(size_t bytes, size_t alignment)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

bool aq_params_size(const char *types, size_t *bytes)
{
    size_t end = 0, alignment = 1;
    run_t run;
    if (strnlen(types, GASNETX_TYPES_MAX + 1) > GASNETX_TYPES_MAX)
        return false;
    while (*types) {
        if (!run_read(&types, &run))
            return false;
        end = align(end, run.alignment) + run.count * run.size;
        alignment = aq_max(alignment, run.alignment);
        if (end > GASNETX_PARAMS_MAX)
            return false;
    }
    *bytes = align(end, alignment);
    return *bytes <= GASNETX_PARAMS_MAX;
}

bool aq_params_same(const char *types, const char *others)
{
    run_t run = {0}, other = {0};
    for (;;) {
        const bool more = run.count || run_read(&types, &run);
        const bool others_more = other.count || run_read(&others, &other);
        if (!more || !others_more)
            return !more && !others_more && !*types && !*others;
        if (run.letter != other.letter)
            return false;
        const size_t both = aq_min(run.count, other.count);
        run.count -= both;
        other.count -= both;
    }
}

const char *aq_params_wrong(const gasnetx_params_t *params)
{
    size_t bytes = 0;
    if (params->types && !aq_params_size(params->types, &bytes))
        return "the types of the parameters are no description, or one of too many bytes";
    if (params->bytes != bytes)
        return "the parameter block does not have the size that its types have";
    if (bytes && !params->block)
        return "the parameter block is NULL";
    return NULL;
}
