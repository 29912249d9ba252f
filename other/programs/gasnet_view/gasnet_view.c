// SPDX-License-Identifier: BSD-3-Clause
// gasnet_view: pictures and summaries of what a job wrote while it was watched.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/log/log.h"
#include "../../base/size.h"
#include "../../base/system/standard_streams.h"
#include "../../observe/input/view_files.h"
#include "../../observe/input/view_matrix_trace.h"
#include "../../observe/pages/view_otf2.h"
#include "../../observe/pages/view_page.h"
#include "../../observe/pages/view_picture.h"
#include "../../observe/draw/view_sheet.h"
#include "../../observe/analysis/view_summary.h"
#include "../../observe/draw/view_svg.h"
#include "../../observe/draw/view_text.h"

static const char usage[] =
    "usage: gasnet_view matrix [options] FILE...\n"
    "       gasnet_view trace [options] FILE...\n"
    "\n"
    "matrix draws the traffic matrix that a job wrote (GASNET_TRAFFIC=FILE), as a picture (SVG).\n"
    "trace prints a summary of the events of a job (GASNET_TRACE=FILE), and writes the page,\n"
    "picture and archive that options name. Several files of one job, from hosts that do not\n"
    "share a file system, are one matrix, or one trace.\n"
    "\n"
    "  -o FILE        where picture or summary goes; without it, standard output\n"
    "  --what WHAT    what the matrix shows: bytes (the default), messages, puts, gets, atomics,\n"
    "                 vectors (puts and gets of vectors and strides), sends (messages with two\n"
    "                 sides), streams, collectives (their messages), no-room (operations that\n"
    "                 found no room at first) or resent (packets)\n"
    "  --title TEXT   first line of the picture, or of the page\n"
    "  -h, --help     this text\n"
    "  --version      version\n"
    "\n"
    "Options of matrix\n"
    "  --text         print sums and the largest pairs instead\n"
    "  --snapshot N   take the lines of the N-th signal; 0: of the end; without it, for each rank\n"
    "                 the last that there are\n"
    "\n"
    "Options of trace\n"
    "  --html FILE    write a page for browsers: a timeline to zoom in, summary and matrix\n"
    "  --svg FILE     write a picture of the timeline\n"
    "  --otf2 DIR     write the trace in the format OTF2, into a directory that is made\n"
    "  --matrix FILE  with --html: take the matrix of the page from a file of GASNET_TRAFFIC, not\n"
    "                 from the trace\n"
    "\n"
    "Exit code 0: done; 1: a file cannot be read or written; 2: the options are not legal.\n";

typedef struct options {
    const char *output, *title, *html, *svg, *otf2, *matrix;
    aq_view_what_t what;
    bool text, help;
    int64_t snapshot;
} options_t;

// ---- options ----

static int refuse(const char *what, const char *word)
{
    aq_log_error("%s '%s' is unknown; gasnet_view --help lists what there is", what, word);
    return 2;
}

static bool what_find(const char *word, aq_view_what_t *what)
{
    for (unsigned i = 0; i < AQ_VIEW_WHATS; i++)
        if (strcmp(word, aq_view_what_names[i]) == 0) {
            *what = (aq_view_what_t)i;
            return true;
        }
    return false;
}

static int snapshot_take(options_t *options, const char *word)
{
    if (aq_size_parse_int(word, &options->snapshot) && options->snapshot >= 0)
        return 0;
    aq_log_error("--snapshot %s: give the number of a signal, or 0 for the end of the job", word);
    return 2;
}

static int value_missing(const char *option)
{
    aq_log_error("option %s lacks its value; gasnet_view --help tells which", option);
    return 2;
}

static int option_take(options_t *options, int option, const char *word)
{
    switch (option) {
    case 'o':
        options->output = word;
        return 0;
    case 'w':
        return what_find(word, &options->what) ? 0 : refuse("--what", word);
    case 't':
        options->text = true;
        return 0;
    case 'i':
        options->title = word;
        return 0;
    case 'p':
        options->html = word;
        return 0;
    case 'g':
        options->svg = word;
        return 0;
    case 'f':
        options->otf2 = word;
        return 0;
    case 'm':
        options->matrix = word;
        return 0;
    case 's':
        return snapshot_take(options, word);
    case 'h':
        options->help = true;
        return 0;
    case ':':
        return value_missing(word);
    default:
        return refuse("option", word);
    }
}

#define FOR_BOTH                                                                                   \
    {"help", no_argument, NULL, 'h'}, {"what", required_argument, NULL, 'w'},                      \
    {                                                                                              \
        "title", required_argument, NULL, 'i'                                                      \
    }
static const struct option matrix_options[] = {FOR_BOTH,
                                               {"text", no_argument, NULL, 't'},
                                               {"snapshot", required_argument, NULL, 's'},
                                               {NULL, 0, NULL, 0}};
static const struct option trace_options[] = {FOR_BOTH,
                                              {"html", required_argument, NULL, 'p'},
                                              {"svg", required_argument, NULL, 'g'},
                                              {"otf2", required_argument, NULL, 'f'},
                                              {"matrix", required_argument, NULL, 'm'},
                                              {NULL, 0, NULL, 0}};

// Returns 0, or the exit code; 0 with options->help: the user has only asked for help.
static int options_parse(int argc, char **argv, const struct option *longs, options_t *options)
{
    int option, code = 0;
    opterr = 0;
    while (!code && (option = getopt_long(argc, argv, ":ho:", longs, NULL)) != -1)
        code = option_take(options, option,
                           option == '?' || option == ':' ? argv[optind - 1] : optarg);
    if (code || options->help || optind < argc)
        return code;
    aq_log_error("the name of a file is missing; gasnet_view --help shows how to give it");
    return 2;
}

static int help_print(void)
{
    return fputs(usage, stdout) < 0;
}

// ---- matrix ----

enum { MOST_TOLD = 5 };

static void disagreement_tell(const char *sentence, void *context)
{
    size_t *told = context;
    if ((*told)++ < MOST_TOLD)
        aq_log_error("%s; a message was lost, or lines of different jobs are mixed", sentence);
}

static bool matrix_write(const aq_view_matrix_t *matrix, const options_t *options)
{
    char title[64];
    snprintf(title, sizeof title, "Traffic: %s by pair of ranks",
             aq_view_what_names[options->what]);
    FILE *stream = aq_view_create(options->output);
    if (!stream)
        return false;
    const bool room = options->text ? aq_view_text_write(stream, matrix, options->what)
                                    : aq_view_svg_write(stream, matrix, options->what,
                                                        options->title ? options->title : title);
    if (!room)
        aq_log_error("out of memory for %u ranks", matrix->ranks);
    return aq_view_close(stream, options->output) && room;
}

static int run_matrix(int argc, char **argv)
{
    options_t options = {.snapshot = AQ_VIEW_LATEST};
    aq_view_matrix_t matrix = {0};
    size_t told = 0;
    const int code = options_parse(argc, argv, matrix_options, &options);
    if (code || options.help)
        return code ? code : help_print();
    const char *const *files = (const char *const *)(argv + optind);
    bool done = aq_view_load_matrix(&matrix, files, argc - optind, options.snapshot);
    if (done && aq_view_matrix_check(&matrix, disagreement_tell, &told) > MOST_TOLD)
        aq_log_error("%zu numbers disagree in all", told);
    done = done && matrix_write(&matrix, &options);
    aq_view_matrix_free(&matrix);
    return done ? 0 : 1;
}

// ---- trace ----

// False: logged.
static bool summary_write(const aq_view_sheet_t *summary, const options_t *options)
{
    FILE *stream = aq_view_create(options->output);
    if (!stream)
        return false;
    aq_view_sheet_text(stream, summary);
    return aq_view_close(stream, options->output);
}

static const char *trace_title(const options_t *options)
{
    return options->title ? options->title : "Trace of a job";
}

// room: memory was enough.
static bool result_close(FILE *stream, const char *file, const char *what, bool room)
{
    if (!room)
        aq_log_error("out of memory for the %s", what);
    return aq_view_close(stream, file) && room;
}

static bool page_write(const aq_view_findings_t *findings, const aq_view_sheet_t *summary,
                       const aq_view_matrix_t *matrix, const options_t *options)
{
    const aq_view_page_t page = {findings, summary, matrix, options->what, trace_title(options)};
    FILE *stream = options->html ? aq_view_create(options->html) : NULL;
    if (!stream)
        return !options->html;
    return result_close(stream, options->html, "page", aq_view_page_write(stream, &page));
}

static bool picture_write(const aq_view_findings_t *findings, const options_t *options)
{
    FILE *stream = options->svg ? aq_view_create(options->svg) : NULL;
    if (!stream)
        return !options->svg;
    return result_close(stream, options->svg, "picture",
                        aq_view_picture_write(stream, findings, trace_title(options)));
}

// The matrix of the page. False: logged.
static bool matrix_find(const aq_view_trace_t *trace, const options_t *options,
                        aq_view_matrix_t *matrix)
{
    if (options->matrix)
        return aq_view_load_matrix(matrix, &options->matrix, 1, AQ_VIEW_LATEST);
    if (!options->html || aq_view_matrix_of_trace(matrix, trace))
        return true;
    aq_log_error("out of memory for the matrix of the trace");
    return false;
}

static bool trace_show(const aq_view_trace_t *trace, const options_t *options)
{
    aq_view_findings_t findings = {0};
    aq_view_sheet_t summary = {0};
    aq_view_matrix_t matrix = {0};
    bool done = aq_view_findings_make(&findings, trace);
    if (done)
        aq_view_summarize(&summary, &findings);
    done = done && !summary.failed;
    if (!done)
        aq_log_error("out of memory for the summary of %zu events", trace->count);
    done = done && matrix_find(trace, options, &matrix) && summary_write(&summary, options) &&
           page_write(&findings, &summary, &matrix, options) && picture_write(&findings, options) &&
           (!options->otf2 || aq_view_otf2_write(&findings, options->otf2));
    aq_view_matrix_free(&matrix);
    aq_view_sheet_free(&summary);
    aq_view_findings_free(&findings);
    return done;
}

static int run_trace(int argc, char **argv)
{
    options_t options = {0};
    aq_view_trace_t trace = {0};
    const int code = options_parse(argc, argv, trace_options, &options);
    if (code || options.help)
        return code ? code : help_print();
    const char *const *files = (const char *const *)(argv + optind);
    const bool done =
        aq_view_load_trace(&trace, files, argc - optind) && trace_show(&trace, &options);
    aq_view_trace_free(&trace);
    return done ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "--help";
    aq_standard_streams_open();
    aq_log_program("gasnet_view");
    if (strcmp(command, "-h") == 0 || strcmp(command, "--help") == 0)
        return aq_log_end(help_print());
    if (strcmp(command, "--version") == 0)
        return aq_log_end(printf("gasnet_view %s\n", PACKAGE_VERSION) < 0);
    if (strcmp(command, "matrix") == 0)
        return run_matrix(argc - 1, argv + 1);
    if (strcmp(command, "trace") == 0)
        return run_trace(argc - 1, argv + 1);
    aq_log_error(
        "'%s' is no command: the first word is matrix or trace; gasnet_view --help says more",
        command);
    return 2;
}
