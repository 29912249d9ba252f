// Words for a shell, as real shells read them, and words of a user.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../spawner/shell_words.h"

// What the shell makes of a line: `printf %s WORD`. The caller frees it.
static char *ask_shell(const char *shell, const char *word)
{
    int out[2];
    char *line, *got = calloc(1, 4096);
    assert_true(asprintf(&line, "printf %%s %s", word) > 0);
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
    free(line);
    return got;
}

static void survives(const char *text)
{
    static const char *const shells[] = {"sh", "bash"};
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        char *word = aq_shell_quote(text), *got = ask_shell(shells[i], word);
        assert_string_equal(got, text);
        free(word);
        free(got);
    }
}

static void test_quoting(void **state)
{
    (void)state;
    char all[256];
    for (int i = 0; i < 255; i++)
        all[i] = (char)(i + 1);
    all[255] = '\0';
    survives(all);
    survives("");
    survives("'");
    survives("''!!''");
    survives("$(false) `false` $HOME \\ \"x\"");
    survives("-n");
    survives("\n\n");
}

static void split(const char *text, const char *const *wanted)
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
    split("", (const char *const[]){NULL});
    split(" \t", (const char *const[]){NULL});
    split("a", (const char *const[]){"a", NULL});
    split("-o 'A no'  -p 22", (const char *const[]){"-o", "A no", "-p", "22", NULL});
    split("a\\ b \"c 'd\" '' x'y'z", (const char *const[]){"a b", "c 'd", "", "xyz", NULL});
    split("'\\' \"\\\"\"", (const char *const[]){"\\", "\"", NULL});
    assert_null(aq_shell_split("-o 'x"));
    assert_null(aq_shell_split("\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quoting),
        cmocka_unit_test(test_splitting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
