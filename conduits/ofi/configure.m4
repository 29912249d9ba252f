dnl Where libfabric is not installed, the conduit is left out.
PKG_CHECK_MODULES([LIBFABRIC], [libfabric >= 1.11], [],
    [enable_ofi="no (package libfabric-dev)"])
