// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of the packets of conduit ofi. The first byte of an input says whether the rest gets the
// number of this job, which only a rank of the job knows. Invariants: without that number nothing
// is accepted; an accepted header names a rank of the job and a class; the parts of each frame are
// inside the packet, one behind the other; and a frame that is written again is read as the same.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../conduits/ofi/fabric/ofi_wire.h"
#include "fuzz_check.h"

enum { RANKS = 5 };

#define JOB UINT64_C(0x1122334455667788)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const ofi_frame_read_t *read, size_t bytes)
{
    char *copy = malloc(bytes);
    ofi_frame_read_t again;
    if (copy == NULL)
        return;
    ofi_frame_write(copy, &read->frame, read->args, (const void *)(uintptr_t)read->dest,
                    read->payload);
    require(ofi_frame_parse(copy, bytes, 0, &again) == bytes);
    require(memcmp(&again.frame, &read->frame, sizeof again.frame) == 0 &&
            again.dest == read->dest);
    require(memcmp(again.args, read->args, 4 * (size_t)read->frame.nargs) == 0);
    require(memcmp(again.payload, read->payload, read->frame.bytes) == 0);
    free(copy);
}

static void check_frame(const char *packet, size_t offset, size_t next,
                        const ofi_frame_read_t *read)
{
    const char *args = (const char *)read->args, *at = packet + offset;
    require(read->frame.kind < OFI_KINDS && read->frame.nargs <= AQ_AM_MAX_ARGS);
    require(args == at + sizeof read->frame);
    require(read->payload >= args + 4 * (size_t)read->frame.nargs);
    require(read->payload + read->frame.bytes <= packet + next);
    check_again(read, next - offset);
}

static void check_frames(char *packet, size_t bytes)
{
    size_t offset = sizeof(ofi_header_t);
    while (offset < bytes) {
        ofi_frame_read_t read;
        const size_t next = ofi_frame_parse(packet, bytes, offset, &read);
        if (next == 0)
            return;
        require(next > offset && next <= bytes && next % 8 == 0);
        check_frame(packet, offset, next, &read);
        offset = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint64_t job = JOB;
    char *packet = size > 0 ? malloc(size) : NULL;
    if (packet == NULL)
        return 0;
    const bool insider = data[0] & 1 && size > sizeof job;
    memcpy(packet, data + 1, --size);
    if (insider)
        memcpy(packet, &job, sizeof job);
    ofi_header_t header;
    const bool accepted = ofi_header_read(packet, size, JOB, RANKS, &header);
    require(insider || !accepted || memcmp(packet, &job, sizeof job) == 0);
    if (accepted) {
        require(header.source < RANKS && header.class < OFI_CLASSES);
        require(header.version == OFI_WIRE_VERSION && size % 8 == 0);
        check_frames(packet, size);
    }
    free(packet);
    return 0;
}
