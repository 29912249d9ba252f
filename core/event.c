#include "event.h"

#include <stdlib.h>

#include "fatal.h"
#include "gasnetex_core.h"
#include "lock.h"

enum { RECORDS_AT_A_TIME = 64 };

static aq_event_t *free_records;
static aq_lock_t free_lock;

// Called with free_lock held.
static void add_records(void)
{
    aq_event_t *records = calloc(RECORDS_AT_A_TIME, sizeof *records);
    if (!records)
        aq_fatal("out of memory for events (%zu bytes)", RECORDS_AT_A_TIME * sizeof *records);
    for (unsigned i = 0; i < RECORDS_AT_A_TIME; i++) {
        for (uint32_t p = 0; p < AQ_PART_COUNT; p++)
            records[i].part[p].index = p;
        records[i].next = free_records;
        free_records = &records[i];
    }
}

aq_event_t *aq_event_new(void)
{
    aq_lock_take(&free_lock);
    if (!free_records)
        add_records();
    aq_event_t *event = free_records;
    free_records = event->next;
    aq_lock_drop(&free_lock);
    event->next = NULL;
    if (AQ_CHECKS)
        aq_event_begin(&event->part[AQ_PART_ROOT]); // see check_event
    return event;
}

void aq_event_free(aq_event_t *event)
{
    if (AQ_CHECKS)
        aq_event_end(&event->part[AQ_PART_ROOT]);
    aq_lock_take(&free_lock);
    event->next = free_records;
    free_records = event;
    aq_lock_drop(&free_lock);
}

bool aq_event_idle(aq_event_t *event, unsigned parts)
{
    for (unsigned p = AQ_PART_GET; p < AQ_PART_COUNT; p++)
        if ((parts & (1u << p)) &&
            atomic_load_explicit(&event->part[p].pending, memory_order_acquire))
            return false;
    return true;
}

unsigned aq_event_parts_of(gex_EC_t mask)
{
    unsigned parts = 0;
    parts |= mask & GEX_EC_GET ? 1u << AQ_PART_GET : 0;
    parts |= mask & GEX_EC_PUT ? 1u << AQ_PART_PUT : 0;
    parts |= mask & GEX_EC_AM ? 1u << AQ_PART_AM : 0;
    parts |= mask & GEX_EC_LC ? 1u << AQ_PART_LC : 0;
    parts |= mask & GEX_EC_RMW ? 1u << AQ_PART_RMW : 0;
    return parts;
}
