#include "top_screen.h"

#include <curses.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"
#include "diagnose.h"
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
    bool asked; // the rank in the view, for its stack: what became of that
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

static void draw_head(const screen_t *screen)
{
    static const char *const orders[ORDERS] = {"rank", "wait", "messages", "bytes",
                                               "puts and gets"};
    const aq_watched_job_t *job = screen->job;
    const aq_seen_rank_t *first = &job->rank[0]->seen;
    char networks[300], time[AQ_RANK_TEXT];
    aq_top_pair_t pair;
    mvprintw(0, 0, "%s: %" PRIu32 " ranks, %" PRIu32 " shown, for %s; %s", first->program,
             job->ranks, job->found,
             aq_text_time(screen->now > first->started ? screen->now - first->started : 0, time),
             aq_top_networks(first, networks, sizeof networks));
    if (aq_top_slowest(job, screen->now, &pair))
        mvprintw(1, 0, "slowest pair: rank %" PRIu32 " waits for rank %" PRIu32 " for %s",
                 pair.waits, pair.for_rank, aq_text_time(pair.waited, time));
    else
        mvprintw(1, 0, "no rank waits for room or a message of another one");
    mvprintw(2, 0, "sorted by %s; keys: r w m b p sort, Enter a rank, d diagnosis, h help, q quit",
             orders[screen->order]);
}

static void draw_row(const screen_t *screen, int line, const aq_watched_rank_t *rank)
{
    const aq_seen_thread_t *longest = aq_seen_longest(&rank->seen, screen->now, 0);
    const aq_top_numbers_t rates = aq_top_rates(screen->job, rank);
    char what[AQ_RANK_TEXT] = "", time[AQ_RANK_TEXT] = "", a[16], b[16], c[16], d[16];
    if (longest) {
        aq_text_wait(&rank->seen, longest, what);
        aq_text_time(aq_seen_waited(longest, screen->now), time);
    }
    mvprintw(line, 0, "%5" PRIu32 " %-10.10s %7d %-7s %6s %6s %6s %6s %9s  %s", rank->seen.rank,
             rank->seen.host_name, (int)rank->seen.pid, aq_top_state(rank),
             aq_top_short(rates.messages, a),
             aq_top_short(rates.message_bytes + rates.put_bytes + rates.get_bytes, b),
             aq_top_short(rates.puts, c), aq_top_short(rates.gets, d), time, what);
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
    draw_head(screen);
    attron(A_BOLD);
    mvprintw(3, 0, "%5s %-10s %7s %-7s %6s %6s %6s %6s %9s  %s", "rank", "host", "process", "state",
             "msg/s", "byte/s", "put/s", "get/s", "for", "waits for");
    attroff(A_BOLD);
    draw_elsewhere(screen);
    for (uint32_t i = 0; i < lines && screen->top + i < screen->job->found; i++) {
        const bool chosen = screen->top + i == screen->chosen;
        if (chosen)
            attron(A_REVERSE);
        draw_row(screen, HEAD_LINES + (int)i, screen->rows[screen->top + i].rank);
        if (chosen)
            attroff(A_REVERSE);
    }
}

// ---- one rank ----

static int draw_threads(const screen_t *screen, const aq_seen_rank_t *seen, int line)
{
    char what[AQ_RANK_TEXT], time[AQ_RANK_TEXT], unpolled[AQ_RANK_TEXT];
    for (unsigned i = 0; i < seen->threads && line < LINES; i++) {
        const aq_seen_thread_t *thread = &seen->thread[i];
        if (thread->kind == AQ_WAIT_NOTHING)
            mvprintw(line++, 2, "thread %" PRIu32 ": in no wait of the library", thread->tid);
        else
            mvprintw(line++, 2, "thread %" PRIu32 ": waits for %s for %s, last poll %s ago",
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
        mvprintw(line++, 2, "%s: rank %" PRIu32 " of %" PRIu32 ", %" PRIu32 " collectives%s%s",
                 aq_text_team(team->id, text), team->rank, team->size, team->calls,
                 team->calls ? ", the last one a " : "",
                 team->calls ? aq_text_call(team->last[0]) : "");
    }
    return line;
}

static void draw_stack(const screen_t *screen, int line)
{
    if (screen->asked && screen->result != AQ_STACK_GIVEN)
        mvprintw(line, 2, "%s", aq_stack_excuse(screen->result));
    if (!screen->asked || screen->result != AQ_STACK_GIVEN)
        return;
    mvprintw(line++, 2, "stack of thread %" PRIu32 ":", screen->stack.tid);
    if (screen->stack.handler >= 0)
        mvprintw(line++, 4, "in handler %d", screen->stack.handler);
    for (uint32_t i = 0; i < screen->stack.frames && line < LINES; i++)
        mvprintw(line++, 4, "%s", screen->stack.frame[i]);
}

static void draw_rank(const screen_t *screen)
{
    const aq_watched_rank_t *rank = screen->rows[screen->chosen].rank;
    const aq_top_numbers_t n = aq_top_totals(rank);
    char networks[300], a[16], b[16], c[16], d[16], e[16], polls[AQ_TOP_OWN], waits[AQ_TOP_OWN];
    mvprintw(0, 0, "rank %" PRIu32 " of %" PRIu32 " on %s, process %d, %s; %s", rank->seen.rank,
             rank->seen.ranks, rank->seen.host_name, (int)rank->seen.pid, aq_top_state(rank),
             aq_top_networks(&rank->seen, networks, sizeof networks));
    mvprintw(1, 0, "keys: s its stack, Escape back, q quit");
    mvprintw(2, 0, "sent in all: %s messages of %s bytes, %s puts, %s gets, %s atomics",
             aq_top_short(n.messages, a), aq_top_short(n.message_bytes, b), aq_top_short(n.puts, c),
             aq_top_short(n.gets, d), aq_top_short(n.atomics, e));
    aq_top_own(rank, polls, waits);
    mvprintw(3, 0, "%s", polls);
    mvprintw(4, 0, "%s", waits);
    const int line = draw_threads(screen, &rank->seen, HEAD_LINES + 1);
    draw_stack(screen, draw_teams(&rank->seen, line) + 1);
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
    mvprintw(
        0, 0,
        "r w m b p   sort by rank, wait, messages, bytes, puts and gets\n"
        "up down     choose a rank; also page up, page down\n"
        "Enter       look into the chosen rank; there, s asks for its stack\n"
        "d           say who waits for whom, and why\n"
        "q           quit\n\n"
        "Rates are of what the rank itself has sent through the library in a second; puts and\n"
        "gets on mapped memory are instructions of the client, and are not counted.\n"
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
    screen->asked = false;
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
    screen->asked = true;
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

bool aq_top_screen(aq_watched_job_t *job, int delay, char *why, size_t room)
{
    static screen_t screen;
    screen = (screen_t){.job = job, .rows = calloc(job->found, sizeof *screen.rows)};
    const bool is_terminal = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
    SCREEN *terminal = is_terminal && screen.rows ? newterm(NULL, stdout, stdin) : NULL;
    if (!terminal) {
        free(screen.rows);
        snprintf(why, room,
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
