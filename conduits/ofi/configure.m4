dnl SPDX-License-Identifier: BSD-3-Clause
dnl Where libfabric is not installed, the conduit is left out.
PKG_CHECK_MODULES([LIBFABRIC], [libfabric >= 1.11], [],
    [PKG_CHECK_EXISTS([libfabric],
        [AC_MSG_ERROR([conduit ofi needs libfabric 1.11 or later, and an older one is installed; install a later one, or configure with --disable-ofi.])])
     enable_ofi="no (package libfabric-dev)"])
