#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-plugin: a client may be a plug-in, linked with the shared libraries or with the archives: it
# is loaded, runs a job, and is unloaded again or ends the job.
set -u
. "$AQ_SRC/tests/run-functions.sh"
prefix=$AQ_BUILD/installed
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
flags="-std=gnu11 -Wall -Wextra -Wpedantic -Werror -pthread"

fail()
{
    echo "check-plugin: $*"
    exit 1
}

# run_host PLUGIN END EXIT-CODE LINES: LINES of output of the hosts are expected
run_host()
{
    local code
    timeout 20 "$prefix/bin/gasnetrun_smp" -n 2 ./host "./$1.so" $2 >out 2>err
    code=$?
    [ $code = "$3" ] || fail "with plug-in $1 and '$2' the exit code is $code, not $3: $(cat err)"
    [ "$(grep -c 'the host goes on' out)" = "$4" ] || fail "with plug-in $1 and '$2' the hosts say: $(cat out)"
}

# shellcheck disable=SC2086
cc $flags "$AQ_SRC/tests/plugin/plugin_host.c" -o host -ldl || exit
# shellcheck disable=SC2046,SC2086
for mode in seq par; do
    compile="cc $flags -fPIC -shared $(pkg-config --cflags gasnet-smp-$mode) $AQ_SRC/tests/plugin/plugin_client.c"
    # Only our libraries come from the archives; other archives need not be position independent.
    libs=$(pkg-config --static --libs gasnet-smp-$mode | sed -E 's/-l(gasnet[^ ]*|aqueduct)/-l:lib\1.a/g')
    $compile -o archives-$mode.so -Wl,-z,defs $libs || fail "the archives cannot be linked into a shared object."
    ! readelf -d archives-$mode.so | grep -q TEXTREL || fail "the archives are not position independent."
    plugins=archives-$mode
    if [ -e "$prefix/lib/libaqueduct.so" ]; then
        $compile -o shared-$mode.so $(pkg-config --libs gasnet-smp-$mode) || exit
        plugins="$plugins shared-$mode"
    fi
    for plugin in $plugins; do
        for catch in 0 1; do
            export GASNET_CATCH_EXIT=$catch GASNET_BACKTRACE_SIGNAL=SIGUSR1
            run_host $plugin stay 0 2
            [ $mode = seq ] || run_host $plugin thread 0 2
            [ "$(grep -c 'backtrace of process' err)" = 2 ] || fail "the signal handler of $plugin is gone: $(cat err)"
            run_host $plugin "exit 5" 5 0
        done
    done
done
for archive in "$prefix"/lib/*.a; do
    cc -shared -o whole.so -Wl,--whole-archive "$archive" -Wl,--no-whole-archive || fail "$archive is not position independent."
done
exit 0
