// SPDX-License-Identifier: BSD-3-Clause
// Quoting of words, checked with real shells, and splitting of a user's text into words.
#include "../../unit/unit_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../spawner/shell/shell_words.h"

// Returns what a shell prints when it runs that line. The caller frees the text.
static char *ask_shell(const char *shell, const char *line)
{
    int out[2];
    char *got = calloc(1, 4096);
    assert_int_equal(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], STDOUT_FILENO);
        close(out[0]);
        close(out[1]);
        execlp(shell, shell, "-c", line, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    size_t used = 0;
    ssize_t n;
    while ((n = read(out[0], got + used, 4095 - used)) > 0)
        used += (size_t)n;
    close(out[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return got;
}

static bool is_installed(const char *shell)
{
    char command[64];
    snprintf(command, sizeof command, "command -v %s >/dev/null", shell);
    return system(command) == 0;
}

static char folder[256];

// Makes a program of that name that prints its own path and arguments, and checks that every
// installed shell finds and runs the program.
static void expect_found_by_shells(const char *name)
{
    static const char *const shells[] = {"sh",   "bash", "dash", "csh", "tcsh",
                                         "fish", "zsh",  "ksh",  "mksh"};
    char path[600], wanted[700];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(wanted, sizeof wanted, "%s --helper", path);
    FILE *program = fopen(path, "w");
    assert_non_null(program);
    fputs("#!/bin/sh\nprintf '%s %s' \"$0\" \"$*\"\n", program);
    fclose(program);
    assert_int_equal(chmod(path, 0755), 0);
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (!is_installed(shells[i]))
            continue;
        char *line = aq_shell_command(path, "--helper"), *got = ask_shell(shells[i], line);
        assert_string_equal(got, wanted);
        free(line);
        free(got);
    }
    unlink(path);
}

static void test_commands(void **state)
{
    (void)state;
    char all[254];
    size_t used = 0;
    for (int i = 1; i < 256; i++)
        if (i != '/' && used < sizeof all - 1)
            all[used++] = (char)i;
    all[used] = '\0'; // a file name has at most 255 bytes: byte 255 is tested below
    assert_true(is_installed("sh"));
    char *here = getcwd(NULL, 0);
    snprintf(folder, sizeof folder, "%s/shell-words.XXXXXX", here);
    free(here);
    assert_non_null(mkdtemp(folder));
    expect_found_by_shells(all);
    expect_found_by_shells("plain name+1.0");
    expect_found_by_shells("'");
    expect_found_by_shells("it's !! \\");
    expect_found_by_shells("$(false) `false` $HOME \\ \"x\" %s\xff");
    expect_found_by_shells("-n");
    expect_found_by_shells("\n\n");
    assert_int_equal(rmdir(folder), 0);
}

static void expect_split(const char *text, const char *const *wanted)
{
    char **words = aq_shell_split(text);
    assert_non_null(words);
    size_t i = 0;
    for (; wanted[i] != NULL; i++) {
        assert_non_null(words[i]);
        assert_string_equal(words[i], wanted[i]);
    }
    assert_null(words[i]);
    aq_shell_free_words(words);
}

static void test_splitting(void **state)
{
    (void)state;
    expect_split("", (const char *const[]){NULL});
    expect_split(" \t", (const char *const[]){NULL});
    expect_split("a", (const char *const[]){"a", NULL});
    expect_split("-o 'A no'  -p 22", (const char *const[]){"-o", "A no", "-p", "22", NULL});
    expect_split("a\\ b \"c 'd\" '' x'y'z", (const char *const[]){"a b", "c 'd", "", "xyz", NULL});
    expect_split("'\\' \"\\\"\"", (const char *const[]){"\\", "\"", NULL});
    assert_null(aq_shell_split("-o 'x"));
    assert_null(aq_shell_split("\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_splitting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
