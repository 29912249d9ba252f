// SPDX-License-Identifier: BSD-3-Clause
// Anonymous shared memory: a file without a name (memfd), which disappears with its last user.
//
// The file does not depend on the size of the shared-memory file system, and a kill -9 leaves
// nothing behind. Another process of the same user opens it through the owner's /proc entry.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../log/status.h"

// What another process needs to open the file. Plain data, which may be sent through an exchange.
typedef struct aq_memfile_ticket {
    int32_t pid;
    int32_t fd;
    uint64_t inode; // proves that pid and fd still refer to the same file
} aq_memfile_ticket_t;

// Creates a sparse file of size bytes and returns its descriptor, which is closed on exec. name is
// only for people (it appears in /proc). Logs faults.
aq_status_t aq_memfile_create(const char *name, size_t size, int *fd_out);

// As aq_memfile_create, for callers that can go on without the file: returns 0 or errno, and logs
// nothing.
int aq_memfile_try_create(const char *name, size_t size, int *fd_out);

// The same of huge pages of `page` bytes, a size of huge_pages.h, which the administrator has put
// aside (vm.nr_hugepages); size: a multiple of it. Each map of the file has to be one, too. ENOMEM:
// there are not so many, or others have reserved them.
int aq_memfile_try_create_huge(const char *name, size_t size, size_t page, int *fd_out);

// The bytes of a page of a file of huge pages, also of one of another process that has been opened
// here; 0 if fd is no file.
size_t aq_memfile_page(int fd);

// Resizes the file. Returns 0 or errno: EFBIG if the limit of file sizes (ulimit -f) is exceeded; a
// plain ftruncate would end the process by a signal then. Any thread.
int aq_memfile_resize(int fd, size_t size);

// Creates the ticket with which other processes can open fd.
aq_status_t aq_memfile_ticket(int fd, aq_memfile_ticket_t *out);

// Opens the file of another process (or of this one) again; the caller closes it. Logs faults with
// their reason and remedy. AQ_ERR_PEER: pid and fd refer to a different file by now.
aq_status_t aq_memfile_open(const aq_memfile_ticket_t *ticket, int *fd_out);

// As aq_memfile_open, for callers that can go on without the file: returns 0 or errno (ESTALE: pid
// and fd refer to a different file by now), and logs nothing.
int aq_memfile_try_open(const aq_memfile_ticket_t *ticket, int *fd_out);

// Maps size bytes from offset (a multiple of the page size), readable, writable and shared. Logs
// faults.
aq_status_t aq_memfile_map(int fd, size_t offset, size_t size, void **out);

// As aq_memfile_map, but replaces a mapping of the caller at an address, a multiple of the page
// size.
aq_status_t aq_memfile_map_at(int fd, size_t offset, size_t size, void *addr);

void aq_memfile_unmap(void *addr, size_t size);
