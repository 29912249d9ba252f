// SPDX-License-Identifier: BSD-3-Clause
// Environment variables for clients: numbers, sizes, and reports of the values in use.
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gasnet_tools.h"
#include "../base/log/log.h"
#include "../base/settings/settings.h"
#include "../base/size.h"

char *gasnett_format_number(int64_t val, char *buf, size_t bufsz, int is_mem_size)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (is_mem_size && val != 0 && val % 1024 == 0 && unit + 1 < sizeof units / sizeof *units) {
        val /= 1024;
        unit++;
    }
    snprintf(buf, bufsz, "%" PRId64 "%s%s", val, is_mem_size ? " " : "",
             is_mem_size ? units[unit] : "");
    return buf;
}

// Parses a size with a unit, which may be negative.
static bool parse_with_unit(const char *str, int64_t *out)
{
    uint64_t bytes;
    str += strspn(str, " \t\n\v\f\r");
    bool negative = *str == '-';
    if (!aq_size_parse_bytes(str + negative, &bytes) || bytes > INT64_MAX)
        return false;
    *out = negative ? -(int64_t)bytes : (int64_t)bytes;
    return true;
}

static bool parse_number(const char *str, uint64_t unit, int64_t *out)
{
    int64_t whole;
    double real;
    if (unit == 0)
        return aq_size_parse_int(str, out);
    if (aq_size_parse_int(str, &whole))
        return !__builtin_mul_overflow(whole, unit, out);
    if (!aq_size_parse_real(str, &real))
        return parse_with_unit(str, out);
    real *= (double)unit;
    if (fabs(real) >= 0x1p63)
        return false;
    *out = (int64_t)real;
    return true;
}

static const char *legal_number(uint64_t unit)
{
    return unit ? "a size such as 4096, 64KB or 1.5GB" : "a whole number";
}

int64_t gasnett_parse_int(const char *str, uint64_t mem_size_multiplier)
{
    int64_t value;
    if (!str || !parse_number(str, mem_size_multiplier, &value))
        gasnett_fatalerror_nopos("gasnett_parse_int: '%s' is not %s", str ? str : "(NULL)",
                                 legal_number(mem_size_multiplier));
    return value;
}

void gasnett_setenv(const char *key, const char *value)
{
    if (setenv(key, value, 1) != 0)
        gasnett_fatalerror_nopos("gasnett_setenv: '%s' cannot be set: no legal name, or no memory",
                                 key);
}

void gasnett_unsetenv(const char *key)
{
    unsetenv(key);
}

char *gasnett_getenv(const char *keyname)
{
    return getenv(keyname);
}

int gasnett_verboseenv(void)
{
    return aq_log_is_first() && aq_settings_bool_now(AQ_SET_VERBOSEENV);
}

void gasnett_envstr_display(const char *key, const char *val, int is_dflt)
{
    if (gasnett_verboseenv())
        fprintf(stderr, "%s = %s%s\n", key, val ? val : "", is_dflt ? " (default)" : "");
}

void gasnett_envint_display(const char *key, int64_t val, int is_dflt, int is_mem_size)
{
    char text[32];
    gasnett_envstr_display(key, gasnett_format_number(val, text, sizeof text, is_mem_size),
                           is_dflt);
}

void gasnett_envdbl_display(const char *key, double val, int is_dflt)
{
    char text[32];
    snprintf(text, sizeof text, "%.17g", val);
    gasnett_envstr_display(key, text, is_dflt);
}

// Whether to print this variable: only in verbose mode, and only the first time for each name.
static bool to_show(const char *key)
{
    static struct shown {
        struct shown *next;
        char key[];
    } * all;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (!gasnett_verboseenv())
        return false;
    pthread_mutex_lock(&lock);
    struct shown *known = all;
    while (known && strcmp(known->key, key) != 0)
        known = known->next;
    bool is_new = !known;
    size_t size = strlen(key) + 1;
    if (is_new && (known = malloc(sizeof *known + size)) != NULL) {
        memcpy(known->key, key, size);
        known->next = all;
        all = known;
    }
    pthread_mutex_unlock(&lock);
    return is_new;
}

// The text of a variable; NULL: not set, or empty.
static const char *variable_text(const char *keyname)
{
    const char *text = getenv(keyname);
    return text && *text ? text : NULL;
}

char *gasnett_getenv_withdefault(const char *keyname, const char *defaultval)
{
    const char *text = getenv(keyname);
    const char *value = text ? text : defaultval;
    if (to_show(keyname))
        gasnett_envstr_display(keyname, value, !text);
    return (char *)(uintptr_t)value;
}

int gasnett_getenv_yesno_withdefault(const char *keyname, int defaultval)
{
    const char *text = variable_text(keyname);
    bool yes = defaultval != 0;
    if (text && !aq_size_parse_bool(text, &yes))
        gasnett_fatalerror_nopos("%s: '%s' is neither yes (1 y yes) nor no (0 n no)", keyname,
                                 text);
    if (to_show(keyname))
        gasnett_envstr_display(keyname, yes ? "yes" : "no", !text);
    return yes;
}

int64_t gasnett_getenv_int_withdefault(const char *keyname, int64_t defaultval,
                                       uint64_t mem_size_multiplier)
{
    const char *text = variable_text(keyname);
    int64_t value = defaultval;
    if (text && !parse_number(text, mem_size_multiplier, &value))
        gasnett_fatalerror_nopos("%s: '%s' is not %s", keyname, text,
                                 legal_number(mem_size_multiplier));
    if (to_show(keyname))
        gasnett_envint_display(keyname, value, !text, mem_size_multiplier != 0);
    return value;
}

// Parses a number, or a fraction such as 3/8.
static bool parse_fraction(const char *text, double *out)
{
    const char *slash = strchr(text, '/');
    double above, below;
    if (!slash)
        return aq_size_parse_real(text, out);
    char *numerator = strndup(text, (size_t)(slash - text));
    bool legal = numerator && aq_size_parse_real(numerator, &above) &&
                 aq_size_parse_real(slash + 1, &below) && below != 0;
    free(numerator);
    if (legal)
        *out = above / below;
    return legal;
}

double gasnett_getenv_dbl_withdefault(const char *keyname, double defaultval)
{
    const char *text = variable_text(keyname);
    double value = defaultval;
    if (text && !parse_fraction(text, &value))
        gasnett_fatalerror_nopos("%s: '%s' is not a number such as 1.5, -1e4 or 3/8", keyname,
                                 text);
    if (to_show(keyname))
        gasnett_envdbl_display(keyname, value, !text);
    return value;
}
