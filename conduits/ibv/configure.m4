dnl SPDX-License-Identifier: BSD-3-Clause
dnl Where the library for verbs devices is not installed, the conduit is left out.
PKG_CHECK_MODULES([VERBS], [libibverbs librdmacm], [],
    [enable_ibv="no (packages libibverbs-dev and librdmacm-dev)"])
