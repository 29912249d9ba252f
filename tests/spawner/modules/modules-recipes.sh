#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# modules-recipes: the recipes of examples/clusters are whole: YAML, shell, the packages of the
# image, and a row in README.md for each. Others run them: rendezvous-k8s, modules-slurm, modules-tm.
set -u
. "$AQ_SRC/tests/run-functions.sh"
cd "$AQ_SRC/examples/clusters" || exit 1

fail()
{
    echo "failed: $*"
    exit 1
}

for file in *; do
    [ "$file" = README.md ] || grep -q "^| \`$file\` |" README.md || fail "README.md does not say how far $file was tried"
done
for file in $(sed -n 's/^| `\(.*\)` | .*/\1/p' README.md); do
    [ -e "$file" ] || fail "README.md has a row for $file, which is not there"
done

for file in *.sh; do
    sh -n "$file" || fail "$file"
    [ -x "$file" ] || fail "$file cannot be executed"
done
if command -v shellcheck >/dev/null; then
    shellcheck ./*.sh || fail "shellcheck finds faults"
else
    left_out "shellcheck of the scripts" "it is not installed (package shellcheck)"
fi

# The image has the packages that the build needs, and copies what the tree has.
needed=$("$AQ_SRC/other/packaging/packages.sh" --list | awk '$2 == "needed" { print $1 }' | sort)
[ -n "$needed" ] || fail "packages.sh names no packages"
named=$(sed -n '/AS build/,/^COPY/p' Containerfile | grep -oE '\b[a-z0-9+-]+\b' | sort -u)
[ -z "$(comm -23 <(echo "$needed") <(echo "$named"))" ] || fail "the Containerfile lacks packages: $(comm -23 <(echo "$needed") <(echo "$named") | xargs)"
for file in $(grep -oE '/source/[a-z/]+\.c' Containerfile); do
    [ -e "$AQ_SRC/${file#/source/}" ] || fail "the Containerfile compiles $file, which is not there"
done

python3 -c 'import yaml' 2>/dev/null || {
    echo "python3 cannot import yaml (package python3-yaml)"
    exit 77
}
for recipe in *.yaml; do
    "$AQ_SRC/tests/beds/pods/recipe" "$recipe" >/dev/null || fail "$recipe"
done
exit 0
