// SPDX-License-Identifier: BSD-3-Clause
// The shells' quoting in both directions: splitting what the user wrote in a setting, and writing
// words that a shell reads back unchanged.
#include "shell_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Characters that stand for themselves between single quotes in every shell. (A backslash does not
// in fish; "!" and newline do not in csh.)
static bool is_plain(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+=,:@%~ ";
    return path[strspn(path, plain)] == '\0';
}

// Writes each byte as printf's %b expects it: a backslash, 0 and three octal digits. The caller
// frees the text.
static char *write_octal(const char *path)
{
    char *text = malloc(5 * strlen(path) + 1), *to = text;
    if (text == NULL)
        return NULL;
    for (; *path != '\0'; path++, to += 5)
        snprintf(to, 6, "\\0%03o", (unsigned char)*path);
    *to = '\0';
    return text;
}

char *aq_shell_command(const char *path, const char *word)
{
    char *command;
    if (is_plain(path))
        return asprintf(&command, "exec '%s' %s", path, word) < 0 ? NULL : command;
    char *octal = write_octal(path);
    // The x preserves newlines at the end of the path.
    int n = octal == NULL
                ? -1
                : asprintf(&command, "exec sh -c 'p=$(printf %%b \"%sx\"); exec \"${p%%x}\" %s'",
                           octal, word);
    free(octal);
    return n < 0 ? NULL : command;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Copies the word at *text without its quotes. False: a quote is still open at the end.
static bool cut_word(const char **text, char *to)
{
    const char *from = *text;
    char quote = '\0';
    for (; *from != '\0' && (quote != '\0' || !is_blank(*from)); from++) {
        if (quote == '\0' && (*from == '\'' || *from == '"'))
            quote = *from;
        else if (quote != '\0' && *from == quote)
            quote = '\0';
        else if (*from == '\\' && quote != '\'' && from[1] != '\0')
            *to++ = *++from;
        else
            *to++ = *from;
    }
    *to = '\0';
    *text = from;
    return quote == '\0';
}

void aq_shell_free_words(char **words)
{
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        free(words[i]);
    free(words);
}

char **aq_shell_split(const char *text)
{
    char **words = calloc(strlen(text) / 2 + 2, sizeof *words);
    bool ok = words != NULL;
    for (size_t count = 0; ok; count++) {
        while (is_blank(*text))
            text++;
        if (*text == '\0')
            return words;
        words[count] = malloc(strlen(text) + 1);
        ok = words[count] != NULL && cut_word(&text, words[count]);
    }
    aq_shell_free_words(words);
    return NULL;
}

char *aq_shell_quote(const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
    if (word[0] != '\0' && strspn(word, plain) == strlen(word))
        return strdup(word);
    char *quoted = malloc(4 * strlen(word) + 3), *to = quoted;
    if (quoted == NULL)
        return NULL;
    *to++ = '\'';
    for (; *word != '\0'; word++)
        to = *word == '\'' ? stpcpy(to, "'\\''") : (*to = *word, to + 1);
    strcpy(to, "'");
    return quoted;
}

void aq_shell_print(const char *word)
{
    char *quoted = aq_shell_quote(word);
    if (quoted != NULL)
        fputs(quoted, stdout);
    free(quoted);
}
