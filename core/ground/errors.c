// SPDX-License-Identifier: BSD-3-Clause
// Text for error codes, and whether illegal arguments are logged.
#include "errors.h"

#include <stdbool.h>

#include "../gasnetex_core.h"

static bool verbose_errors = true;

typedef struct error_text {
    int code;
    const char *name, *meaning;
} error_text_t;

static const error_text_t texts[] = {
    {GASNET_OK, "GASNET_OK", "no error"},
    {GASNET_ERR_NOT_INIT, "GASNET_ERR_NOT_INIT",
     "the library is not initialized, or was initialized already"},
    {GASNET_ERR_RESOURCE, "GASNET_ERR_RESOURCE", "the system or the network refused a resource"},
    {GASNET_ERR_BAD_ARG, "GASNET_ERR_BAD_ARG", "an argument is not legal"},
    {GASNET_ERR_NOT_READY, "GASNET_ERR_NOT_READY", "not complete yet"},
    {GASNET_ERR_BARRIER_MISMATCH, "GASNET_ERR_BARRIER_MISMATCH",
     "the ranks gave different barrier ids"},
};

static const error_text_t *find_error(int code)
{
    static const error_text_t none = {0, "(unknown)", "no error code of this library"};
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].code == code)
            return &texts[i];
    return &none;
}

const char *gasnet_ErrorName(int code)
{
    return find_error(code)->name;
}

const char *gasnet_ErrorDesc(int code)
{
    return find_error(code)->meaning;
}

int gex_System_GetVerboseErrors(void)
{
    return verbose_errors;
}

void gex_System_SetVerboseErrors(int enable)
{
    verbose_errors = enable != 0;
}

int aq_refuse(int error, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (verbose_errors)
        aq_log_message(AQ_LOG_ERROR, fmt, args);
    va_end(args);
    return error;
}
