#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# conda-build runs this in a copy of the sources. Its compilers are those of the client, too.
set -eu
./bootstrap
mkdir -p build
cd build
../configure --prefix="$PREFIX" --disable-static --disable-mpi-modules --disable-mpi CLIENT_OPT_CFLAGS=-O2
make -j "${CPU_COUNT:-1}"
make install
rm -f "$PREFIX"/lib/lib*.la
