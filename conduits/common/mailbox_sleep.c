// SPDX-License-Identifier: BSD-3-Clause
// Waiting without using the processor.
//
//     sleeper                                  sender
//     sleepers++                               publish the flag of a message
//     (fence)                                  (fence)
//     look at the rings once more              sleepers != 0?  then bell += 2 and wake
//     futex-sleep while bell is unchanged
//
// Either the sleeper sees the message or the sender sees the sleeper, if both fences are there. A
// full fence in each send would cost more than the send, so the sleeper has the kernel run one on
// all processors that run a process of the job (membarrier, expedited and global). Both sides fence
// only if the kernel has no such call: sleepers++ alone, although an atomic operation, does not
// keep arm64 from loading the rings before it. tests/model/weak_mail.pml checks both ways.
//
// A process with several threads has one more case: a thread that polls finds nothing if another
// one has the lock of the ring, and that one may have looked before the message came, and leave. So
// a thread sleeps only after it has found the rings empty with their locks. A thread that takes the
// lock after that and finds a message wakes all threads of the process (core/progress/sleepers.h).
// tests/model/weak_try_lock.pml is the model.
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mailbox_sleep.h"

static bool have_membarrier(void)
{
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    return commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED) &&
           syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void aq_mail_sleep_start(aq_mail_t *mail)
{
    mail->light_senders = have_membarrier();
    mail->single_threaded = mail->light_senders && !mail->base.env->threads;
}

uint32_t aq_mail_arm(aq_conduit_t *conduit)
{
    aq_mail_t *mail = aq_mail_of(conduit);
    uint32_t bell = atomic_load(&mail->doorbell->bell);
    atomic_fetch_add(&mail->doorbell->sleepers, 1);
    atomic_fetch_add(mail->asleep, 1);
    if (mail->light_senders)
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    else
        atomic_thread_fence(memory_order_seq_cst);
    return bell | 1;
}

static bool is_idle(aq_mail_t *mail)
{
    return !mail->base.env->threads ||
           (aq_ring_is_idle(&mail->in[0]) && aq_ring_is_idle(&mail->in[1]));
}

void aq_mail_sleep(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns)
{
    aq_mail_t *mail = aq_mail_of(conduit);
    if (!is_idle(mail))
        return;
    struct timespec limit = {(time_t)(limit_ns / 1000000000), (long)(limit_ns % 1000000000)};
    syscall(SYS_futex, &mail->doorbell->bell, FUTEX_WAIT, armed & ~1u, &limit, NULL, 0);
}

void aq_mail_disarm(aq_conduit_t *conduit)
{
    atomic_fetch_sub_explicit(&aq_mail_of(conduit)->doorbell->sleepers, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(aq_mail_of(conduit)->asleep, 1, memory_order_relaxed);
}

void aq_mail_ring(aq_doorbell_t *doorbell)
{
    atomic_fetch_add(&doorbell->bell, 2);
    syscall(SYS_futex, &doorbell->bell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void wake_process(aq_doorbell_t *doorbell)
{
    if (atomic_load_explicit(&doorbell->sleepers, memory_order_relaxed))
        aq_mail_ring(doorbell);
}

void aq_mail_wake(aq_conduit_t *conduit, bool group)
{
    aq_mail_t *mail = aq_mail_of(conduit);
    aq_mail_fence(mail);
    if (!group) {
        wake_process(mail->doorbell);
        return;
    }
    if (!atomic_load_explicit(mail->asleep, memory_order_relaxed))
        return;
    for (uint32_t i = 0; i < mail->areas.count; i++)
        wake_process(&aq_mailbox_at(mail, i)->doorbell);
}
