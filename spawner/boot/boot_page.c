// SPDX-License-Identifier: BSD-3-Clause
// The boot page: its layout, the barrier on it, and the announcement of the exit.
#include "boot_page.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../other/base/log/log.h"
#include "../../other/base/size.h"
#include "../../other/base/text_file.h"

#define SPIN_ROUNDS 4000
#define YIELD_ROUNDS 3
#define CROWD 16       // ranks per processor; with more, yielding reaches the awaited rank too late
#define NAP_NS 2000000 // pause between two calls of the function from aq_boot_meanwhile
// The tables behind the page: state, host, memory file, process, waiting processor, whether it is
// bound.
#define RANK_BYTES                                                                                 \
    (3 * sizeof(uint32_t) + sizeof(aq_page_process_t) + sizeof(uint16_t) + sizeof(uint8_t))
#define TURN_ENDED 1u
#define TURN_STEP 2u

static size_t round_to_page(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

static size_t slots_offset(uint32_t size)
{
    return round_to_page(sizeof(aq_boot_page_t) + size * RANK_BYTES);
}

size_t aq_page_bytes(uint32_t size)
{
    return round_to_page(slots_offset(size) + (size_t)size * (2 * AQ_SLOT_BYTES + AQ_KEPT_BYTES));
}

const uint32_t *aq_page_hosts(const aq_boot_page_t *page)
{
    return (const uint32_t *)(const void *)&page->state[page->ranks.size];
}

_Atomic uint16_t *aq_page_waiting_cpus(aq_boot_page_t *page)
{
    return (_Atomic uint16_t *)(void *)(aq_page_processes(page) + page->ranks.size);
}

aq_page_process_t *aq_page_processes(aq_boot_page_t *page)
{
    return (aq_page_process_t *)(void *)&page->state[3 * page->ranks.size];
}

uint32_t aq_page_process_space(void)
{
    struct stat space;
    return stat("/proc/self/ns/pid", &space) == 0 ? (uint32_t)space.st_ino : 0;
}

void aq_page_machine(char *text, size_t size)
{
    char boot[64];
    (void)aq_text_file_start("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    boot[strcspn(boot, "\n")] = '\0';
    snprintf(text, size, "%s %.48s %" PRIu32, boot, *boot ? "" : aq_log_host(),
             aq_page_process_space());
}

int32_t *aq_page_rank_files(aq_boot_page_t *page)
{
    return (int32_t *)(void *)&page->state[2 * page->ranks.size];
}

uint8_t *aq_page_bound(aq_boot_page_t *page)
{
    return (uint8_t *)(void *)(aq_page_waiting_cpus(page) + page->ranks.size);
}

uint32_t *aq_page_own_hosts(aq_boot_page_t *page)
{
    return (uint32_t *)(void *)&page->state[page->ranks.size];
}

uint8_t *aq_page_slots(aq_boot_page_t *page, uint32_t round)
{
    return (uint8_t *)page + slots_offset(page->ranks.size) +
           (round & 1u) * (size_t)page->ranks.size * AQ_SLOT_BYTES;
}

uint8_t *aq_page_kept(aq_boot_page_t *page)
{
    return aq_page_slots(page, 0) + 2 * (size_t)page->ranks.size * AQ_SLOT_BYTES;
}

aq_status_t aq_page_init(aq_boot_page_t *page, uint32_t size)
{
    ssize_t got;
    do
        got = getrandom(page->key, sizeof page->key, 0);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof page->key) {
        aq_log_error("the system gives no random bytes for the key of the job (%s); "
                     "allow the system call getrandom",
                     strerror(errno));
        return AQ_ERR_RESOURCE;
    }
    page->magic = AQ_PAGE_MAGIC;
    page->ranks.size = size;
    page->ranks.local = size;
    page->ranks.present = size;
    page->processors = aq_size_processors();
    page->memory = aq_size_physical_memory();
    page->exit_rank = AQ_NO_RANK;
    return AQ_OK;
}

// limit: NULL for none.
static void futex_wait(void *word, uint32_t seen, const struct timespec *limit)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT, seen, limit, NULL, 0);
}

static void futex_wake_all(void *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

static unsigned (*meanwhile)(void);

void aq_boot_meanwhile(unsigned (*turn)(void))
{
    meanwhile = turn;
}

bool aq_page_meanwhile(void)
{
    return meanwhile && meanwhile() > 0;
}

static void sleep_in_barrier(aq_boot_page_t *page, uint32_t turn)
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};
    atomic_fetch_add(&page->sleepers, 1);
    futex_wait(&page->turn, turn, meanwhile ? &nap : NULL);
    atomic_fetch_sub(&page->sleepers, 1);
}

// Waits until the barrier that began at turn completes or can no longer complete.
static aq_status_t wait_turn(aq_boot_page_t *page, uint32_t turn)
{
    unsigned spins = page->ranks.local <= page->processors ? SPIN_ROUNDS : 0;
    unsigned yields = page->ranks.local <= CROWD * page->processors ? YIELD_ROUNDS : 0;
    for (;;) {
        uint32_t now = atomic_load(&page->turn);
        if ((now & ~TURN_ENDED) != turn)
            return AQ_OK;
        if (now & TURN_ENDED)
            return AQ_ERR_PEER;
        if (spins > 0) {
            spins--;
            cpu_relax();
        } else if (aq_page_meanwhile()) {
            continue;
        } else if (yields > 0) {
            yields--;
            sched_yield();
        } else {
            sleep_in_barrier(page, now);
        }
    }
}

void aq_page_complete(aq_boot_page_t *page)
{
    atomic_store(&page->arrived, 0);
    atomic_fetch_add(&page->turn, TURN_STEP);
    if (atomic_load(&page->sleepers) > 0)
        futex_wake_all(&page->turn);
}

void aq_page_wake_relay(const aq_boot_page_t *page)
{
    if (page->relay > 0)
        (void)kill(page->relay, AQ_WAKE_SIGNAL);
}

void aq_page_admit(aq_boot_page_t *page, const aq_page_step_t *step, uint32_t local)
{
    page->ranks.first = page->ranks.present;
    page->ranks.local += local;
    page->ranks.round = step->round;
    aq_page_complete(page);
    atomic_fetch_add(&page->ranks.present,
                     step->part); // a new rank must not take part in this barrier
    (void)kill(page->supervisor, AQ_WAKE_SIGNAL);
}

aq_status_t aq_page_barrier(aq_boot_page_t *page, const aq_page_step_t *step)
{
    uint32_t turn = atomic_load(&page->turn) & ~TURN_ENDED;
    if (atomic_fetch_add(&page->arrived, 1) + 1 < page->ranks.local)
        return wait_turn(page, turn);
    if (page->relay == 0) {
        if (step->kind == AQ_STEP_GROW)
            aq_page_admit(page, step, step->part);
        else
            aq_page_complete(page);
        return AQ_OK;
    }
    page->step = *step;
    atomic_store(&page->gathered, 1);
    aq_page_wake_relay(page);
    return wait_turn(page, turn);
}

bool aq_page_gathered(aq_boot_page_t *page, aq_page_step_t *out)
{
    if (atomic_exchange(&page->gathered, 0) == 0)
        return false;
    *out = page->step;
    return true;
}

// ---- faults at the start ----

static aq_boot_page_t *fault_page;
static uint32_t fault_ranks; // 0: this process has already reported a fault

static void note_fault(const char *message)
{
    if (fault_ranks > 0 && atomic_fetch_add(&fault_page->fault.ranks, fault_ranks) == 0)
        snprintf(fault_page->fault.text, sizeof fault_page->fault.text, "%s", message);
    fault_ranks = 0;
    if (fault_page->supervisor > 0)
        (void)kill(fault_page->supervisor, AQ_WAKE_SIGNAL);
    aq_page_wake_relay(fault_page);
}

void aq_page_divert_faults(aq_boot_page_t *page, uint32_t ranks)
{
    fault_page = page;
    fault_ranks = ranks;
    aq_log_divert(page != NULL ? note_fault : NULL);
}

void aq_page_print_fault(const char *fault, uint32_t ranks)
{
    char more[64] = "";
    if (ranks > 1)
        snprintf(more, sizeof more, "; %" PRIu32 " more rank%s could not start either", ranks - 1,
                 ranks > 2 ? "s" : "");
    aq_log_repeat(fault, more);
}

// ---- the end ----

int aq_page_announce(aq_boot_page_t *page, int32_t rank, int code)
{
    int32_t expected = AQ_BOOT_RUNNING;
    int32_t wanted = 1 + aq_boot_exit_code(code);
    if (!atomic_compare_exchange_strong(&page->exit_word, &expected, wanted))
        return expected - 1;
    int saved = errno; // the caller may be a signal handler
    atomic_store(&page->exit_rank, rank);
    atomic_fetch_or(&page->turn, TURN_ENDED);
    futex_wake_all(&page->exit_word);
    futex_wake_all(&page->turn);
    if (page->supervisor > 0 && rank != AQ_NO_RANK)
        (void)kill(page->supervisor, AQ_WAKE_SIGNAL);
    aq_page_wake_relay(page);
    errno = saved;
    return wanted - 1;
}

void aq_page_fail(aq_boot_page_t *page, int code)
{
    (void)aq_page_announce(page, AQ_NO_RANK, code);
    atomic_store(&page->abort_requested, 1);
    aq_page_wake_relay(page); // once more, because the exit may have been announced before
}
