/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wordfreq.c - counts the words of text files with a hash table that is spread over the ranks.
 *
 * A word is a longest run of the ASCII letters A-Z and a-z, taken in lower case; every other byte
 * separates words, and so does the end of a file. A run of more than WORD_MAX letters is still
 * counted, as one word: its first WORD_MAX letters.
 *
 * The files, laid end to end, are cut into one piece of equal bytes per rank. A word belongs to the
 * piece in which it begins: a rank skips the word that runs into its piece and follows its last
 * word past the end, so each word is counted exactly once.
 *
 * The hash of a word names the rank that owns it. Words travel to their owners many at a time, in
 * Medium messages of records: one byte of length, the letters, and when a whole table is gathered
 * on rank 0 also 8 bytes of count.
 */
#include "example.h"

#include <sys/stat.h>

enum {
    ON_RECORDS = EXAMPLE_FIRST_INDEX,
    WORD_MAX = 100,
    BATCH_BYTES = 4096, /* beyond this a larger message gains little */
    SHOWN_MISTAKES = 10
};

static const char usage[] = "usage: wordfreq [--check] [--top K] FILE...\n";
static const char help[] =
    "usage: wordfreq [--check] [--top K] FILE...\n"
    "Counts the words of the files with a table spread over all ranks.\n"
    "A word is a longest run of the letters A-Z and a-z, in lower case; of a run of more than\n"
    "100 letters the first 100 count as the word.\n"
    "  --top K  print the K most frequent words (0 to 1000000; default 10)\n"
    "  --check  rank 0 counts everything again alone and compares every word\n";

/* ---- a table of words of one rank: open addressing, at most half full ---- */

typedef struct {
    char *word; /* NULL: a free slot */
    size_t length;
    uint64_t hash, count;
} entry_t;

typedef struct {
    entry_t *slots;
    size_t size, used; /* size is 0 or a power of two */
    uint64_t total;    /* sum of the counts */
} table_t;

static table_t owned;    /* the words that this rank owns; changed by the handler */
static table_t gathered; /* on rank 0: words sent here by their owners; changed by the handler */
static table_t serial;   /* on rank 0: what --check counts alone */

/* FNV-1a. The low bits choose a slot, the high bits the owner, so that the two are independent. */
static uint64_t hash_of(const char *word, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t k = 0; k < length; k++)
        hash = (hash ^ (unsigned char)word[k]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

/* The slot of the word, or the free slot where it would go. */
static entry_t *table_slot(const table_t *table, const char *word, size_t length, uint64_t hash)
{
    for (size_t at = hash & (table->size - 1);; at = (at + 1) & (table->size - 1)) {
        entry_t *entry = &table->slots[at];
        if (!entry->word || (entry->hash == hash && entry->length == length &&
                             memcmp(entry->word, word, length) == 0))
            return entry;
    }
}

static void table_grow(table_t *table)
{
    table_t larger = {.size = table->size ? table->size * 2 : 1024};
    larger.slots = example_alloc(larger.size, sizeof *larger.slots);
    for (size_t at = 0; at < table->size; at++) {
        const entry_t *old = &table->slots[at];
        if (old->word)
            *table_slot(&larger, old->word, old->length, old->hash) = *old;
    }
    free(table->slots);
    table->slots = larger.slots;
    table->size = larger.size;
}

static void table_add(table_t *table, const char *word, size_t length, uint64_t count)
{
    uint64_t hash = hash_of(word, length);
    if (table->used * 2 >= table->size)
        table_grow(table);
    entry_t *entry = table_slot(table, word, length, hash);
    if (!entry->word) {
        *entry = (entry_t){example_alloc(length + 1, 1), length, hash, 0};
        memcpy(entry->word, word, length);
        table->used++;
    }
    entry->count += count;
    table->total += count;
}

static uint64_t table_count(const table_t *table, const entry_t *like)
{
    return table->size ? table_slot(table, like->word, like->length, like->hash)->count : 0;
}

static void table_free(table_t *table)
{
    for (size_t at = 0; at < table->size; at++)
        free(table->slots[at].word);
    free(table->slots);
    *table = (table_t){0};
}

static int by_count_then_word(const void *a, const void *b)
{
    const entry_t *x = *(entry_t *const *)a, *y = *(entry_t *const *)b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return strcmp(x->word, y->word);
}

/* The entries of the table, the most frequent first; the caller frees the array. */
static entry_t **table_sorted(const table_t *table)
{
    entry_t **sorted = example_alloc(table->used, sizeof *sorted);
    size_t count = 0;
    for (size_t at = 0; at < table->size; at++)
        if (table->slots[at].word)
            sorted[count++] = &table->slots[at];
    qsort(sorted, count, sizeof *sorted, by_count_then_word);
    return sorted;
}

/* ---- records on their way to other ranks ---- */

static struct {
    char *rows;               /* BATCH_BYTES for each rank */
    size_t *fill;             /* bytes waiting in each row */
    size_t *capacity;         /* bytes that fit into one message to that rank */
    uint64_t *waiting, *sent; /* records in the row, and records sent in this round */
    int with_counts;          /* what this round's records are: see on_records() */
} outbox;

/* Records without counts are words found in a text, for their owner; with counts, a table's. */
static void on_records(gex_Token_t token, void *payload, size_t bytes, gex_AM_Arg_t with_counts)
{
    const char *at = payload, *end = at + bytes;
    uint64_t records = 0;
    (void)token;
    gex_HSL_Lock(&job.lock);
    for (; at < end; records++) {
        size_t length = (unsigned char)at[0];
        uint64_t count = 1;
        const char *word = at + 1;
        at = word + length;
        if (with_counts) {
            memcpy(&count, at, sizeof count);
            at += sizeof count;
        }
        table_add(with_counts ? &gathered : &owned, word, length, count);
    }
    gex_HSL_Unlock(&job.lock);
    example_items_arrived(records);
}

static void outbox_open(void)
{
    outbox.rows = example_alloc(job.ranks, BATCH_BYTES);
    outbox.fill = example_alloc(job.ranks, sizeof *outbox.fill);
    outbox.capacity = example_alloc(job.ranks, sizeof *outbox.capacity);
    outbox.waiting = example_alloc(job.ranks, sizeof *outbox.waiting);
    outbox.sent = example_alloc(job.ranks, sizeof *outbox.sent);
    for (gex_Rank_t to = 0; to < job.ranks; to++) {
        size_t most = gex_AM_MaxRequestMedium(job.tm, to, GEX_EVENT_NOW, 0, 1);
        outbox.capacity[to] = most < BATCH_BYTES ? most : BATCH_BYTES;
    }
}

static void outbox_close(void)
{
    free(outbox.rows);
    free(outbox.fill);
    free(outbox.capacity);
    free(outbox.waiting);
    free(outbox.sent);
}

static void outbox_send(gex_Rank_t to)
{
    gex_AM_RequestMedium1(job.tm, to, ON_RECORDS, outbox.rows + (size_t)to * BATCH_BYTES,
                          outbox.fill[to], GEX_EVENT_NOW, 0, outbox.with_counts);
    outbox.sent[to] += outbox.waiting[to];
    outbox.fill[to] = 0;
    outbox.waiting[to] = 0;
}

static void outbox_add(gex_Rank_t to, const char *word, size_t length, uint64_t count)
{
    size_t bytes = 1 + length + (outbox.with_counts ? sizeof count : 0);
    if (outbox.fill[to] + bytes > outbox.capacity[to])
        outbox_send(to);
    char *record = outbox.rows + (size_t)to * BATCH_BYTES + outbox.fill[to];
    record[0] = (char)length;
    memcpy(record + 1, word, length);
    if (outbox.with_counts)
        memcpy(record + 1 + length, &count, sizeof count);
    outbox.fill[to] += bytes;
    outbox.waiting[to]++;
}

/* Sends what waits, and returns when the records of all ranks are in their tables. */
static void outbox_settle(void)
{
    for (gex_Rank_t to = 0; to < job.ranks; to++)
        if (outbox.fill[to])
            outbox_send(to);
    example_settle(outbox.sent);
    memset(outbox.sent, 0, job.ranks * sizeof *outbox.sent);
}

/* ---- reading ---- */

typedef void word_sink_t(const char *word, size_t length);

static void send_word(const char *word, size_t length)
{
    outbox_add((gex_Rank_t)((hash_of(word, length) >> 32) % job.ranks), word, length, 1);
}

static void count_serial(const char *word, size_t length)
{
    table_add(&serial, word, length, 1);
}

/* The lower-case letter, or 0 for a byte that is no ASCII letter (whatever the locale). */
static char letter_of(int byte)
{
    if (byte >= 'A' && byte <= 'Z')
        return (char)(byte - 'A' + 'a');
    return byte >= 'a' && byte <= 'z' ? (char)byte : 0;
}

/* Hands over the words that begin at [begin, end) of the file, which stands at `begin`, or one byte
 * earlier if begin > 0: that byte tells whether a word runs into the range. */
static void scan_words(FILE *file, const char *path, uint64_t begin, uint64_t end,
                       word_sink_t *sink)
{
    char word[WORD_MAX];
    size_t length = 0;
    int foreign = begin > 0; /* inside a word that began before the range */
    for (uint64_t at = begin - (begin > 0); at < end || length; at++) {
        int byte = getc_unlocked(file);
        char letter = letter_of(byte);
        if (byte == EOF && (ferror(file) || at < end))
            example_fatal("cannot read %s: %s.", path,
                          ferror(file) ? strerror(errno) : "it became shorter meanwhile");
        if (letter && !foreign && length < WORD_MAX) {
            word[length++] = letter;
        } else if (!letter) {
            foreign = 0;
            if (length)
                sink(word, length);
            length = 0;
        }
    }
}

static void read_range(const char *path, uint64_t begin, uint64_t end, word_sink_t *sink)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseeko(file, (off_t)(begin - (begin > 0)), SEEK_SET) != 0)
        example_fatal("cannot read %s: %s.", path, strerror(errno));
    else
        scan_words(file, path, begin, end, sink);
    if (file)
        fclose(file);
}

typedef struct {
    char **paths;
    uint64_t *sizes;
    size_t count;
    uint64_t bytes; /* all together */
} texts_t;

/* Reads the bytes [begin, end) of all files laid end to end. */
static void read_texts(const texts_t *texts, uint64_t begin, uint64_t end, word_sink_t *sink)
{
    uint64_t offset = 0; /* where file k begins */
    for (size_t k = 0; k < texts->count; offset += texts->sizes[k++]) {
        uint64_t from = begin > offset ? begin - offset : 0;
        uint64_t to = end > offset ? end - offset : 0;
        if (to > texts->sizes[k])
            to = texts->sizes[k];
        if (from < to)
            read_range(texts->paths[k], from, to, sink);
    }
}

/* Why the file cannot be read, or NULL and its size. */
static const char *look_at(const char *path, uint64_t *size)
{
    struct stat status;
    FILE *file = fopen(path, "rb");
    const char *reason = NULL;
    if (!file)
        return strerror(errno);
    if (fstat(fileno(file), &status) != 0)
        reason = strerror(errno);
    else if (!S_ISREG(status.st_mode))
        reason = "it is not a regular file";
    else
        *size = (uint64_t)status.st_size;
    fclose(file);
    return reason;
}

static uint64_t look_at_all(texts_t *texts)
{
    for (size_t k = 0; k < texts->count; k++) {
        const char *reason = look_at(texts->paths[k], &texts->sizes[k]);
        if (reason) {
            fprintf(stderr, "wordfreq: rank %u cannot read %s: %s.\n", (unsigned)job.me,
                    texts->paths[k], reason);
            return 1;
        }
        texts->bytes += texts->sizes[k];
    }
    return 0;
}

/* Rank 0 looks first, so that a file that nobody can read is told once and not by every rank. */
static texts_t open_texts(char **paths, int count)
{
    texts_t texts = {paths, example_alloc((size_t)count, sizeof(uint64_t)), (size_t)count, 0};
    if (example_sum(job.me == 0 ? look_at_all(&texts) : 0))
        example_finish(1);
    if (example_sum(job.me != 0 ? look_at_all(&texts) : 0))
        example_finish(1);
    if (example_sum(texts.bytes) != texts.bytes * job.ranks)
        example_fatal(
            "the files do not have the same size for all ranks; give all the same files.");
    return texts;
}

/* ---- results ---- */

/* Sends the `most` most frequent words of each owner to rank 0. */
static void gather(uint64_t most)
{
    entry_t **sorted = table_sorted(&owned);
    outbox.with_counts = 1;
    for (size_t k = 0; k < owned.used && k < most; k++)
        outbox_add(0, sorted[k]->word, sorted[k]->length, sorted[k]->count);
    outbox_settle();
    free(sorted);
}

static void print_top(uint64_t top)
{
    entry_t **sorted = table_sorted(&gathered);
    for (size_t k = 0; k < gathered.used && k < top; k++)
        printf("%10" PRIu64 "  %s\n", sorted[k]->count, sorted[k]->word);
    free(sorted);
}

static void tell_mistake(uint64_t number, const entry_t *entry, uint64_t shared, uint64_t single)
{
    if (number < SHOWN_MISTAKES)
        printf("check: '%s' was counted %" PRIu64 " times by all ranks, and %" PRIu64
               " times by rank 0 alone\n",
               entry->word, shared, single);
}

/* Words whose counts in `gathered` and `serial` differ, each counted once. */
static uint64_t compare_tables(void)
{
    uint64_t wrong = 0;
    for (size_t at = 0; at < serial.size; at++) {
        const entry_t *entry = &serial.slots[at];
        uint64_t shared = entry->word ? table_count(&gathered, entry) : 0;
        if (entry->word && shared != entry->count)
            tell_mistake(wrong++, entry, shared, entry->count);
    }
    for (size_t at = 0; at < gathered.size; at++) {
        const entry_t *entry = &gathered.slots[at];
        if (entry->word && table_count(&serial, entry) == 0)
            tell_mistake(wrong++, entry, entry->count, 0);
    }
    return wrong;
}

/* Rank 0 counts all alone and compares; returns the number of mistakes. */
static uint64_t check(const texts_t *texts, uint64_t words, uint64_t distinct)
{
    read_texts(texts, 0, texts->bytes, count_serial);
    uint64_t wrong = compare_tables();
    /* This also sees a word that two ranks own: the gathered table has joined the two. */
    if (words != serial.total || distinct != serial.used) {
        printf("check: all ranks found %" PRIu64 " words, %" PRIu64 " distinct, and rank 0 alone "
               "%" PRIu64 ", %zu distinct\n",
               words, distinct, serial.total, serial.used);
        wrong++;
    }
    if (wrong)
        printf("check: failed, %" PRIu64 " differences\n", wrong);
    else
        puts("check: ok");
    table_free(&serial);
    return wrong;
}

/* Counts, reports and checks; returns the number of mistakes. */
static uint64_t run(const texts_t *texts, uint64_t top, int with_check)
{
    double start = example_seconds();
    read_texts(texts, example_share(texts->bytes, job.me), example_share(texts->bytes, job.me + 1u),
               send_word);
    outbox_settle();
    double seconds = example_seconds() - start;

    uint64_t words = example_sum(owned.total), distinct = example_sum(owned.used), wrong = 0;
    gather(with_check ? UINT64_MAX : top);
    if (job.me == 0) {
        print_top(top);
        printf("%" PRIu64 " words, %" PRIu64 " distinct, in %zu files by %u ranks: %.3f s, "
               "%.1f MB/s\n",
               words, distinct, texts->count, (unsigned)job.ranks, seconds,
               (double)texts->bytes / seconds * 1e-6);
        if (with_check)
            wrong = check(texts, words, distinct);
    }
    return example_sum(wrong);
}

int main(int argc, char **argv)
{
    uint64_t top = 10, with_check = 0;
    const example_option_t options[] = {{"--check", 0, 0, &with_check},
                                        {"--top", 0, 1000000, &top}};
    gex_AM_Entry_t handlers[] = {{ON_RECORDS, (gex_AM_Fn_t)on_records,
                                  GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1, NULL, "records"}};
    example_start("wordfreq", help, &argc, &argv, handlers, 1);
    int first = example_options(argc, argv, options, 2);
    if (first == argc) {
        if (job.me == 0)
            fputs(usage, stderr);
        example_finish(2);
    }
    texts_t texts = open_texts(argv + first, argc - first);
    outbox_open();
    uint64_t wrong = run(&texts, top, with_check != 0);
    outbox_close();
    free(texts.sizes);
    table_free(&owned);
    table_free(&gathered);
    example_finish(wrong ? 1 : 0);
}
