// SPDX-License-Identifier: BSD-3-Clause
// The functions that the client has registered for large messages.
#include <stdlib.h>
#include <string.h>

#include "../../core/ground/bounds.h"
#include "../../core/ground/fatal.h"
#include "large_table.h"
#include "../two_sided/params.h"
#include "../two_sided/msg_check.h"

typedef struct function {
    uint32_t id;
    gasnetx_Large_Fn_t fn;
    char types[GASNETX_TYPES_MAX + 1];
} function_t;

// By id; under aq_large.lock.
static function_t *functions;
static size_t function_count;

static int function_compare(const void *a, const void *b)
{
    const uint32_t x = ((const function_t *)a)->id, y = ((const function_t *)b)->id;
    return (x > y) - (x < y);
}

static const char *types_of(const char *types)
{
    return types ? types : "";
}

static const char *entry_wrong(const gasnetx_large_entry_t *entry)
{
    size_t bytes;
    if (!entry->function)
        return "a function is NULL";
    if (!aq_params_size(types_of(entry->types), &bytes))
        return "the types of a function are no description, or one of too many bytes";
    return NULL;
}

static function_t function_make(const gasnetx_large_entry_t *entry)
{
    function_t function = {.id = entry->id, .fn = entry->function};
    strcpy(function.types, types_of(entry->types));
    return function;
}

// With the lock: adds the entries of a table, each of which is valid. False: an id is there twice,
// and nothing was added.
static bool functions_add(function_t *all, const gasnetx_large_entry_t *table, size_t count)
{
    const size_t total = function_count + count;
    if (function_count)
        memcpy(all, functions, function_count * sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[function_count + i] = function_make(&table[i]);
    qsort(all, total, sizeof *all, function_compare);
    for (size_t i = 1; i < total; i++)
        if (all[i].id == all[i - 1].id)
            return false;
    free(functions);
    functions = all;
    function_count = total;
    return true;
}

int gasnetx_Large_Register(const gasnetx_large_entry_t *table, size_t count)
{
    aq_job_need("gasnetx_Large_Register");
    if (!aq_bounds_product_fits(count, sizeof *table))
        return aq_msg_refuse("gasnetx_Large_Register", "memory cannot hold a table of this size");
    for (size_t i = 0; i < count; i++) {
        const char *wrong = entry_wrong(&table[i]);
        if (wrong)
            return aq_msg_refuse("gasnetx_Large_Register", wrong);
    }
    aq_lock_take(&aq_large.lock);
    function_t *all = malloc((function_count + count + 1) * sizeof *all);
    const bool added = all && functions_add(all, table, count);
    aq_lock_drop(&aq_large.lock);
    if (added)
        return GASNET_OK;
    free(all);
    return all ? aq_msg_refuse("gasnetx_Large_Register", "an id is registered already, or twice")
               : GASNET_ERR_RESOURCE;
}

gasnetx_Large_Fn_t aq_large_function(const aq_msg_head_t *head, const char *types)
{
    const function_t key = {.id = head->tag};
    function_t found = {0};
    aq_lock_take(&aq_large.lock);
    const function_t *function =
        function_count ? bsearch(&key, functions, function_count, sizeof key, function_compare)
                       : NULL;
    if (function)
        found = *function;
    aq_lock_drop(&aq_large.lock);
    if (!found.fn)
        aq_fatal("rank %u has sent a large message to id %u, which this rank has not registered; "
                 "call gasnetx_Large_Register before a barrier, and send after it",
                 head->source, head->tag);
    if (!aq_params_same(found.types, types))
        aq_fatal("rank %u has sent a large message to id %u with parameters of the types \"%s\", "
                 "but this rank has registered \"%s\"",
                 head->source, head->tag, types, found.types);
    return found.fn;
}
