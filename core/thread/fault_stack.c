// SPDX-License-Identifier: BSD-3-Clause
// Gives each thread that uses the library an alternate stack for signals (thread.c, wait_mark.c),
// and takes it back when the thread ends. fault.c asks whether a stack is used up.
#include "fault_stack.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include "thread_life.h"

enum {
    BYTES = 128 << 10, // for our sentences, a backtrace, and the handler of the client
    NEAR = 128 << 10,  // a fault so near the stack pointer is one of the stack
};

static _Thread_local void *given; // NULL: this file has given the thread none

static void stack_take(void)
{
    stack_t now;
    if (sigaltstack(NULL, &now) != 0 || now.ss_sp != given ||
        sigaltstack(&(const stack_t){.ss_flags = SS_DISABLE}, NULL) != 0)
        return; // the stack may be in use, or the client has set another one
    (void)munmap(given, BYTES);
    given = NULL;
}

void aq_fault_stack_give(void)
{
    static _Thread_local aq_thread_end_t end = {.run = stack_take};
    stack_t old;
    if (sigaltstack(NULL, &old) != 0 || !(old.ss_flags & SS_DISABLE))
        return;
    void *stack = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return;
    if (sigaltstack(&(const stack_t){.ss_sp = stack, .ss_size = BYTES}, NULL) != 0) {
        (void)munmap(stack, BYTES);
        return;
    }
    given = stack;
    aq_thread_at_end(&end);
}

static uintptr_t stack_pointer(const ucontext_t *state)
{
#if defined __x86_64__
    return (uintptr_t)state->uc_mcontext.gregs[REG_RSP];
#elif defined __aarch64__
    return (uintptr_t)state->uc_mcontext.sp;
#else
    (void)state;
    return 0;
#endif
}

bool aq_fault_stack_is_used_up(const void *context, uintptr_t addr)
{
    const uintptr_t top = stack_pointer(context);
    return top != 0 && addr + NEAR - top < 2 * (uintptr_t)NEAR;
}

uint64_t aq_fault_stack_limit(void)
{
    struct rlimit limit;
    const bool main_thread = getpid() == gettid();
    if (!main_thread || getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    return limit.rlim_cur;
}
