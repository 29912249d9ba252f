// SPDX-License-Identifier: BSD-3-Clause
// The loop of the interactive gasnet_top: reads the job, draws one of its views with curses, and
// takes a key.
#include "top_screen.h"

#include <curses.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "diagnose.h"
#include "../format/own_names.h"
#include "rank_text.h"
#include "stack_ask.h"
#include "top_write.h"

enum { HEAD_LINES = 4, ESCAPE = 27, ENTER = 10 };

typedef enum order { BY_RANK, BY_WAIT, BY_MESSAGES, BY_BYTES, BY_PUTS, ORDERS } order_t;
typedef enum view { VIEW_RANKS, VIEW_RANK, VIEW_DIAGNOSIS, VIEW_HELP } view_t;

typedef struct row {
    aq_watched_rank_t *rank;
    double key; // higher ones first; by rank: not used
} row_t;

typedef struct screen {
    aq_watched_job_t *job;
    row_t *rows;
    order_t order;
    view_t view;
    uint32_t chosen; // row
    uint32_t top;    // first row on the screen
    uint64_t now;
    bool stack_requested; // of the rank in the view; then the result and stack are set
    aq_stack_result_t result;
    aq_seen_stack_t stack;
    char *diagnosis;
} screen_t;

bool aq_top_goes_on(const aq_watched_job_t *job)
{
    for (uint32_t i = 0; i < job->found; i++)
        if (!aq_watched_is_gone(job->rank[i]))
            return true;
    return false;
}

// ---- rows ----

static double key_of(const screen_t *screen, const aq_watched_rank_t *rank)
{
    const aq_top_numbers_t rates = aq_top_rates(screen->job, rank);
    const aq_seen_thread_t *longest = aq_seen_longest(&rank->seen, screen->now, 0);
    switch (screen->order) {
    case BY_WAIT:
        return longest ? (double)aq_seen_waited(longest, screen->now) : 0;
    case BY_MESSAGES:
        return rates.messages;
    case BY_BYTES:
        return rates.message_bytes + rates.put_bytes + rates.get_bytes;
    case BY_PUTS:
        return rates.puts + rates.gets;
    default:
        return 0;
    }
}

static int row_compare(const void *a, const void *b)
{
    const row_t *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->rank->seen.rank < y->rank->seen.rank ? -1 : 1;
}

static void rows_sort(screen_t *screen)
{
    for (uint32_t i = 0; i < screen->job->found; i++)
        screen->rows[i] = (row_t){screen->job->rank[i], key_of(screen, screen->job->rank[i])};
    qsort(screen->rows, screen->job->found, sizeof *screen->rows, row_compare);
}

// ---- lines ----

// Prints at the beginning of a line, and cuts what the line has no room for.
__attribute__((format(printf, 2, 3))) static void line_cut(int line, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    mvaddnstr(line, 0, text, COLS);
}

// Prints on as many lines as the text needs. Returns the next line.
__attribute__((format(printf, 3, 4))) static int lines_fill(int line, int column,
                                                            const char *format, ...)
{
    va_list arguments;
    if (line >= LINES || move(line, column) == ERR)
        return line;
    va_start(arguments, format);
    vw_printw(stdscr, format, arguments);
    va_end(arguments);
    return getcury(stdscr) + 1;
}

// The rank that has dropped most; NULL: none has dropped anything. *all: what all have dropped.
static const aq_watched_rank_t *most_dropped(const aq_watched_job_t *job, uint64_t *all)
{
    const aq_watched_rank_t *most = NULL;
    *all = 0;
    for (uint32_t i = 0; i < job->found; i++) {
        const uint64_t dropped = aq_top_dropped(job->rank[i]);
        if (dropped > (most ? aq_top_dropped(most) : 0))
            most = job->rank[i];
        *all += dropped;
    }
    return most;
}

// ---- columns ----

typedef enum column_use { ALWAYS, WIDE, NARROW, DROPS } column_use_t;
enum { WIDE_COLUMNS = 100 }; // a terminal with fewer is narrow

typedef struct column {
    const char *title;
    int width; // negative: at the left
    column_use_t use;
    void (*write)(const screen_t *screen, const aq_watched_rank_t *rank, char text[AQ_RANK_TEXT]);
} column_t;

static void write_rank_number(const screen_t *screen, const aq_watched_rank_t *rank,
                              char text[AQ_RANK_TEXT])
{
    (void)screen;
    snprintf(text, AQ_RANK_TEXT, "%" PRIu32, rank->seen.rank);
}

static void write_host(const screen_t *screen, const aq_watched_rank_t *rank,
                       char text[AQ_RANK_TEXT])
{
    (void)screen;
    snprintf(text, AQ_RANK_TEXT, "%.8s", rank->seen.host_name);
}

static void write_process(const screen_t *screen, const aq_watched_rank_t *rank,
                          char text[AQ_RANK_TEXT])
{
    (void)screen;
    snprintf(text, AQ_RANK_TEXT, "%d", (int)rank->seen.pid);
}

static void write_state(const screen_t *screen, const aq_watched_rank_t *rank,
                        char text[AQ_RANK_TEXT])
{
    (void)screen;
    snprintf(text, AQ_RANK_TEXT, "%s", aq_top_state(rank));
}

static void write_messages(const screen_t *screen, const aq_watched_rank_t *rank,
                           char text[AQ_RANK_TEXT])
{
    aq_top_short(aq_top_rates(screen->job, rank).messages, text);
}

static void write_bytes(const screen_t *screen, const aq_watched_rank_t *rank,
                        char text[AQ_RANK_TEXT])
{
    const aq_top_numbers_t rates = aq_top_rates(screen->job, rank);
    aq_top_short(rates.message_bytes + rates.put_bytes + rates.get_bytes, text);
}

static void write_puts(const screen_t *screen, const aq_watched_rank_t *rank,
                       char text[AQ_RANK_TEXT])
{
    aq_top_short(aq_top_rates(screen->job, rank).puts, text);
}

static void write_gets(const screen_t *screen, const aq_watched_rank_t *rank,
                       char text[AQ_RANK_TEXT])
{
    aq_top_short(aq_top_rates(screen->job, rank).gets, text);
}

static void write_both(const screen_t *screen, const aq_watched_rank_t *rank,
                       char text[AQ_RANK_TEXT])
{
    const aq_top_numbers_t rates = aq_top_rates(screen->job, rank);
    aq_top_short(rates.puts + rates.gets, text);
}

static void write_polls(const screen_t *screen, const aq_watched_rank_t *rank,
                        char text[AQ_RANK_TEXT])
{
    aq_top_poll_share(screen->job, rank, text);
}

static void write_dropped(const screen_t *screen, const aq_watched_rank_t *rank,
                          char text[AQ_RANK_TEXT])
{
    (void)screen;
    aq_top_short((double)aq_top_dropped(rank), text);
}

static void write_time(const screen_t *screen, const aq_watched_rank_t *rank,
                       char text[AQ_RANK_TEXT])
{
    const aq_seen_thread_t *longest = aq_seen_longest(&rank->seen, screen->now, 0);
    text[0] = '\0';
    if (longest)
        aq_text_time(aq_seen_waited(longest, screen->now), text);
}

static void write_wait(const screen_t *screen, const aq_watched_rank_t *rank,
                       char text[AQ_RANK_TEXT])
{
    const aq_seen_thread_t *longest = aq_seen_longest(&rank->seen, screen->now, 0);
    text[0] = '\0';
    if (longest)
        aq_text_wait(&rank->seen, longest, text);
}

static bool column_is_shown(const column_t *column, uint64_t dropped)
{
    const bool wide = COLS >= WIDE_COLUMNS;
    return column->use == ALWAYS || (column->use == WIDE && wide) ||
           (column->use == NARROW && !wide) || (column->use == DROPS && dropped > 0);
}

// A line of the table; rank NULL: the titles. dropped: by all ranks.
static void draw_row(const screen_t *screen, int line, const aq_watched_rank_t *rank,
                     uint64_t dropped)
{
    static const column_t columns[] = {
        {"rank", 5, ALWAYS, write_rank_number}, {"host", -8, ALWAYS, write_host},
        {"process", 7, WIDE, write_process},    {"state", -7, ALWAYS, write_state},
        {"msg/s", 5, ALWAYS, write_messages},   {"byte/s", 6, ALWAYS, write_bytes},
        {"put/s", 5, WIDE, write_puts},         {"get/s", 5, WIDE, write_gets},
        {"rma/s", 5, NARROW, write_both},       {"poll%", 5, ALWAYS, write_polls},
        {"drops", 5, DROPS, write_dropped},     {"for", 9, ALWAYS, write_time},
        {"waits for", -1, ALWAYS, write_wait},
    };
    char text[512] = "", cell[AQ_RANK_TEXT];
    size_t used = 0;
    for (size_t i = 0; i < sizeof columns / sizeof columns[0] && used < sizeof text; i++) {
        if (!column_is_shown(&columns[i], dropped))
            continue;
        if (rank)
            columns[i].write(screen, rank, cell);
        else
            snprintf(cell, sizeof cell, "%s", columns[i].title);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%*s", used ? " " : "",
                                 columns[i].width, cell);
    }
    line_cut(line, "%s", text);
}

// ---- the ranks ----

static void draw_pair(const screen_t *screen, const aq_watched_rank_t *most, uint64_t dropped)
{
    char time[AQ_RANK_TEXT], digits[16], pair_text[AQ_RANK_TEXT], drops[AQ_RANK_TEXT] = "";
    aq_top_pair_t pair;
    if (aq_top_slowest(screen->job, screen->now, &pair))
        snprintf(pair_text, sizeof pair_text,
                 "slowest pair: rank %" PRIu32 " waits for rank %" PRIu32 " for %.20s", pair.waits,
                 pair.for_rank, aq_text_time(pair.waited, time));
    else
        snprintf(pair_text, sizeof pair_text, "no rank waits for another one");
    if (most)
        snprintf(drops, sizeof drops, "; dropped: %s, most at rank %" PRIu32,
                 aq_top_short((double)dropped, digits), most->seen.rank);
    line_cut(1, "%s%s", pair_text, drops);
}

static void draw_head(const screen_t *screen)
{
    static const char *const orders[ORDERS] = {"rank", "wait", "messages", "bytes",
                                               "puts and gets"};
    const aq_watched_job_t *job = screen->job;
    const aq_seen_rank_t *first = &job->rank[0]->seen;
    char networks[300], time[AQ_RANK_TEXT];
    line_cut(0, "%s: %" PRIu32 " ranks, %" PRIu32 " shown, for %s; %s", first->program, job->ranks,
             job->found,
             aq_text_time(screen->now > first->started ? screen->now - first->started : 0, time),
             aq_top_networks(first, networks, sizeof networks));
    line_cut(2, "sorted by %s (r w m b p); Enter a rank, d diagnosis, h help, q quit",
             orders[screen->order]);
}

// Below the ranks, if there is room.
static void draw_elsewhere(const screen_t *screen)
{
    char elsewhere[AQ_ELSEWHERE_TEXT];
    const uint32_t below = screen->job->found - screen->top;
    if (LINES > HEAD_LINES + 1 && below < (uint32_t)(LINES - HEAD_LINES - 1))
        mvprintw(HEAD_LINES + (int)below + 1, 0, "%s", aq_text_elsewhere(screen->job, elsewhere));
}

static void draw_ranks(screen_t *screen)
{
    const uint32_t lines = LINES > HEAD_LINES ? (uint32_t)(LINES - HEAD_LINES) : 1;
    if (screen->chosen < screen->top)
        screen->top = screen->chosen;
    if (screen->chosen >= screen->top + lines)
        screen->top = screen->chosen + 1 - lines;
    uint64_t dropped;
    const aq_watched_rank_t *most = most_dropped(screen->job, &dropped);
    draw_head(screen);
    draw_pair(screen, most, dropped);
    attron(A_BOLD);
    draw_row(screen, 3, NULL, dropped);
    attroff(A_BOLD);
    draw_elsewhere(screen);
    for (uint32_t i = 0; i < lines && screen->top + i < screen->job->found; i++) {
        const bool chosen = screen->top + i == screen->chosen;
        if (chosen)
            attron(A_REVERSE);
        draw_row(screen, HEAD_LINES + (int)i, screen->rows[screen->top + i].rank, dropped);
        if (chosen)
            attroff(A_REVERSE);
    }
}

// ---- one rank ----

// A table of the waits that are over: a column for each kind, with its name in JSON.
static int draw_waits(const uint64_t own[AQ_OWN_COUNTS], int line)
{
    char titles[128] = "", times[128] = "", text[16];
    size_t used = 0;
    for (unsigned i = AQ_WAIT_EVENT; i < AQ_WAIT_KINDS; i++) {
        const char *kind = strchr(aq_own_name(AQ_OWN_WAIT_NS + i), '_') + 1;
        const int length = (int)strlen(kind) - 3, width = length > 5 ? length : 5; // 3: "_ns"
        const double seconds = (double)own[AQ_OWN_WAIT_NS + i] / 1e9;
        if (seconds < 100)
            snprintf(text, sizeof text, "%.1f", seconds);
        else
            aq_top_short(seconds, text);
        snprintf(titles + used, sizeof titles - used, " %*.*s", width, length, kind);
        used += (size_t)snprintf(times + used, sizeof times - used, " %*s", width, text);
    }
    line = lines_fill(line, 0, "waits that are over:%s", titles);
    return lines_fill(line, 0, "             seconds%s", times);
}

static int draw_counts(const aq_watched_rank_t *rank, int line)
{
    char text[AQ_TOP_OWN], time[AQ_RANK_TEXT], a[16];
    line = lines_fill(line, 0, "%s", aq_top_polls(rank, text));
    line = draw_waits(rank->own, line);
    if (rank->own[AQ_OWN_SLEEPS])
        line = lines_fill(line, 0, "slept %s times in waits, for %s",
                          aq_top_short((double)rank->own[AQ_OWN_SLEEPS], a),
                          aq_text_time(rank->own[AQ_OWN_SLEEP_NS], time));
    if (aq_top_drops(rank, text)[0])
        line = lines_fill(line, 0, "dropped: %s", text);
    return line;
}

static int draw_threads(const screen_t *screen, const aq_seen_rank_t *seen, int line)
{
    char what[AQ_RANK_TEXT], time[AQ_RANK_TEXT], unpolled[AQ_RANK_TEXT];
    for (unsigned i = 0; i < seen->threads && line < LINES; i++) {
        const aq_seen_thread_t *thread = &seen->thread[i];
        if (thread->kind == AQ_WAIT_NOTHING)
            line =
                lines_fill(line, 2, "thread %" PRIu32 ": in no wait of the library", thread->tid);
        else
            line = lines_fill(line, 2, "thread %" PRIu32 ": waits for %s for %s, last poll %s ago",
                              thread->tid, aq_text_wait(seen, thread, what),
                              aq_text_time(aq_seen_waited(thread, screen->now), time),
                              aq_text_time(aq_seen_unpolled(thread, screen->now), unpolled));
    }
    return line;
}

static int draw_teams(const aq_seen_rank_t *seen, int line)
{
    char text[AQ_RANK_TEXT];
    for (unsigned i = 0; i < seen->teams && line < LINES; i++) {
        const aq_seen_team_t *team = &seen->team[i];
        line = lines_fill(
            line, 2, "%s: rank %" PRIu32 " of %" PRIu32 ", %" PRIu32 " collectives%s%s",
            aq_text_team(team->id, text), team->rank, team->size, team->calls,
            team->calls ? ", the last one a " : "", team->calls ? aq_text_call(team->last[0]) : "");
    }
    return line;
}

static void draw_stack(const screen_t *screen, int line)
{
    if (!screen->stack_requested)
        return;
    if (screen->result != AQ_STACK_GIVEN) {
        (void)lines_fill(line, 2, "%s", aq_stack_excuse(screen->result));
        return;
    }
    line = lines_fill(line, 2, "stack of thread %" PRIu32 ":", screen->stack.tid);
    if (screen->stack.handler >= 0)
        line = lines_fill(line, 4, "in handler %d", screen->stack.handler);
    for (uint32_t i = 0; i < screen->stack.frames && line < LINES; i++)
        line = lines_fill(line, 4, "%s", screen->stack.frame[i]);
}

static void draw_rank(const screen_t *screen)
{
    const aq_watched_rank_t *rank = screen->rows[screen->chosen].rank;
    const aq_top_numbers_t n = aq_top_totals(rank);
    char networks[300], a[16], b[16], c[16], d[16], e[16];
    line_cut(0, "rank %" PRIu32 " of %" PRIu32 " on %s, process %d, %s; %s", rank->seen.rank,
             rank->seen.ranks, rank->seen.host_name, (int)rank->seen.pid, aq_top_state(rank),
             aq_top_networks(&rank->seen, networks, sizeof networks));
    line_cut(1, "keys: s its stack, Escape back, q quit");
    int line =
        lines_fill(2, 0, "sent in all: %s messages of %s bytes, %s puts, %s gets, %s atomics",
                   aq_top_short(n.messages, a), aq_top_short(n.message_bytes, b),
                   aq_top_short(n.puts, c), aq_top_short(n.gets, d), aq_top_short(n.atomics, e));
    line = draw_counts(rank, line);
    line = draw_threads(screen, &rank->seen, line);
    line = draw_teams(&rank->seen, line);
    draw_stack(screen, screen->stack_requested && line + 1 < LINES ? line + 1 : line);
}

// ---- other views ----

static void diagnose(screen_t *screen)
{
    size_t size;
    free(screen->diagnosis);
    screen->diagnosis = NULL;
    FILE *out = open_memstream(&screen->diagnosis, &size);
    if (!out)
        return;
    (void)aq_diagnose(screen->job, screen->now, aq_stack_ask, out);
    (void)fclose(out);
}

static void draw_diagnosis(const screen_t *screen)
{
    mvprintw(0, 0, "diagnosis; keys: d again, Escape back, q quit");
    if (screen->diagnosis)
        mvprintw(2, 0, "%s", screen->diagnosis);
}

static void draw_help(void)
{
    mvprintw(0, 0,
             "r w m b p   sort by rank, wait, messages, bytes, puts and gets\n"
             "up down     choose a rank; also page up, page down\n"
             "Enter       look into the chosen rank; there, s asks for its stack\n"
             "d           say who waits for whom, and why\n"
             "Escape      go back to the ranks\n"
             "q           quit\n\n"
             "Rates are of what the rank itself has sent through the library in a second.\n"
             "Puts and gets on mapped memory are instructions of the client, and are not\n"
             "counted. A narrow screen adds puts and gets up (rma/s).\n"
             "poll%%  polls that found something, of those counted since the last reading; -:\n"
             "       none was counted\n"
             "drops  messages and packets that were dropped; there is no column without any.\n"
             "       The look into a rank has the reasons.\n\n"
             "s and d send the report signal to ranks (GASNET_REPORT_SIGNAL).");
}

static void draw(screen_t *screen)
{
    erase();
    if (screen->view == VIEW_RANKS)
        draw_ranks(screen);
    else if (screen->view == VIEW_RANK)
        draw_rank(screen);
    else if (screen->view == VIEW_DIAGNOSIS)
        draw_diagnosis(screen);
    else
        draw_help();
    refresh();
}

// ---- keys ----

static void show(screen_t *screen, view_t view)
{
    screen->view = view;
    screen->stack_requested = false;
    if (view == VIEW_DIAGNOSIS)
        diagnose(screen);
}

static void move_by(screen_t *screen, int64_t lines)
{
    int64_t chosen = (int64_t)screen->chosen + lines;
    if (chosen >= screen->job->found)
        chosen = (int64_t)screen->job->found - 1;
    screen->chosen = chosen > 0 ? (uint32_t)chosen : 0;
}

static void ask_stack(screen_t *screen)
{
    screen->result = aq_stack_ask(screen->job, screen->rows[screen->chosen].rank, &screen->stack);
    screen->stack_requested = true;
}

static void key_sort(screen_t *screen, int key)
{
    static const char keys[] = "rwmbp";
    const char *found = key > 0 && key < 128 ? strchr(keys, key) : NULL;
    if (found && screen->view == VIEW_RANKS)
        screen->order = (order_t)(found - keys);
}

// Returns false if the user has had enough.
static bool key_take(screen_t *screen, int key)
{
    const int page = LINES > HEAD_LINES + 1 ? LINES - HEAD_LINES - 1 : 1;
    if (key == 'q')
        return false;
    if (key == KEY_UP || key == KEY_DOWN)
        move_by(screen, key == KEY_UP ? -1 : 1);
    else if (key == KEY_PPAGE || key == KEY_NPAGE)
        move_by(screen, key == KEY_PPAGE ? -page : page);
    else if (key == ESCAPE)
        show(screen, VIEW_RANKS);
    else if (key == 'd')
        show(screen, VIEW_DIAGNOSIS);
    else if (key == 'h' || key == '?')
        show(screen, VIEW_HELP);
    else if ((key == ENTER || key == KEY_ENTER) && screen->view == VIEW_RANKS)
        show(screen, VIEW_RANK);
    else if (key == 's' && screen->view == VIEW_RANK)
        ask_stack(screen);
    else
        key_sort(screen, key);
    return true;
}

static void look(screen_t *screen)
{
    aq_watched_read(screen->job, true);
    screen->now = aq_clock_ns();
    if (screen->view != VIEW_RANK) // there the rank stays the chosen one
        rows_sort(screen);
}

static void screen_run(screen_t *screen, int delay)
{
    uint64_t read_at = 0;
    for (int key = ERR;; key = getch()) {
        if (key != ERR && !key_take(screen, key))
            return;
        if (aq_clock_ns() - read_at >= (uint64_t)delay * 1000000) {
            look(screen);
            read_at = screen->now;
        } else if (key != ERR && screen->view == VIEW_RANKS) {
            rows_sort(screen);
        }
        if (!aq_top_goes_on(screen->job))
            return;
        draw(screen);
    }
}

bool aq_top_screen(aq_watched_job_t *job, int delay, char *errbuf, size_t errbuf_size)
{
    static screen_t screen;
    screen = (screen_t){.job = job, .rows = calloc(job->found, sizeof *screen.rows)};
    const bool is_terminal = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
    SCREEN *terminal = is_terminal && screen.rows ? newterm(NULL, stdout, stdin) : NULL;
    if (!terminal) {
        free(screen.rows);
        snprintf(errbuf, errbuf_size,
                 "there is no terminal that can show the ranks: use --once, or set TERM "
                 "to the name of this terminal");
        return false;
    }
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    set_escdelay(50);
    curs_set(0);
    timeout(delay);
    screen_run(&screen, delay);
    endwin();
    delscreen(terminal);
    free(screen.rows);
    free(screen.diagnosis);
    return true;
}
