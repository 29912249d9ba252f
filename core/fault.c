#include "fault.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "../other/base/settings_lists.h"
#include "../other/base/settings.h"
#include "conduit.h"
#include "fatal.h"
#include "job.h"
#include "reserved.h"

#define NULL_BYTES ((uintptr_t)4096)        // around NULL of this process
#define FAR_NULL_BYTES ((uintptr_t)1 << 16) // around NULL of another rank

static const int signals[] = {SIGSEGV, SIGBUS};
enum { SIGNALS = sizeof signals / sizeof signals[0] };
static bool is_free[SIGNALS];
static struct sigaction previous[SIGNALS];

// Whether an address is within `bytes` of 0, or of the end of all addresses.
static bool is_near_null(uintptr_t addr, uintptr_t bytes)
{
    return addr + bytes < 2 * bytes;
}

// Whether an address, which is in the segment of a rank, is in a part of its reserved segment that
// it has not allocated. Only such parts of another rank's fault here.
static bool is_missing(uint32_t rank, uintptr_t addr)
{
    return aq_reserved.size && (rank != aq_job.rank || !aq_reserved_allows((void *)addr, 1));
}

// The distance of an address from the memory of a rank's segment, outside of it.
static uintptr_t distance_from(uint32_t rank, uintptr_t addr)
{
    const uintptr_t start = aq_job.segment_addr[rank], size = aq_job.segment_size[rank];
    if (addr - start < size)
        return is_missing(rank, addr) ? 0 : UINTPTR_MAX;
    const uintptr_t before = start - addr, behind = addr - (start + size);
    return before < behind ? before : behind;
}

static aq_fault_place_t place_of(uint32_t rank, uintptr_t addr)
{
    return (aq_fault_place_t){.rank = rank,
                              .addr = addr,
                              .start = aq_job.segment_addr[rank],
                              .size = aq_job.segment_size[rank]};
}

// A fault beside a mapping is surely one of an access to it. Otherwise the address NULL of a rank
// is more likely than a wild pointer of the client, unless that rank's memory has the same
// addresses here.
static bool find_primordial(uintptr_t here, aq_fault_place_t *place)
{
    uintptr_t nearest = AQ_SEGMENT_GUARD;
    bool found = false;
    for (uint32_t r = 0; r < aq_job.size; r++) {
        const intptr_t shift = aq_job.shift[r];
        const uintptr_t addr = here - (uintptr_t)shift;
        if ((shift & 1) || aq_job.segment_size[r] == UINTPTR_MAX)
            continue;
        const uintptr_t distance = distance_from(r, addr);
        const bool null =
            shift && is_near_null(addr, FAR_NULL_BYTES) && !is_near_null(here, NULL_BYTES);
        if (distance >= nearest && !(null && !found))
            continue;
        if (distance < nearest)
            nearest = distance;
        *place = place_of(r, addr);
        found = true;
    }
    return found;
}

bool aq_fault_find(uintptr_t here, aq_fault_place_t *place)
{
    return aq_segment_map_find(here, place) || find_primordial(here, place);
}

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

static __attribute__((noreturn)) void end_job(const char *access, const aq_fault_place_t *place)
{
    if (place->ep)
        end_job_further(access, place);
    if (place->addr - place->start < place->size)
        aq_fatal("%s, or a load or store of the program, has reached %p of rank %u, where it has "
                 "not allocated its reserved segment (%p to %p, %lu bytes)",
                 access, (void *)place->addr, place->rank, (void *)place->start,
                 (void *)(place->start + place->size), (unsigned long)place->size);
    aq_fatal("%s has reached %p of rank %u, which is not inside the segment of rank %u (%p to %p, "
             "%lu bytes); with GASNET_ERRORS=return the program can ask for the call and its "
             "length",
             access, (void *)place->addr, place->rank, place->rank, (void *)place->start,
             (void *)(place->start + place->size), (unsigned long)place->size);
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

static void on_fault(int number, siginfo_t *info, void *context)
{
    aq_fault_place_t place;
    const bool fault = info->si_code > 0 && aq_job_running();
    if (fault && aq_fault_find((uintptr_t)info->si_addr, &place))
        end_job(access_name(context), &place);
    if (fault && info->si_code != SI_KERNEL && is_near_null((uintptr_t)info->si_addr, NULL_BYTES))
        tell_of_null(info);
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
    for (unsigned i = 0; i < SIGNALS; i++)
        if (is_free[i])
            (void)sigaction(signals[i], &action, &previous[i]);
}
