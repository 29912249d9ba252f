// SPDX-License-Identifier: BSD-3-Clause
// Matching: random schedules of receives, messages, probes and cancellations against a model that
// keeps everything in two arrays; and how many entries a search looks at.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../messages/two_sided/match.h"

enum { SOURCES = 4, TAGS = 3, TEAMS = 2, MOST = 64, SCHEDULES = 300, STEPS = 600, MANY = 1000 };

typedef struct object {
    aq_match_entry_t entry;
    aq_match_key_t key;
} object_t;

// The model: arrays in the order of posting and of arrival.
typedef struct model {
    object_t *object[MOST];
    unsigned count;
} model_t;

static struct {
    aq_match_t match;
    aq_match_source_t source[SOURCES];
    model_t posted, unexpected;
    unsigned taken[2]; // receives and messages that found their partner
    unsigned cancelled, probed, ordered;
    uint64_t random;
} t;

static unsigned random_below(unsigned n)
{
    t.random = t.random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(t.random >> 33) % n;
}

static int reset(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    return 0;
}

static object_t *new_object(const aq_match_key_t *key)
{
    object_t *object = calloc(1, sizeof *object);
    assert_non_null(object);
    object->key = *key;
    return object;
}

static aq_match_source_t *source_of(const aq_match_key_t *key)
{
    return key->source == AQ_MATCH_ANY_SOURCE ? NULL : &t.source[key->source];
}

static object_t *object_of(aq_match_entry_t *entry)
{
    return (object_t *)(void *)entry;
}

// ---- the model ----

static bool model_accepts(const aq_match_key_t *receive, const aq_match_key_t *message)
{
    if (receive->team != AQ_MATCH_ANY_TEAM && receive->team != message->team)
        return false;
    if (receive->source != AQ_MATCH_ANY_SOURCE && receive->source != message->source)
        return false;
    return receive->tag == AQ_MATCH_ANY_TAG || receive->tag == message->tag;
}

static object_t *model_take(model_t *model, unsigned i)
{
    object_t *object = model->object[i];
    memmove(model->object + i, model->object + i + 1, (--model->count - i) * sizeof *model->object);
    return object;
}

// Returns the oldest message that a receive accepts, or the oldest receive that accepts a message;
// or count.
static unsigned model_find_message(const aq_match_key_t *receive)
{
    unsigned i = 0;
    while (i < t.unexpected.count && !model_accepts(receive, &t.unexpected.object[i]->key))
        i++;
    return i;
}

static unsigned model_find_receive(const aq_match_key_t *message)
{
    unsigned i = 0;
    while (i < t.posted.count && !model_accepts(&t.posted.object[i]->key, message))
        i++;
    return i;
}

static void model_add(model_t *model, object_t *object)
{
    assert_true(model->count < MOST);
    model->object[model->count++] = object;
}

// ---- steps of a schedule ----

static aq_match_key_t message_key(void)
{
    return (aq_match_key_t){random_below(TEAMS), random_below(SOURCES), random_below(TAGS)};
}

static aq_match_key_t receive_key(void)
{
    aq_match_key_t key = message_key();
    if (!random_below(4))
        key.team = AQ_MATCH_ANY_TEAM;
    if (!random_below(3))
        key.source = AQ_MATCH_ANY_SOURCE;
    if (!random_below(3))
        key.tag = AQ_MATCH_ANY_TAG;
    return key;
}

static void step_receive(void)
{
    const aq_match_key_t key = receive_key();
    object_t *receive = new_object(&key);
    const unsigned i = model_find_message(&key);
    aq_match_entry_t *found = aq_match_receive(&t.match, source_of(&key), &key, &receive->entry);
    if (i == t.unexpected.count) {
        assert_null(found);
        model_add(&t.posted, receive);
        return;
    }
    object_t *expected = model_take(&t.unexpected, i);
    assert_ptr_equal(object_of(found), expected);
    assert_false(aq_match_remove(found));
    t.taken[0]++;
    free(expected);
    free(receive);
}

static aq_match_entry_t *make_message(void *context)
{
    object_t *message = new_object(context);
    model_add(&t.unexpected, message);
    return &message->entry;
}

static aq_match_entry_t *make_none(void *context)
{
    (void)context;
    fail_msg("a message is allocated though a receive is posted");
    return NULL;
}

static void step_message(void)
{
    aq_match_key_t key = message_key();
    const unsigned i = model_find_receive(&key);
    const bool wanted = i < t.posted.count;
    aq_match_entry_t *found =
        aq_match_arrive(&t.match, source_of(&key), &key, wanted ? make_none : make_message, &key);
    if (!wanted) {
        assert_null(found);
        return;
    }
    object_t *expected = model_take(&t.posted, i);
    assert_ptr_equal(object_of(found), expected);
    assert_false(aq_match_remove(found));
    t.taken[1]++;
    free(expected);
}

static void step_cancel(model_t *model)
{
    if (!model->count)
        return;
    object_t *object = model_take(model, random_below(model->count));
    assert_true(aq_match_remove(&object->entry));
    assert_false(aq_match_remove(&object->entry));
    t.cancelled++;
    free(object);
}

static void step_probe(void)
{
    const aq_match_key_t key = receive_key();
    const unsigned i = model_find_message(&key);
    aq_match_entry_t *found = aq_match_probe(&t.match, source_of(&key), &key);
    if (i == t.unexpected.count) {
        assert_null(found);
        return;
    }
    assert_ptr_equal(object_of(found), t.unexpected.object[i]);
    t.probed++;
}

// The list of a source has its messages in the order of the model.
static void check_source(unsigned source)
{
    aq_match_entry_t *at = aq_match_first(&t.source[source]);
    for (unsigned i = 0; i < t.unexpected.count; i++) {
        if (t.unexpected.object[i]->key.source != source)
            continue;
        assert_ptr_equal(object_of(at), t.unexpected.object[i]);
        at = aq_match_next(at);
        t.ordered++;
    }
    assert_null(at);
}

// Receives and messages alternate in waves, so that both sides grow long.
static void step(unsigned number)
{
    const unsigned messages = number / 32 % 2 ? 6 : 2, what = random_below(12);
    if (what < messages && t.unexpected.count < MOST)
        step_message();
    else if (what < 8 && t.posted.count < MOST)
        step_receive();
    else if (what == 8)
        step_cancel(&t.posted);
    else if (what == 9)
        step_cancel(&t.unexpected);
    else
        step_probe();
    check_source(random_below(SOURCES));
}

static void free_rest(model_t *model)
{
    while (model->count)
        free(model_take(model, 0));
}

static void test_schedules(void **state)
{
    (void)state;
    for (unsigned schedule = 0; schedule < SCHEDULES; schedule++) {
        memset(&t.match, 0, sizeof t.match);
        memset(t.source, 0, sizeof t.source);
        t.random = schedule + 1;
        for (unsigned i = 0; i < STEPS; i++)
            step(i);
        free_rest(&t.posted);
        free_rest(&t.unexpected);
    }
    assert_true(t.taken[0] > SCHEDULES && t.taken[1] > SCHEDULES);
    assert_true(t.cancelled > SCHEDULES && t.probed > SCHEDULES && t.ordered > SCHEDULES);
}

// ---- how many entries a search looks at ----

static object_t objects[MANY];
static unsigned made;

static aq_match_entry_t *make_next(void *context)
{
    (void)context;
    return &objects[made++].entry;
}

static void arrive(uint32_t source, uint32_t tag)
{
    const aq_match_key_t key = {0, source, tag};
    assert_null(aq_match_arrive(&t.match, &t.source[source], &key, make_next, NULL));
}

// What others have posted or sent costs nothing.
static void test_other_sources(void **state)
{
    (void)state;
    const aq_match_key_t key = {0, 1, 5}, named = {0, 2, 5};
    object_t receive = {0};
    made = 0;
    for (unsigned i = 0; i < MANY - 1; i++)
        assert_null(aq_match_receive(&t.match, &t.source[1], &key, &objects[made++].entry));
    arrive(2, 5);
    assert_int_equal(t.match.compared, 0);
    made = 0;
    (void)reset(NULL);
    for (unsigned i = 0; i < MANY - 1; i++)
        arrive(1, i);
    assert_null(aq_match_receive(&t.match, &t.source[2], &named, &receive.entry));
    assert_int_equal(t.match.compared, 0);
}

// Unexpected messages that are received in reverse order: each search looks at all that are left.
// In order, each looks at one.
static void test_reverse_order(void **state)
{
    (void)state;
    for (unsigned reverse = 0; reverse < 2; reverse++) {
        made = 0;
        (void)reset(NULL);
        for (unsigned i = 0; i < MANY; i++)
            arrive(3, i);
        for (unsigned i = 0; i < MANY; i++) {
            const unsigned tag = reverse ? MANY - 1 - i : i;
            const aq_match_key_t key = {0, 3, tag};
            object_t receive = {0};
            assert_ptr_equal(aq_match_receive(&t.match, &t.source[3], &key, &receive.entry),
                             &objects[tag].entry);
        }
        assert_int_equal(t.match.compared, reverse ? MANY * (MANY + 1) / 2 : MANY);
    }
}

// Of a receive with a source and one of any source the older one gets the message.
static void test_older_wins(void **state)
{
    (void)state;
    const aq_match_key_t any = {0, AQ_MATCH_ANY_SOURCE, 9}, named = {0, 1, 9}, message = {0, 1, 9};
    for (unsigned any_first = 0; any_first < 2; any_first++) {
        object_t a = {0}, b = {0};
        (void)reset(NULL);
        if (any_first)
            assert_null(aq_match_receive(&t.match, NULL, &any, &a.entry));
        assert_null(aq_match_receive(&t.match, &t.source[1], &named, &b.entry));
        if (!any_first)
            assert_null(aq_match_receive(&t.match, NULL, &any, &a.entry));
        assert_ptr_equal(aq_match_arrive(&t.match, &t.source[1], &message, make_none, NULL),
                         any_first ? &a.entry : &b.entry);
        assert_true(aq_match_remove(any_first ? &b.entry : &a.entry));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_schedules, reset),
        cmocka_unit_test_setup(test_other_sources, reset),
        cmocka_unit_test_setup(test_reverse_order, reset),
        cmocka_unit_test_setup(test_older_wins, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
