// SPDX-License-Identifier: BSD-3-Clause
// Which processors each rank gets: the rule, the layout of a host from its description, sets of
// processors as text.
#include "../../unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../spawner/supervise/binding.h"

#ifdef AQ_HAVE_HWLOC
#include <hwloc.h>
#endif

#define CORES_MAX 64

// ---- sets as text ----

static void assert_list(const char *text, const char *printed)
{
    char out[256];
    cpu_set_t cpus;
    assert_true(aq_cpus_parse(text, &cpus));
    aq_cpus_print(&cpus, out, sizeof out);
    assert_string_equal(out, printed);
}

static void test_lists(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",    "\n",  "-",    "1-",  "-1",     ",1",
                                        "1,,", "2-1", "1024", "1;2", "1-2000", "x"};
    cpu_set_t cpus;
    assert_list("0", "0");
    assert_list("0-3,8-11\n", "0-3,8-11");
    assert_list("5,4,1023", "4-5,1023");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (aq_cpus_parse(wrong[i], &cpus))
            fail_msg("'%s' is taken for a list", wrong[i]);
    char out[24];
    assert_true(aq_cpus_parse("0,2,4,6,8,10,12", &cpus));
    aq_cpus_print(&cpus, out, sizeof out); // as far as it fits
    assert_string_equal(out, "0,2,4,6,8");
}

// ---- the rule ----

// The cores of a text: their processors, separated by blanks.
static aq_cores_t cores_of(const char *text)
{
    aq_cores_t cores = {.core = calloc(CORES_MAX, sizeof *cores.core)};
    char *copy = strdup(text), *rest = copy;
    for (char *word; (word = strsep(&rest, " "));)
        assert_true(aq_cpus_parse(word, &cores.core[cores.count++]));
    free(copy);
    return cores;
}

// The processors of all ranks, separated by blanks; "-": they cannot have processors of their own.
static void assert_shares(const char *text, uint32_t ranks, const char *wanted)
{
    char got[1024] = "-";
    size_t used = 0;
    aq_cores_t cores = cores_of(text);
    for (uint32_t r = 0; aq_cores_suffice(&cores, ranks) && r < ranks; r++) {
        cpu_set_t share;
        aq_cores_share(&cores, ranks, r, &share);
        used += (size_t)(r > 0 ? snprintf(got + used, sizeof got - used, " ") : 0);
        aq_cpus_print(&share, got + used, sizeof got - used);
        used += strlen(got + used);
    }
    if (strcmp(got, wanted) != 0)
        fail_msg("%u ranks on '%s': '%s' instead of '%s'", ranks, text, got, wanted);
    aq_cores_free(&cores);
}

static void test_whole_cores(void **state)
{
    (void)state;
    static const char two_packages[] = "0,8 1,9 2,10 3,11 4,12 5,13 6,14 7,15";
    assert_shares("0 1", 1, "0-1");
    assert_shares("0 1", 2, "0 1");
    assert_shares("1 0", 2, "1 0"); // the order is that of the cores
    assert_shares("0 1 2 3", 3, "0 1 2");
    assert_shares(two_packages, 1, "0-15");
    assert_shares(two_packages, 2, "0-3,8-11 4-7,12-15");
    assert_shares(two_packages, 3, "0-1,8-9 2-3,10-11 4-5,12-13");
    assert_shares(two_packages, 8, two_packages);
    assert_shares("0,1 2", 2, "0-1 2"); // a processor of a core is not there
}

static void test_hardware_threads(void **state)
{
    (void)state;
    static const char cores[] = "0,4 1,5 2,6 3,7";
    assert_shares(cores, 8, "0 4 1 5 2 6 3 7");
    assert_shares(cores, 5, "0 4 1,5 2,6 3,7");
    assert_shares(cores, 6, "0 4 1,5 2 6 3,7");
    assert_shares(cores, 9, "-");
    assert_shares("0-3", 2, "0-1 2-3");
    assert_shares("0-3", 3, "0 1 2-3");
    assert_shares("0,1 2,3 4 5", 5, "0 1 2-3 4 5");
    assert_shares("0,1 2,3 4 5", 6, "-"); // two would share core 4
    assert_shares("0 1", 3, "-");
}

// Whatever the numbers, shares are not empty and do not overlap.
static void assert_apart(const aq_cores_t *cores, uint32_t ranks)
{
    cpu_set_t all, share, both;
    CPU_ZERO(&all);
    for (uint32_t r = 0; r < ranks; r++) {
        aq_cores_share(cores, ranks, r, &share);
        CPU_AND(&both, &all, &share);
        if (CPU_COUNT(&share) == 0 || CPU_COUNT(&both) > 0)
            fail_msg("rank %u of %u on %u cores", r, ranks, cores->count);
        CPU_OR(&all, &all, &share);
    }
}

static void test_apart(void **state)
{
    (void)state;
    cpu_set_t sets[CORES_MAX];
    for (uint32_t threads = 1; threads <= 4; threads++)
        for (uint32_t count = 1; count <= 13; count++) {
            aq_cores_t cores = {count, sets};
            for (uint32_t core = 0; core < count; core++) {
                CPU_ZERO(&sets[core]);
                for (uint32_t thread = 0; thread < threads; thread++)
                    CPU_SET(thread * count + core, &sets[core]);
            }
            for (uint32_t ranks = 1; ranks <= count * threads; ranks++) {
                assert_true(aq_cores_suffice(&cores, ranks));
                assert_apart(&cores, ranks);
            }
            assert_false(aq_cores_suffice(&cores, count * threads + 1));
        }
}

static void test_count(void **state)
{
    (void)state;
    aq_binding_t binding;
    cpu_set_t cpus;
    char out[64];
    assert_true(aq_cpus_parse("1,3-6,9", &cpus));
    assert_true(aq_binding_count(&cpus, 2, 3, &binding));
    static const char *const wanted[] = {"1,3", "4-5", "6,9"};
    for (int rank = 0; rank < 3; rank++) {
        aq_cpus_print(&binding.of[rank], out, sizeof out);
        assert_string_equal(out, wanted[rank]);
    }
    aq_binding_free(&binding);
}

// ---- the layout ----

static char folder[] = "/tmp/test_binding.XXXXXX";

static void write_file(int cpu, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/cpu%d/%s", folder, cpu, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", text);
    fclose(file);
}

// Describes a processor as the kernel does. cache NULL: it has none at that level.
static void describe(int cpu, const char *core, const char *package, const char *cache)
{
    static const char *const folders[] = {"", "/topology", "/cache", "/cache/index3"};
    char path[256];
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/cpu%d%s", folder, cpu, folders[i]);
        (void)mkdir(path, 0755);
    }
    write_file(cpu, "topology/thread_siblings_list", core);
    write_file(cpu, "topology/core_siblings_list", package);
    if (cache != NULL)
        write_file(cpu, "cache/index3/shared_cpu_list", cache);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void assert_layout(const char *allowed, const char *wanted)
{
    char got[1024] = "";
    cpu_set_t cpus;
    aq_cores_t cores;
    assert_true(aq_cpus_parse(allowed, &cpus));
    if (!aq_cores_read(folder, &cpus, &cores))
        strcpy(got, "-");
    for (uint32_t i = 0; i < cores.count; i++) {
        if (i > 0)
            strcat(got, " ");
        aq_cpus_print(&cores.core[i], got + strlen(got), sizeof got - strlen(got));
    }
    assert_string_equal(got, wanted);
    aq_cores_free(&cores);
}

static void test_layout(void **state)
{
    (void)state;
    // Two packages, whose cores the kernel numbers in turn; two threads a core.
    for (int cpu = 0; cpu < 8; cpu++) {
        char core[16];
        snprintf(core, sizeof core, "%d,%d", cpu % 4, cpu % 4 + 4);
        describe(cpu, core, cpu % 2 == 0 ? "0,2,4,6" : "1,3,5,7", NULL);
    }
    assert_layout("0-7", "0,4 2,6 1,5 3,7");
    assert_layout("1-7", "4 2,6 1,5 3,7"); // a processor that may not be used
    assert_layout("0-3", "0 2 1 3");
    assert_layout("5", "5");
    assert_layout("0-8", "-"); // nothing describes it
}

static void test_caches(void **state)
{
    (void)state;
    // A package with two caches, between whose cores the kernel alternates.
    for (int cpu = 0; cpu < 6; cpu++) {
        const char core[] = {(char)('0' + cpu), '\0'};
        describe(cpu, core, "0-5", cpu % 2 == 0 ? "0,2,4" : "1,3,5");
    }
    assert_layout("0-5", "0 2 4 1 3 5");
}

static void test_wrong_layout(void **state)
{
    (void)state;
    assert_layout("0", "-");
    describe(0, "0", "0-1", NULL);
    describe(1, "nonsense", "0-1", NULL);
    assert_layout("0-1", "-");
    describe(1, "0", "0-1", NULL); // a core of which it is no part
    assert_layout("0-1", "-");
    describe(1, "1", "nonsense", "nonsense"); // only the order is lost
    assert_layout("0-1", "0 1");
}

#ifdef AQ_HAVE_HWLOC
static void list_of(hwloc_obj_t unit, hwloc_obj_type_t type, char *text, size_t room)
{
    hwloc_obj_t object = unit;
    while (object->type != type)
        object = object->parent;
    hwloc_bitmap_list_snprintf(text, room, object->cpuset);
}

// hwloc's cores in its logical order are ours.
static void assert_as_hwloc(const char *synthetic)
{
    hwloc_topology_t host;
    char wanted[1024] = "", core[256], package[256], cache[256], all[16];
    assert_int_equal(hwloc_topology_init(&host), 0);
    assert_int_equal(hwloc_topology_set_synthetic(host, synthetic), 0);
    assert_int_equal(hwloc_topology_load(host), 0);
    const int units = hwloc_get_nbobjs_by_type(host, HWLOC_OBJ_PU);
    for (int i = 0; i < units; i++) {
        hwloc_obj_t unit = hwloc_get_obj_by_type(host, HWLOC_OBJ_PU, (unsigned)i);
        list_of(unit, HWLOC_OBJ_CORE, core, sizeof core);
        list_of(unit, HWLOC_OBJ_PACKAGE, package, sizeof package);
        list_of(unit, HWLOC_OBJ_L3CACHE, cache, sizeof cache);
        describe((int)unit->os_index, core, package, cache);
    }
    for (int i = 0; i < hwloc_get_nbobjs_by_type(host, HWLOC_OBJ_CORE); i++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(host, HWLOC_OBJ_CORE, (unsigned)i);
        strcat(wanted, i > 0 ? " " : "");
        hwloc_bitmap_list_snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted),
                                   object->cpuset);
    }
    snprintf(all, sizeof all, "0-%d", units - 1);
    assert_layout(all, wanted);
    hwloc_topology_destroy(host);
}

static void test_hwloc(void **state)
{
    (void)state;
    assert_as_hwloc("pack:2 l3:1 core:4 pu:2");
    assert_as_hwloc("pack:2 l3:2 core:2 pu:2(indexes=2*8:1*2)");
    assert_as_hwloc("pack:2 l3:2 core:2 pu:2(indexes=8*2:4*2:2*2:1*2)");
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_whole_cores),
        cmocka_unit_test(test_hardware_threads),
        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_count),
        cmocka_unit_test_setup_teardown(test_layout, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_caches, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_wrong_layout, make_folder, remove_folder),
#ifdef AQ_HAVE_HWLOC
        cmocka_unit_test_setup_teardown(test_hwloc, make_folder, remove_folder),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
