// SPDX-License-Identifier: BSD-3-Clause
// The handler of SIGSEGV and SIGBUS, which client.c installs. It ends the job if fault_place.c or
// shift_table.c recognizes an access to memory of a rank; otherwise it logs what is known, and the
// signal takes its course.
#include "fault.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "../../other/base/system/own_process.h"
#include "../../other/base/settings/settings_lists.h"
#include "../../other/base/settings/settings.h"
#include "../ground/fatal.h"
#include "fault_place.h"
#include "../thread/fault_stack.h"
#include "../state/job.h"
#include "../endpoint/shift_table.h"

enum { CANDIDATES = 3 }; // ranks that a sentence names at most

static const int signals[] = {SIGSEGV, SIGBUS};
enum { SIGNALS = sizeof signals / sizeof signals[0] };
static bool is_free[SIGNALS];
static struct sigaction previous[SIGNALS];

// What the access was, as far as the processor tells.
static const char *access_name(const void *context)
{
#if defined __x86_64__
    const ucontext_t *state = context;
    return state->uc_mcontext.gregs[REG_ERR] & 2 ? "a put or atomic" : "a get";
#else
    (void)context;
    return "a put, get or atomic";
#endif
}

static __attribute__((noreturn)) void end_job_further(const char *access,
                                                      const aq_fault_place_t *place)
{
    if (place->gone)
        aq_fatal("%s has reached %p of rank %u, in a segment that endpoint %u of rank %u does not "
                 "have any more (%p to %p, %lu bytes)",
                 access, (void *)place->addr, place->rank, place->ep, place->rank,
                 (void *)place->start, (void *)(place->start + place->size),
                 (unsigned long)place->size);
    aq_fatal("%s has reached %p of rank %u, which is not inside the segment of endpoint %u of rank "
             "%u (%p to %p, %lu bytes); with GASNET_ERRORS=return the program can ask for the call "
             "and its length",
             access, (void *)place->addr, place->rank, place->ep, place->rank, (void *)place->start,
             (void *)(place->start + place->size), (unsigned long)place->size);
}

// Where an address is, as seen from the segment of its rank: "8 bytes behind the end of".
static void position_write(const aq_fault_place_t *place, char *text, size_t text_size)
{
    const uintptr_t end = place->start + place->size;
    if (place->addr < place->start)
        snprintf(text, text_size, "%lu bytes before the start of",
                 (unsigned long)(place->start - place->addr));
    else
        snprintf(text, text_size, "%lu bytes behind the end of",
                 (unsigned long)(place->addr - end));
}

static __attribute__((noreturn)) void end_job(const char *access, const aq_fault_place_t *place)
{
    char position[64];
    if (place->ep)
        end_job_further(access, place);
    if (place->addr - place->start < place->size)
        aq_fatal("%s, or a load or store of the program, has reached %p of rank %u, where it has "
                 "not allocated its reserved segment (%p to %p, %lu bytes)",
                 access, (void *)place->addr, place->rank, (void *)place->start,
                 (void *)(place->start + place->size), (unsigned long)place->size);
    position_write(place, position, sizeof position);
    aq_fatal("%s has reached %p of rank %u, %s the segment of rank %u (%p to %p, %lu bytes); "
             "with GASNET_ERRORS=return the program can ask for the call and its length",
             access, (void *)place->addr, place->rank, position, place->rank, (void *)place->start,
             (void *)(place->start + place->size), (unsigned long)place->size);
}

// ---- addresses far from all segments ----

// "0x5000 of rank 1" for the ranks to which an inline operation could have had this address here;
// empty: none.
static void candidates_write(uintptr_t here, char *text, size_t text_size)
{
    size_t at = 0;
    unsigned count = 0;
    text[0] = '\0';
    for (uint32_t r = 0; r < aq_job.size; r++) {
        if (!aq_fault_reaches(r) || count++ >= CANDIDATES)
            continue;
        at +=
            (size_t)snprintf(text + at, text_size - at, "%s%p of rank %u", count > 1 ? " or " : "",
                             (void *)(here - (uintptr_t)aq_job.shift[r]), r);
    }
    if (count > CANDIDATES)
        snprintf(text + at, text_size - at, " or one of %u more ranks", count - CANDIDATES);
}

static void tell_of_rank(const char *access, uintptr_t here, uint32_t rank)
{
    const uintptr_t start = aq_job.segment_addr[rank], size = aq_job.segment_size[rank];
    aq_log_error("%p was accessed, which this process may not do: by a pointer of the program, or "
                 "by %s at %p of rank %u, which is not inside the segment of rank %u (%p to %p, "
                 "%lu bytes); GASNET_ERRORS=return finds such operations before they start",
                 (void *)here, access, (void *)(here - (uintptr_t)aq_job.shift[rank]), rank, rank,
                 (void *)start, (void *)(start + size), (unsigned long)size);
}

static void tell_of_address(const char *access, uintptr_t here)
{
    char candidates[CANDIDATES * 48 + 48];
    candidates_write(here, candidates, sizeof candidates);
    if (candidates[0])
        aq_log_error("%p was accessed, which this process may not do: by a pointer of the program, "
                     "or by %s to an address that no segment has (%s); GASNET_ERRORS=return finds "
                     "such operations before they start",
                     (void *)here, access, candidates);
    else
        aq_log_error("%p was accessed, which this process may not do: by a pointer of the program, "
                     "or because it is the local address of an operation",
                     (void *)here);
}

// Logs a fault without its address: the processor reports no address that a process cannot have.
static void tell_of_no_address(const void *context)
{
    uint32_t rank;
    if (aq_fault_rank_in_registers(context, &rank))
        aq_log_error("an address that no process can have was accessed: by a pointer of the "
                     "program, or by a put, get or atomic to rank %u; GASNET_ERRORS=return finds "
                     "such operations before they start",
                     rank);
    else
        aq_log_error("an address that no process can have was accessed: by a pointer of the "
                     "program, or by a put, get or atomic; GASNET_ERRORS=return finds such "
                     "operations before they start");
}

static void tell_of_segment(const aq_fault_place_t *place)
{
    aq_log_error("%p of rank %u cannot be accessed, although it is inside the segment of rank %u: "
                 "this host may have no memory left for it (see /dev/shm), or the program has "
                 "changed its protection",
                 (void *)place->addr, place->rank, place->rank);
}

// Near NULL of this process the pointer may well be the client's own, so the signal takes its
// course.
static void tell_of_null(const siginfo_t *info)
{
    aq_log_error("a null pointer was used (%p): one of the program, or the address of a put, get "
                 "or atomic in memory that this rank shares",
                 info->si_addr);
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction *action = &previous[number == SIGSEGV ? 0 : 1];
    if (action->sa_flags & (int)SA_RESETHAND)
        (void)signal(number, SIG_DFL);
    if (action->sa_flags & SA_SIGINFO) {
        action->sa_sigaction(number, info, context);
    } else if (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN) {
        action->sa_handler(number);
    } else {
        (void)signal(number, SIG_DFL);
        if (info->si_code <= 0) // no fault that happens again when this function returns
            (void)raise(number);
    }
}

static void tell_of_stack(uintptr_t here)
{
    const uint64_t limit = aq_fault_stack_limit();
    if (limit)
        aq_log_error("the stack of the main thread is used up (%p was accessed, and the limit is "
                     "%lu KiB): see whether a function calls itself without end, or raise the "
                     "limit (ulimit -s)",
                     (void *)here, (unsigned long)(limit >> 10));
    else
        aq_log_error("the stack of a thread is used up (%p was accessed): see whether a function "
                     "calls itself without end, or give the thread a larger stack",
                     (void *)here);
}

// Logs what is known of a fault after which the signal takes its course.
static void tell(const siginfo_t *info, const void *context, const aq_fault_place_t *inside)
{
    const uintptr_t here = (uintptr_t)info->si_addr;
    uint32_t rank;
    if (info->si_code == SI_KERNEL)
        tell_of_no_address(context);
    else if (aq_fault_stack_is_used_up(context, here))
        tell_of_stack(here);
    else if (inside)
        tell_of_segment(inside);
    else if (aq_fault_is_null(here))
        tell_of_null(info);
    else if (aq_fault_rank_in_registers(context, &rank))
        tell_of_rank(access_name(context), here, rank);
    else
        tell_of_address(access_name(context), here);
}

// Ends the job because inline code has looked up a rank behind the end of its table.
static __attribute__((noreturn)) void end_job_rank(uint32_t rank, uint32_t size)
{
    aq_fatal("a put, get or atomic: rank %u is not below the team's size %u; a program that is "
             "compiled with a debug build (--enable-debug) tells the call",
             rank, size);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    static atomic_flag told;
    aq_fault_place_t place;
    aq_fault_finding_t finding = AQ_FAULT_UNKNOWN;
    const bool fault = info->si_code > 0 && aq_job_running() && aq_own_process();
    uint32_t rank, size;
    if (fault && aq_shift_table_beyond((uintptr_t)info->si_addr, &rank, &size))
        end_job_rank(rank, size);
    if (fault && info->si_code != SI_KERNEL)
        finding = aq_fault_find((uintptr_t)info->si_addr, &place);
    if (finding == AQ_FAULT_BESIDE)
        end_job(access_name(context), &place);
    if (fault && !atomic_flag_test_and_set(&told))
        tell(info, context, finding == AQ_FAULT_INSIDE ? &place : NULL);
    pass_on(number, info, context);
}

// Whether the user has excluded a signal (GASNET_NO_CATCH_SIGNAL).
static bool is_excluded(int number)
{
    const char *list = aq_settings_text(AQ_SET_NO_CATCH_SIGNAL);
    if (strcmp(list, "*") == 0)
        return true;
    for (int excluded; (excluded = aq_settings_next_signal(&list)) > 0;)
        if (excluded == number)
            return true;
    return false;
}

void aq_fault_note_signals(void)
{
    struct sigaction now;
    for (unsigned i = 0; i < SIGNALS; i++)
        is_free[i] = sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL &&
                     !is_excluded(signals[i]);
}

void aq_fault_start(void)
{
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    aq_fault_stack_give();
    for (unsigned i = 0; i < SIGNALS; i++)
        if (is_free[i])
            (void)sigaction(signals[i], &action, &previous[i]);
}
