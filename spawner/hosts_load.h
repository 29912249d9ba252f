// Reading files for the lists of hosts.
#ifndef AQ_HOSTS_LOAD_H
#define AQ_HOSTS_LOAD_H

#include "hosts.h"

// The whole file, a NUL behind its *length bytes; the caller frees it. NULL with a sentence in
// fault, which begins with what.
char *aq_hosts_load(const char *what, const char *path, size_t *length, char *fault, size_t room);

#endif
