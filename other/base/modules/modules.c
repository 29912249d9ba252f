// SPDX-License-Identifier: BSD-3-Clause
// Searches the folders and calls dlopen, for conduits (core/job/registry.c), for boot modules
// (spawner/join/spawn_load.c) and for modules of an MPI (other/mpi/mpi_library.c). Each file passes
// trust.h first.
#include "modules.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../system/dispositions.h"
#include "../settings/settings.h"
#include "../system/trust.h"

const char *aq_module_folder(void)
{
    return AQ_MODULE_DIR;
}

// Finds the first folder of a colon-separated list that has the file; false: none has it.
static bool find_in(const char *folders, const char *file, char *path, size_t size)
{
    while (*folders) {
        size_t length = strcspn(folders, ":");
        snprintf(path, size, "%.*s/%s", (int)length, folders, file);
        if (length && access(path, F_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

bool aq_module_find(const char *file, char *path, size_t size)
{
    return !strchr(file, '/') && (find_in(aq_settings_text(AQ_SET_MODULE_PATH), file, path, size) ||
                                  find_in(AQ_MODULE_DIR, file, path, size));
}

bool aq_module_find_conduit(const char *conduit, char *path, size_t size)
{
    char file[128];
    snprintf(file, sizeof file, "aq_conduit_%s.so", conduit);
    return aq_module_find(file, path, size);
}

// Whether the file is aq_KIND_NAME.so; sets the name.
static bool is_module(const char *file, const char *kind, char name[AQ_MODULE_NAME_MAX])
{
    char start[AQ_MODULE_NAME_MAX];
    const size_t used = (size_t)snprintf(start, sizeof start, "aq_%s_", kind);
    const char *end = strchr(file, '.');
    if (strncmp(file, start, used) != 0 || end == NULL || strcmp(end, ".so") != 0)
        return false;
    const size_t length = (size_t)(end - file) - used;
    snprintf(name, AQ_MODULE_NAME_MAX, "%.*s", (int)length, file + used);
    return length > 0 && length < AQ_MODULE_NAME_MAX;
}

static void each_module_in(const char *folder, const char *kind, void (*each)(void *, const char *),
                           void *arg)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        char name[AQ_MODULE_NAME_MAX];
        if (is_module(entry->d_name, kind, name))
            each(arg, name);
    }
    if (entries != NULL)
        closedir(entries);
}

void aq_module_each(const char *kind, void (*each)(void *arg, const char *name), void *arg)
{
    const char *folders = aq_settings_text(AQ_SET_MODULE_PATH);
    while (*folders) {
        char folder[1024];
        size_t length = strcspn(folders, ":");
        snprintf(folder, sizeof folder, "%.*s", (int)length, folders);
        if (length)
            each_module_in(folder, kind, each, arg);
        folders += length + (folders[length] == ':');
    }
    each_module_in(AQ_MODULE_DIR, kind, each, arg);
}

const void *aq_module_open(const char *path, const char *symbol, char *errbuf, size_t errbuf_size)
{
    aq_dispositions_t kept;
    char real[PATH_MAX];
    if (!aq_trust_file(path, real, errbuf, errbuf_size))
        return NULL;
    *errbuf = '\0';
    aq_dispositions_keep(&kept);
    void *module = dlopen(real, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    aq_dispositions_restore(&kept);
    if (!module) {
        snprintf(errbuf, errbuf_size, "its module cannot be loaded: %s; replace or remove the file",
                 dlerror());
        return NULL;
    }
    return dlsym(module, symbol);
}
