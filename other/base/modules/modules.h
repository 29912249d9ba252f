// SPDX-License-Identifier: BSD-3-Clause
// Modules: shared objects that are searched at run time, in GASNET_MODULE_PATH or $libdir/gasnet.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define AQ_MODULE_NAME_MAX 32 // room for the name of a module, with its final zero

// Finds the file of this name and sets its path; false: no folder has it. Settings must be loaded.
bool aq_module_find(const char *file, char *path, size_t size);

// The same for the module of a conduit.
bool aq_module_find_conduit(const char *conduit, char *path, size_t size);

// Calls back for each module of a kind ("conduit", "spawn": files aq_KIND_NAME.so) in each of these
// folders, in the order of the search: for a name that stands in several folders more than once.
// The name is valid during the call.
void aq_module_each(const char *kind, void (*each)(void *arg, const char *name), void *arg);

// Loads a module and returns the object that it exports under a name. NULL: it cannot be loaded, or
// other users could have put it there (trust.h), and errbuf has the reason, or it exports no such
// object, and errbuf is "". The module stays loaded.
const void *aq_module_open(const char *path, const char *symbol, char *errbuf, size_t errbuf_size);

// The folder of the installed modules.
const char *aq_module_folder(void);
