#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bed-suite: what tests/beds/suite/run and tests/platforms/run refuse, and that a command in a chroot gets its arguments,
# gives its exit code and leaves no file. The chroot has busybox alone.
set -u
. "$AQ_SRC/tests/run-functions.sh"
bed=$AQ_SRC/tests/beds/suite/run

fail()
{
    echo "check-run: $*; this is what came out:"
    cat out
    exit 1
}

# expect CODE TEXT ARGUMENT ...: runs the bed with these arguments; its last line has the text.
expect()
{
    local wanted=$1 text=$2 code=0
    shift 2
    "$bed" "$@" >out 2>&1 </dev/null || code=$?
    [ $code != 77 ] || [ "$wanted" = 77 ] || skip_as_bed
    [ $code = "$wanted" ] || fail "exit code $code instead of $wanted: $*"
    tail -n 1 out | grep -qF -- "$text" || fail "the last line has no '$text': $*"
}

skip_as_bed()
{
    tail -n 1 out
    exit 77
}

# A chroot of this suite as far as the bed looks.
make_small_chroot()
{
    local name
    mkdir -p small/{bin,dev,etc/apt,proc,root,sys,tmp,usr/bin} || exit
    cp "$(command -v busybox)" small/bin/ && ln -s ../../bin/busybox small/usr/bin/env || exit
    for name in sh cat touch ls; do ln -s busybox "small/bin/$name"; done
    echo 13 >small/etc/debian_version && echo 'deb file:/nowhere trixie main' >small/etc/apt/sources.list
}

# An apt that knows no mirror, and an mmdebstrap that fails.
make_bad_apt()
{
    mkdir nowhere programs
    echo "Dir::Etc \"$PWD/nowhere\"; Dir::State \"$PWD/nowhere\"; Dir::Cache \"$PWD/nowhere\";" >no-apt.conf
    printf '#!/bin/sh\necho "E: there is no such release"\nexit 1\n' >programs/mmdebstrap && chmod +x programs/mmdebstrap
    export PATH=$PWD/programs:$PATH
}

for program in busybox git unshare; do
    command -v $program >/dev/null || { echo "$program is missing"; exit 77; }
done
expect 2 "'' is no suite; use bookworm, trixie, forky or sid"
expect 2 "'potato' is no suite" potato -- true
expect 2 "there is no command behind --" trixie
expect 2 "there is no command behind --" trixie --
expect 2 "unknown option '--kvm'" trixie --kvm -- true
expect 2 "--folder needs a value" trixie --folder -- true
expect 2 "'tcc' is no compiler that can be chosen" trixie --compiler tcc -- true
mkdir full && touch full/file
expect 2 "full has files, but no chroot" trixie --folder full -- true
make_small_chroot
expect 2 "small has a chroot of another suite than sid" sid --folder small -- true
expect 5 '/root/aqueduct gcc one, two words, ' trixie --folder small -- sh -c \
    'ls GNUmakefile && touch /file README && printf "%s " "$PWD" "$CC" && printf "%s, " "$@"; exit 5' sh one 'two words'
[ ! -e small/file ] || fail "a file stays in the chroot"

make_bad_apt
if command -v apt-get >/dev/null; then
    APT_CONFIG=$PWD/no-apt.conf expect 77 "no chroot of sid can be had: apt on this host knows no mirror" sid -- true
    expect 77 "no chroot of sid can be had: " sid --folder new -- true
    [ ! -e new ] || fail "there is a folder of a chroot that could not be made"
fi
bed=$AQ_SRC/tests/platforms/run
expect 2 "'potato' is no platform" --folder new potato
expect 2 "'trixie:tcc' is no platform" --folder new trixie:tcc
expect 2 "--tests needs a value" --tests
[ ! -e new ] || fail "there is a folder of a run that did not begin"
bed=$AQ_SRC/tests/platforms/document
expect 1 "there are no results in" .
printf '%s\n' '@demo ok' '@tests smp 3 1 0' '@failed smp smp-a: exit code 3' >sid-gcc.results
echo '@others stdin A 1 | rank 0' >sid.others
expect 0 '| sid | A 1 | rank 0 |' .
grep -qxF '| sid-gcc | ok | smp | 3 | 1 | 0 |' out && grep -qxF '| sid-gcc | smp-a | exit code 3 |' out ||
    fail "the document lacks counts or failures"
none=$(find . -maxdepth 1 -name 'suite.*')
[ -z "$none" ] || fail "$none stays"
