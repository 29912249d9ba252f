#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# static-packaging: the recipes for packages agree with configure.ac, are well formed, and the tools of
# their formats that are installed find no fault.
set -u
. "$AQ_SRC/tests/run-functions.sh"
cd "$AQ_SRC" || exit
folder=other/packaging

fail()
{
    echo "check-packaging: $*"
    exit 1
}

command -v python3 >/dev/null || skip "python3 is not installed (package python3)"
found=$(python3 -B tests/static/text/packaging-facts.py 2>&1) || fail "$found"
bash -n "$folder/conda/build.sh" || fail "conda/build.sh is no script."
if command -v rpmspec >/dev/null; then
    for mpi in --with --without; do
        rpmspec -P "$mpi" mpi "$folder/aqueduct.spec" >"$TMPDIR/spec" 2>&1 || fail "$(tail -n 5 "$TMPDIR/spec")"
    done
else
    left_out 'the RPM recipe' 'rpmspec is not installed (package rpm)'
fi
if command -v rpmlint >/dev/null; then
    rpmlint "$folder/aqueduct.spec" >"$TMPDIR/lint" 2>&1
    ! grep -E ': E: ' "$TMPDIR/lint" || fail "rpmlint finds these errors."
fi
exit 0
