// SPDX-License-Identifier: BSD-3-Clause
// Finds the table of a conduit by its name, built in or in a module, and refuses an incomplete one.
// job_start.c asks at init; gasnet_info lists all.
#include "registry.h"

#include <stdio.h>
#include <string.h>

#include "../../other/base/modules/host.h"
#include "../../other/base/minmax.h"
#include "../../other/base/modules/modules.h"
#include "../../other/base/settings/profile.h"

// The conduits that configure has selected to be built in.
#define DECLARED(conduit) extern const aq_conduit_ops_t aq_##conduit##_conduit;
#define ADDRESS(conduit) &aq_##conduit##_conduit,
#define NAME(conduit) " " #conduit
AQ_EACH_CONDUIT(DECLARED)
static const aq_conduit_ops_t *const built_in[] = {AQ_EACH_CONDUIT(ADDRESS)};
enum { BUILT_IN = sizeof built_in / sizeof built_in[0] };

static const aq_conduit_ops_t *find_built_in(const char *name)
{
    for (unsigned i = 0; i < BUILT_IN; i++)
        if (strcmp(built_in[i]->name, name) == 0)
            return built_in[i];
    return NULL;
}

typedef struct contract_version {
    uint32_t major, minor;
} contract_version_t;

static contract_version_t version_of_abi(uint32_t abi)
{
    return abi < AQ_CONDUIT_MAJOR
               ? (contract_version_t){1, abi}
               : (contract_version_t){abi / AQ_CONDUIT_MAJOR, abi % AQ_CONDUIT_MAJOR};
}

static void explain_abi(const char *path, uint32_t abi, char *errbuf, size_t errbuf_size)
{
    const contract_version_t module = version_of_abi(abi), ours = version_of_abi(AQ_CONDUIT_ABI);
    snprintf(errbuf, errbuf_size,
             "%s was built for version %u.%u of the conduit contract, and this library needs "
             "version %u.%u: install the module that belongs to this library",
             path, module.major, module.minor, ours.major, ours.minor);
}

// Gives the library's services to a module, and adds the settings of the module. If this fails,
// returns false with the reason in errbuf.
static bool module_welcome(const aq_conduit_ops_t *ops, const char *path, char *errbuf,
                           size_t errbuf_size)
{
    const aq_host_t **host = (const aq_host_t **)(uintptr_t)aq_module_open(
        path, AQ_MODULE_HOST_SYMBOL, errbuf, errbuf_size);
    if (host != NULL)
        *host = &aq_host;
    return ops->profile == NULL || aq_profile_add(ops->profile, errbuf, errbuf_size) == AQ_OK;
}

// A module is a shared object that exports its table under AQ_CONDUIT_MODULE_SYMBOL.
static const aq_conduit_ops_t *open_module(const char *path, char *errbuf, size_t errbuf_size)
{
    const aq_conduit_ops_t *ops =
        aq_module_open(path, AQ_CONDUIT_MODULE_SYMBOL, errbuf, errbuf_size);
    if (ops && ops->abi == AQ_CONDUIT_ABI)
        return module_welcome(ops, path, errbuf, errbuf_size) ? ops : NULL;
    if (ops)
        explain_abi(path, ops->abi, errbuf, errbuf_size);
    else if (*errbuf == '\0')
        snprintf(errbuf, errbuf_size,
                 "%s is no conduit, because it does not export " AQ_CONDUIT_MODULE_SYMBOL
                 ": replace or remove it",
                 path);
    return NULL;
}

static const aq_conduit_ops_t *find_module(const char *name, char *errbuf, size_t errbuf_size)
{
    char path[1024];
    if (aq_module_find_conduit(name, path, sizeof path))
        return open_module(path, errbuf, errbuf_size);
    snprintf(errbuf, errbuf_size,
             "this installation has no conduit '%s' (built in:%s; no module in %s); choose one "
             "that gasnet_info lists",
             name, AQ_EACH_CONDUIT(NAME), aq_module_folder());
    return NULL;
}

// A conduit for ranks that share memory provides their segments and the scratch of their barriers,
// and lets a thread sleep until a message arrives.
static bool serves_host(const aq_conduit_ops_t *ops)
{
    return ops->memory.share_segments && ops->memory.shared_scratch && ops->wait.arm;
}

static const char *lacks_mandatory(const aq_conduit_ops_t *ops)
{
    return !ops->name                       ? "name"
           : !ops->usable                   ? "usable"
           : !ops->open || !ops->close      ? "open or close"
           : !ops->describe || !ops->match  ? "describe or match"
           : !ops->connect                  ? "connect"
           : !ops->am.send || !ops->am.poll ? "am.send or am.poll"
                                            : NULL;
}

static const char *lacks_part(const aq_conduit_ops_t *ops)
{
    const int reserve = !ops->am.prepare + !ops->am.commit + !ops->am.cancel;
    const int waits = !ops->wait.arm + !ops->wait.sleep + !ops->wait.disarm + !ops->wait.wake;
    const int exposes = !ops->memory.expose + !ops->memory.conceal + !ops->rma.get_exposed;
    return reserve % 3 != 0   ? "am.prepare, am.commit or am.cancel"
           : waits % 4 != 0   ? "a part of wait"
           : exposes % 3 != 0 ? "memory.expose, memory.conceal or rma.get_exposed"
                              : NULL;
}

// The operation that a table lacks: a mandatory one, or one of a set of which it has others. NULL:
// the table is complete.
static const char *lacks(const aq_conduit_ops_t *ops)
{
    const char *name = lacks_mandatory(ops);
    if (name == NULL)
        name = lacks_part(ops);
    if (name == NULL && aq_profile_find(ops->name)->one_host && !serves_host(ops))
        name = "memory.share_segments, memory.shared_scratch or wait";
    return name;
}

const aq_conduit_ops_t *aq_registry_find(const char *name, char *errbuf, size_t errbuf_size)
{
    const aq_conduit_ops_t *ops = find_built_in(name);
    if (!ops)
        ops = find_module(name, errbuf, errbuf_size);
    if (!ops)
        return NULL;
    if (ops->description_bytes > AQ_DESCRIPTION_BYTES) {
        snprintf(
            errbuf, errbuf_size,
            "its description is longer than %d bytes (core/conduit.h): the conduit is to be mended",
            AQ_DESCRIPTION_BYTES);
        return NULL;
    }
    const char *lacking = lacks(ops);
    if (lacking == NULL)
        return ops;
    snprintf(errbuf, errbuf_size,
             "its table lacks %s (core/conduit.h): the conduit is to be mended", lacking);
    return NULL;
}

// ---- reports ----

typedef struct name_list {
    char (*names)[AQ_MODULE_NAME_MAX];
    size_t count, max;
} name_list_t;

static void add_name(void *arg, const char *name)
{
    name_list_t *list = arg;
    for (size_t i = 0; i < list->count && i < list->max; i++)
        if (strcmp(list->names[i], name) == 0)
            return;
    if (list->count < list->max)
        snprintf(list->names[list->count], sizeof list->names[0], "%s", name);
    list->count++;
}

// All names: the known conduits, then those of modules. At most max are written.
static size_t list_names(char (*names)[AQ_MODULE_NAME_MAX], size_t max)
{
    name_list_t list = {names, 0, max};
    for (size_t i = 0; i < aq_profile_count(); i++)
        add_name(&list, aq_profile_at(i)->name);
    aq_module_each("conduit", add_name, &list);
    return list.count;
}

enum { NAMES_MAX = 64 };

size_t aq_registry_report(aq_conduit_report_t *out, size_t max)
{
    char names[NAMES_MAX][AQ_MODULE_NAME_MAX];
    const size_t known = aq_min(list_names(names, NAMES_MAX), NAMES_MAX);
    for (size_t i = 0; i < known && i < max; i++) {
        aq_conduit_report_t *row = &out[i];
        *row = (aq_conduit_report_t){.ops = NULL};
        memcpy(row->name, names[i], sizeof row->name);
        row->ops = aq_registry_find(row->name, row->why, sizeof row->why);
        row->usable = row->ops && row->ops->usable(row->why, sizeof row->why);
    }
    return known;
}

void aq_registry_open_modules(void)
{
    char names[NAMES_MAX][AQ_MODULE_NAME_MAX], why[512];
    const size_t known = aq_profile_count(), all = aq_min(list_names(names, NAMES_MAX), NAMES_MAX);
    for (size_t i = known; i < all; i++)
        (void)aq_registry_find(names[i], why, sizeof why);
}
