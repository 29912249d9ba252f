// SPDX-License-Identifier: BSD-3-Clause
// Words for shells and from shells.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Returns a line that makes any login shell (Bourne family, C family, fish) run the program at path
// with one argument. path may hold any bytes but NUL; word only letters and "-". The caller frees
// the line. NULL: no memory.
char *aq_shell_command(const char *path, const char *word);

// Splits text into words by the rules of shells: blanks between words, single and double quotes,
// backslash. Returns an allocated, NULL-terminated array for aq_shell_free_words. NULL: a quote is
// not closed, or no memory.
char **aq_shell_split(const char *text);
void aq_shell_free_words(char **words);

// Returns a word as a shell needs it, quoted if necessary. The caller frees the text. NULL: no
// memory.
char *aq_shell_quote(const char *word);
// Prints a word to standard output as a shell needs it, quoted if necessary.
void aq_shell_print(const char *word);
