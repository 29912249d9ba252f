#include "modules.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "settings.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

const char *aq_module_folder(void)
{
    return AQ_MODULE_DIR;
}

// Finds the first folder of a colon-separated list that has the file; false: none has it.
static bool find_in(const char *folders, const char *file, char *path, size_t room)
{
    while (*folders) {
        size_t length = strcspn(folders, ":");
        snprintf(path, room, "%.*s/%s", (int)length, folders, file);
        if (length && access(path, F_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

bool aq_module_find(const char *file, char *path, size_t room)
{
    return !strchr(file, '/') && (find_in(aq_settings_text(AQ_SET_MODULE_PATH), file, path, room) ||
                                  find_in(AQ_MODULE_DIR, file, path, room));
}

bool aq_module_find_conduit(const char *conduit, char *path, size_t room)
{
    char file[128];
    snprintf(file, sizeof file, "aq_conduit_%s.so", conduit);
    return aq_module_find(file, path, room);
}

static void each_conduit_in(const char *folder, void (*each)(void *, const char *), void *arg)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        char conduit[AQ_MODULE_NAME_MAX] = "";
        int end = 0;
        if (sscanf(entry->d_name, "aq_conduit_%31[^.].so%n", conduit, &end) == 1 && end > 0 &&
            entry->d_name[end] == '\0')
            each(arg, conduit);
    }
    if (entries != NULL)
        closedir(entries);
}

void aq_module_each_conduit(void (*each)(void *arg, const char *conduit), void *arg)
{
    const char *folders = aq_settings_text(AQ_SET_MODULE_PATH);
    while (*folders) {
        char folder[1024];
        size_t length = strcspn(folders, ":");
        snprintf(folder, sizeof folder, "%.*s", (int)length, folders);
        if (length)
            each_conduit_in(folder, each, arg);
        folders += length + (folders[length] == ':');
    }
    each_conduit_in(AQ_MODULE_DIR, each, arg);
}

const void *aq_module_open(const char *path, const char *symbol, char *why, size_t room)
{
    *why = '\0';
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!module) {
        snprintf(why, room, "its module cannot be loaded: %s", dlerror());
        return NULL;
    }
    return dlsym(module, symbol);
}
