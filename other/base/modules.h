// Modules: shared objects that are found at run time, in GASNET_MODULE_PATH or $libdir/gasnet.
#ifndef AQ_MODULES_H
#define AQ_MODULES_H

#include <stdbool.h>
#include <stddef.h>

// The path of the file of that name; false when no folder has it. Settings must be loaded.
bool aq_module_find(const char *file, char *path, size_t room);

// What the file exports under a name; NULL: it cannot be loaded, or exports no such thing. why says
// which, or is "". The module stays for good.
const void *aq_module_open(const char *path, const char *symbol, char *why, size_t room);

// Where modules of this installation are.
const char *aq_module_folder(void);

#endif
