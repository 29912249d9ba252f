// SPDX-License-Identifier: BSD-3-Clause
// Messages of collectives.
#pragma once

#include "coll_op.h"

void aq_coll_send_part(const aq_coll_op_t *op, uint32_t rank, uint32_t row, uint32_t part,
                       const void *payload, size_t nbytes);
// Sends a piece of a row to a rank, in parts.
static inline void aq_coll_send_piece(const aq_coll_op_t *op, uint32_t rank, uint32_t row,
                                      uint32_t piece, const char *from, size_t nbytes)
{
    uint32_t part = piece * op->pieces.parts;
    for (; nbytes > op->pieces.part; nbytes -= op->pieces.part, from += op->pieces.part)
        aq_coll_send_part(op, rank, row, part++, from, op->pieces.part);
    if (nbytes)
        aq_coll_send_part(op, rank, row, part, from, nbytes);
}
void aq_coll_send_ready(const aq_coll_op_t *op, uint32_t rank);
// Finds the part that a message carries. Returns NULL, or the reason why the message is wrong;
// *part is then undefined. The caller holds aq_coll_lock.
const char *aq_coll_mail_part(const aq_coll_op_t *op, const aq_coll_mail_t *mail,
                              aq_coll_part_t *part);
// Delivers to a starting operation the messages that arrived before. The caller holds aq_coll_lock.
void aq_coll_mail_open(aq_coll_op_t *op);
// Delivers to a starting team the messages that arrived before. The caller holds aq_coll_lock.
void aq_coll_mail_adopt(aq_coll_t *coll);
void aq_coll_mail_free(aq_coll_t *coll);

// Bytes of the largest part.
size_t aq_coll_part_limit(void);
// Divides so many bytes into pieces, of whole elements if there are several.
void aq_coll_divide(aq_coll_op_t *op, size_t bytes);
