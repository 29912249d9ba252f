// SPDX-License-Identifier: BSD-3-Clause
// Runs a fuzzer without libFuzzer: fuzz_NAME ARCHIVE ROUNDS. The inputs are each seed of the
// archive (README.md describes its format), then ROUNDS mutations of these seeds. The mutations are
// the same in each run, so that a failure can be repeated.
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_INPUTS 512
#define MAX_BYTES 4096

typedef struct input {
    size_t size;
    uint8_t bytes[MAX_BYTES];
} input_t;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static input_t *seeds[MAX_INPUTS];
static size_t seed_count;
static input_t current; // the input that the fuzzer reads now
static uint64_t state = 0x9e3779b97f4a7c15u;

static void fail(const char *sentence, const char *culprit)
{
    fprintf(stderr, "fuzz: %s: %s\n", culprit, sentence);
    exit(1);
}

// Prints the input that crashed the fuzzer, in hexadecimal; makes only async-signal-safe calls.
static void print_input(int sig)
{
    static const char digits[] = "0123456789abcdef";
    static char text[2 * MAX_BYTES + 1];
    size_t length = 0;
    for (size_t i = 0; i < current.size; i++) {
        text[length++] = digits[current.bytes[i] >> 4];
        text[length++] = digits[current.bytes[i] & 15];
    }
    text[length++] = '\n';
    (void)!write(2, "fuzz: this input failed: ", 25);
    (void)!write(2, text, length);
    signal(sig, SIG_DFL);
    raise(sig);
}

// The byte of \xNN, whose text begins behind the backslash.
static uint8_t escaped_byte(const char *text, const char *line)
{
    if (text[0] != 'x' || strspn(text + 1, "0123456789abcdef") < 2)
        fail("a backslash begins no \\xNN.", line);
    char digits[] = {text[1], text[2], '\0'};
    return (uint8_t)strtoul(digits, NULL, 16);
}

// Reads what stands behind the name of a seed: its bytes, some of them as \xNN.
static void read_seed(input_t *input, const char *text, const char *line)
{
    while (*text != '\0') {
        if (input->size == MAX_BYTES)
            fail("the seed is too long.", line);
        uint8_t byte = (uint8_t)*text++;
        if (byte == '\\') {
            byte = escaped_byte(text, line);
            text += 3;
        }
        input->bytes[input->size++] = byte;
    }
}

static void load_line(char *line)
{
    line[strcspn(line, "\n")] = '\0';
    char *space = strchr(line, ' ');
    input_t *input = calloc(1, sizeof *input);
    if (input == NULL)
        fail("there is no memory for this seed.", line);
    if (seed_count == MAX_INPUTS)
        fail("the archive has too many seeds.", line);
    read_seed(input, space != NULL ? space + 1 : "", line);
    seeds[seed_count++] = input;
}

static void load_seeds(const char *archive)
{
    FILE *file = fopen(archive, "r");
    if (file == NULL)
        fail("the archive cannot be opened.", archive);
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, file) > 0)
        load_line(line);
    free(line);
    fclose(file);
    if (seed_count == 0)
        fail("the archive contains no seeds.", archive);
}

// A pseudo-random number below `limit` (xorshift64*); `limit` is not 0.
static size_t random_below(size_t limit)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (size_t)((state * 0x2545f4914f6cdd1du) >> 33) % limit;
}

static void insert_byte(uint8_t byte)
{
    if (current.size == MAX_BYTES)
        return;
    size_t at = random_below(current.size + 1);
    memmove(current.bytes + at + 1, current.bytes + at, current.size - at);
    current.bytes[at] = byte;
    current.size++;
}

static void remove_byte(void)
{
    size_t at = random_below(current.size);
    memmove(current.bytes + at, current.bytes + at + 1, current.size - at - 1);
    current.size--;
}

// Replaces the rest of the input, from a random position on, by a tail of another input.
static void splice_input(void)
{
    const input_t *other = seeds[random_below(seed_count)];
    size_t from = random_below(other->size + 1), at = random_below(current.size + 1),
           count = other->size - from;
    if (count > MAX_BYTES - at)
        count = MAX_BYTES - at;
    memcpy(current.bytes + at, other->bytes + from, count);
    current.size = at + count;
}

static void mutate_input(void)
{
    switch (random_below(5)) {
    case 0:
        insert_byte((uint8_t)random_below(256));
        break;
    case 1:
        insert_byte((uint8_t) "0123456789.-+KMGT %/:,e"[random_below(23)]);
        break;
    case 2:
        if (current.size > 0)
            remove_byte();
        break;
    case 3:
        if (current.size > 0)
            current.bytes[random_below(current.size)] ^= (uint8_t)(1u << random_below(8));
        break;
    default:
        splice_input();
        break;
    }
}

int main(int argc, char **argv)
{
    if (argc != 3)
        fail("call it with an archive of seeds and a number of rounds.", argv[0]);
    load_seeds(argv[1]);
    signal(SIGABRT, print_input);
    signal(SIGSEGV, print_input);
    for (size_t i = 0; i < seed_count; i++) {
        current = *seeds[i];
        LLVMFuzzerTestOneInput(current.bytes, current.size);
    }
    long rounds = strtol(argv[2], NULL, 10);
    for (long i = 0; i < rounds; i++) {
        current = *seeds[random_below(seed_count)];
        for (size_t n = 1 + random_below(8); n > 0; n--)
            mutate_input();
        LLVMFuzzerTestOneInput(current.bytes, current.size);
    }
    printf("%zu inputs and %ld mutations.\n", seed_count, rounds);
    for (size_t i = 0; i < seed_count; i++)
        free(seeds[i]);
    return 0;
}
