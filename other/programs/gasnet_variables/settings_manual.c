// SPDX-License-Identifier: BSD-3-Clause
// Writes the rows and the ignored variables in troff. gasnet_variables prints them during the
// build, and gasnet_info --man after it; the build inserts them into gasnet(7).
#include "settings_manual.h"

#include <stdio.h>
#include <string.h>

#include "../../base/settings/settings.h"

// Prints text for the manual page: escapes characters that troff would read as a command or a
// hyphen.
static void print_troff(const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\\')
            fputs("\\e", stdout);
        else
            putchar(*text);
    }
}

static void print_ignored(const aq_setting_ignored_t *entry)
{
    const char *tag = ".TP";
    for (const char *name = entry->names; *name; tag = ".TQ") {
        const int length = (int)strcspn(name, " ");
        printf("%s\n.B %.*s\n", tag, length, name);
        name += length + (name[length] == ' ');
    }
    print_troff("No effect: ");
    print_troff(entry->why);
    puts(".");
}

static void print_setting(const aq_setting_t *row)
{
    char legal[256];
    aq_settings_describe(row, legal, sizeof legal);
    printf(".TP\n.B %s\n", row->name);
    print_troff(row->help);
    fputs("\n.br\nValue: ", stdout);
    print_troff(legal);
    fputs(". Default: ", stdout);
    print_troff(*row->fallback ? row->fallback : "not set");
    puts(".");
}

void aq_settings_manual_print(void)
{
    puts(".SH ENVIRONMENT");
    for (size_t i = 0; i < aq_settings_count(); i++)
        print_setting(aq_settings_at(i));
    puts(".SH VARIABLES WITHOUT EFFECT\n"
         "The manuals of GASNet and GASNet\\-EX describe these variables too.\n"
         "They are accepted; a job that sets one prints the reason once.");
    for (size_t i = 0; i < aq_settings_ignored_count(); i++)
        print_ignored(aq_settings_ignored_at(i));
}
