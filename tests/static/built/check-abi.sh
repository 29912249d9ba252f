#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-abi: a program that was compiled for another binary interface or another thread mode is
# refused at init, with one sentence that says what to do.
set -u
. "$AQ_SRC/tests/run-functions.sh"
prefix=$AQ_BUILD/installed
cat >client.c <<'END'
#include <gasnetex.h>
int main(void)
{
    gex_TM_t tm;
    return gex_Client_Init(NULL, NULL, &tm, "ABI", NULL, NULL, 0) == GASNET_OK ? 0 : 9;
}
END

# headers, compiled for, linked for
build()
{
    cc -I"$1" -I"$1/smp-conduit" "-DGASNET_${2^^}" client.c -o client -L"$prefix/lib" "-Wl,-rpath,$prefix/lib" \
        "-lgasnet-smp-$3" -laqueduct -pthread || exit
}

refused()
{
    ./client 2>err
    [ $? = 9 ] || {
        echo "A client that should be refused was not: '$1'."
        exit 1
    }
    grep -qF -- "$1" err && [ "$(grep -c '^\*\*\* GASNet:' err)" = 1 ] || {
        echo "The one message should say '$1', but is: $(cat err)"
        exit 1
    }
}

build "$prefix/include" seq seq
./client || exit

cp -r "$prefix/include" other-headers
sed -i 's/^#define AQ_API_ABI .*/#define AQ_API_ABI 9999/' other-headers/gasnetex_build.h
build other-headers seq seq
refused "binary interface, the library has version"
refused "version 9999"
refused "compile it again"

build "$prefix/include" par seq
refused "compiled for thread mode par"
# Many ranks find the fault, and one reports it.
"$prefix/bin/gasnetrun_smp" -n 3 ./client 2>err
grep -q 'compiled for thread mode par.*; 2 more ranks could not start either$' err && [ "$(wc -l <err)" = 1 ] || {
    echo "A job should be refused with one message, but the messages are: $(cat err)"
    exit 1
}
build "$prefix/include" seq parsync
refused "link -lgasnet-<conduit>-seq"
exit 0
