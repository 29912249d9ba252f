dnl SPDX-License-Identifier: BSD-3-Clause
dnl Checksums. The functions are inline: nothing is linked.
PKG_CHECK_MODULES([XXHASH], [libxxhash], [],
    [AC_MSG_ERROR([conduit udp needs the header xxhash.h; install the package libxxhash-dev, or configure with --disable-udp.])])
