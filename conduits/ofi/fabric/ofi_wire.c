// SPDX-License-Identifier: BSD-3-Clause
// Writes frames for ofi_send.c, and checks those that ofi_receive.c has got, without input or
// output, so that a fuzzer can call it.
#include "ofi_wire.h"

#include <string.h>

size_t ofi_payload_most(size_t packet_bytes, unsigned kind)
{
    return (packet_bytes - sizeof(ofi_header_t) - ofi_payload_at(kind, AQ_AM_MAX_ARGS)) &
           ~(size_t)7;
}

// Writes bytes, and zeros up to the next multiple of 8. Returns where the next part begins.
static char *part_write(char *at, const void *from, size_t bytes)
{
    const size_t all = ofi_round(bytes);
    if (all != bytes)
        memset(at + all - 8, 0, 8);
    if (bytes)
        memcpy(at, from, bytes);
    return at + all;
}

void ofi_frame_write(char *at, const ofi_frame_t *frame, const int32_t *args, const void *dest,
                     const void *payload)
{
    at = part_write(at, frame, sizeof *frame);
    at = part_write(at, args, 4 * (size_t)frame->nargs);
    if (ofi_has_dest(frame->kind))
        at = part_write(at, &dest, sizeof dest);
    (void)part_write(at, payload, frame->bytes);
}

bool ofi_header_read(const void *packet, size_t bytes, uint64_t job, uint32_t ranks,
                     ofi_header_t *out)
{
    if (bytes < sizeof *out || bytes % 8)
        return false;
    memcpy(out, packet, sizeof *out);
    return out->job == job && out->version == OFI_WIRE_VERSION && out->class < OFI_CLASSES &&
           out->source < ranks;
}

static bool frame_is_valid(const ofi_frame_t *frame, size_t size)
{
    return frame->kind < OFI_KINDS && frame->nargs <= AQ_AM_MAX_ARGS && frame->bytes <= size &&
           ofi_frame_bytes(frame->kind, frame->nargs, frame->bytes) <= size;
}

size_t ofi_frame_parse(char *packet, size_t bytes, size_t offset, ofi_frame_read_t *out)
{
    char *at = packet + offset;
    if (offset % 8 || offset > bytes || bytes - offset < sizeof out->frame)
        return 0;
    memcpy(&out->frame, at, sizeof out->frame);
    const ofi_frame_t *frame = &out->frame;
    if (!frame_is_valid(frame, bytes - offset))
        return 0;
    const size_t payload_at = ofi_payload_at(frame->kind, frame->nargs);
    out->args = (const int32_t *)(const void *)(at + sizeof *frame);
    out->payload = at + payload_at;
    out->dest = 0;
    if (ofi_has_dest(frame->kind))
        memcpy(&out->dest, at + payload_at - 8, 8);
    return offset + ofi_frame_bytes(frame->kind, frame->nargs, frame->bytes);
}
