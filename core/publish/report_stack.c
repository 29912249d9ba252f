// SPDX-License-Identifier: BSD-3-Clause
// Writes the stack of the interrupted thread to the memory file of the rank. report.c calls it in
// the handler of its signal if a reader of the file asks for a stack.
#include "report_stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "../am/am.h"
#include "../endpoint/endpoint.h"
#include "../progress/poll_loop.h"
#include "../record/rank_head.h"
#include "report.h"

enum {
    OWN_FRAMES = 2, // of the handler of the signal
    DEEPEST = AQ_SHOWN_FRAMES + OWN_FRAMES,
};

// The begin of the function of a frame. The address of a frame is behind its call, which may be the
// last instruction of the function, so the byte before counts.
static void *function_of(void *frame)
{
    return _Unwind_FindEnclosingFunction((char *)frame - 1);
}

static int32_t handler_index(const void *function)
{
    for (unsigned i = 0; i < AQ_HANDLERS; i++)
        if ((void *)(uintptr_t)aq_handlers.entry[i].gex_fnptr == function)
            return (int32_t)i;
    return -1;
}

// The handler that the innermost delivery of a message has called: its frame is next to that of the
// delivery.
static int32_t handler_find(void *const *frames, int count)
{
    for (int i = 1; i < count; i++)
        if (aq_am_is_delivery(function_of(frames[i])))
            return handler_index(function_of(frames[i - 1]));
    return -1;
}

static void frame_describe(void *frame, char *text, size_t size)
{
    Dl_info info;
    if (!dladdr((char *)frame - 1, &info) || !info.dli_fname) {
        snprintf(text, size, "%p", frame);
        return;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    const char *object = slash ? slash + 1 : info.dli_fname;
    const uintptr_t offset = (uintptr_t)frame - 1 - (uintptr_t)info.dli_fbase;
    if (info.dli_sname)
        snprintf(text, size, "%s+0x%zx (%s)", object, (size_t)offset, info.dli_sname);
    else
        snprintf(text, size, "%s+0x%zx", object, (size_t)offset);
}

static void stack_write(void)
{
    aq_shown_stack_t *stack = &aq_rank_head()->stack;
    void *frames[DEEPEST];
    aq_poll_loop_count();
    const int count = backtrace(frames, DEEPEST);
    if (atomic_fetch_add_explicit(&stack->answers, 1, memory_order_acq_rel) & 1u) {
        atomic_fetch_sub_explicit(&stack->answers, 1, memory_order_relaxed);
        return; // another thread writes its stack
    }
    const int own = count < OWN_FRAMES ? count : OWN_FRAMES;
    stack->tid = (uint32_t)gettid();
    stack->handler = handler_find(frames + own, count - own);
    stack->frames = (uint32_t)(count - own);
    for (int i = own; i < count; i++)
        frame_describe(frames[i], stack->frame[i - own], sizeof stack->frame[0]);
    atomic_fetch_add_explicit(&stack->answers, 1, memory_order_release);
}

void aq_report_stack_start(void)
{
    void *frames[1];
    (void)backtrace(frames, 1);
    aq_report_set_stack(stack_write);
}
