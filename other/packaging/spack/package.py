# SPDX-License-Identifier: BSD-3-Clause
# For Spack: docs/packaging.md says how to use it.
from spack.package import *


class Aqueduct(AutotoolsPackage):
    """Communication library for PGAS programs: the APIs GASNet-1 and GASNet-EX."""

    maintainers = []
    license("BSD-3-Clause")

    # Built from a folder that has the sources: spack dev-build, or spack develop.
    manual_download = True
    version("2026.11.0")

    variant("udp", default=True, description="Conduit udp: messages by datagrams")
    variant("ibv", default=False, description="Conduit ibv: verbs devices")
    variant("ofi", default=False, description="Conduit ofi: networks that libfabric reaches")
    variant("mpi", default=False, description="Conduit mpi, and starting jobs by mpirun")
    variant("tools", default=True, description="gasnet_top and gasnet_view")
    variant("debug", default=False, description="Check arguments and invariants at run time")

    depends_on("c", type="build")
    depends_on("autoconf@2.69:", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libsodium")
    depends_on("openssl@3:", type=("build", "link", "run"))
    depends_on("hwloc")
    depends_on("xxhash", when="+udp")
    depends_on("rdma-core", when="+ibv")
    depends_on("libfabric@1.11:", when="+ofi")
    depends_on("mpi@3:", when="+mpi")
    depends_on("jansson", when="+tools")
    depends_on("ncurses", when="+tools")

    # configure says the same, in a sentence.
    conflicts("platform=darwin", msg="Aqueduct runs on Linux only")
    conflicts("platform=windows", msg="Aqueduct runs on Linux only")

    def autoreconf(self, spec, prefix):
        Executable("./bootstrap")()

    def configure_args(self):
        spec = self.spec
        args = ["CLIENT_OPT_CFLAGS=-O2"]
        for conduit in ("udp", "ibv", "ofi", "mpi"):
            args += self.enable_or_disable(conduit)
        if "+mpi" not in spec:
            args.append("--disable-mpi-modules")
        if "+debug" in spec:
            args.append("--enable-debug")
        return args
