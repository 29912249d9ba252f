// Anonymous shared memory: a file without a name (memfd), which vanishes with its last user.
//
// The file does not depend on the size of the shared-memory file system and leaves nothing behind
// after a kill -9. Another process of the same user opens it through the owner's /proc entry.
#ifndef AQ_MEMFILE_H
#define AQ_MEMFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "status.h"

// What another process needs to open the file. Plain bytes: may be sent through an exchange.
typedef struct aq_memfile_ticket {
    int32_t pid;
    int32_t fd;
    uint64_t inode; // proves that pid and fd still mean the file they meant
} aq_memfile_ticket_t;

// Creates a file of size bytes (sparse: pages are taken at first touch) and returns its descriptor,
// which is closed on exec. name is for people only (it shows in /proc). Logs a fault.
aq_status_t aq_memfile_create(const char *name, size_t size, int *fd_out);

// Gives the file another size. 0, or errno: EFBIG where the limit of file sizes (ulimit -f) forbids
// it, which ends the process by a signal if ftruncate is called as it is. Any thread.
int aq_memfile_resize(int fd, size_t size);

// Makes the ticket with which others can open fd.
aq_status_t aq_memfile_ticket(int fd, aq_memfile_ticket_t *out);

// Opens the file of another process (or of this one) anew; the caller closes it. Logs a fault with
// the reason and the remedy. AQ_ERR_PEER: pid and fd mean another file by now.
aq_status_t aq_memfile_open(const aq_memfile_ticket_t *ticket, int *fd_out);

// Maps size bytes from offset (multiple of the page size), readable and writable, shared. Logs
// a fault.
aq_status_t aq_memfile_map(int fd, size_t offset, size_t size, void **out);

void aq_memfile_unmap(void *addr, size_t size);

#endif
