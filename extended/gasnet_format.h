// SPDX-License-Identifier: BSD-3-Clause
// Format constants and descriptors as text, for messages of clients. The specifications do not have
// these names, but GASNet's test programs and some clients use them. All calls are allowed
// everywhere, do not block, and terminate the text with a NUL.
#ifndef GASNET_FORMAT_H
#define GASNET_FORMAT_H

#include <stddef.h>

#include "gasnetex_core.h"

#ifdef __cplusplus
extern "C" {
#endif

// Text such as "GEX_OP_ADD|GEX_OP_SET"; "0" if no bit is set; bits without a name are one number.
// Return the size of the text in bytes, including the NUL. If buf is NULL, they only return the
// size.
AQ_API size_t gasnett_format_ti(char *buf, gex_TI_t mask);
AQ_API size_t gasnett_format_dt(char *buf, gex_DT_t types);
AQ_API size_t gasnett_format_op(char *buf, gex_OP_t ops);

// The sides of non-contiguous transfers. The calls named _bufsz return the size in bytes that buf
// needs; the others return buf. gasnet_vis.h explains the arguments that describe a transfer.
// reserved must be NULL.
AQ_API size_t gasnett_format_memveclist_bufsz(size_t count);
AQ_API char *gasnett_format_memveclist(char *buf, size_t count, const gex_Memvec_t *list);
AQ_API size_t gasnett_format_addrlist_bufsz(size_t count);
AQ_API char *gasnett_format_addrlist(char *buf, size_t count, void *const *list, size_t len);
AQ_API size_t gasnett_format_putsgets_bufsz(size_t stridelevels);
AQ_API char *gasnett_format_putsgets(char *buf, void *reserved, gex_TM_t tm, gex_Rank_t rank,
                                     const void *dst, const ptrdiff_t dststrides[], const void *src,
                                     const ptrdiff_t srcstrides[], size_t elemsz,
                                     const size_t count[], size_t stridelevels);

#ifdef __cplusplus
}
#endif

#endif
