#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# static-includes: file names are unique in the tree, no file includes a .c, includes between
# folders follow the directions of docs/ARCHITECTURE.md, and no files include each other in a
# circle.
set -u
. "$AQ_SRC/tests/run-functions.sh"
cd "$AQ_SRC" || exit

# room: the rooms it may include, itself always among them; a/* are all rooms of a folder
allowed='
other/base:
other/mpi: other/base
other/observe: other/base
other/packaging: public
other/tools: other/base
firehose: other/base
spawner: other/base other/mpi other/observe
spawner/modules: spawner
core: spawner other/*
extended: core other/*
messages: extended core other/*
conduits/common: core other/base
conduits/*: conduits/common core firehose spawner other/*
examples: public
tests/conduits: conduits/* core firehose spawner other/*
tests/chaos: public
tests/checks: public
tests/conformance: public
tests/launch: spawner
tests/lines: public
tests/observe: public
tests/perf: public
tests/plugin: public
tests/tools: public
tests/unit: other/* firehose spawner core extended messages conduits/*
tests/fuzz: other/* firehose spawner core extended messages conduits/*
tests/beds: other/base
'

room_of()
{
    [[ $1 =~ ^[^/]+/[^/]+/ ]] && set -- "${BASH_REMATCH[0]%/}/"
    echo "${1%/*}"
}

# Prints "file line included-base-name" of each include directive.
includes()
{
    sources | xargs grep -HnE '^[[:space:]]*#[[:space:]]*include' |
        sed -nE 's!^([^:]*):([0-9]*):[^<"]*[<"]([^>"]*/)?([^/>"]+)[>"].*!\1 \2 \4!p'
}

same_names()
{
    sources | sed 's!.*/!!' | sort | uniq -d | sed 's!$!: this file name is there more than once.!'
}

public_headers()
{
    sed -n '/^public_headers =/,/[^\\]$/s!.*[[:space:]/]\([a-z_0-9]*\.h\).*!\1!p' Makefile.am
    echo gasnet_config.h
}

# The rule of a room: its own, or that of its folder.
rooms_for()
{
    local rule
    rule=$(sed -n "s!^$1: *!!p" <<<"$allowed")
    [ -n "$rule" ] || grep -q "^$1:" <<<"$allowed" || rule=$(sed -n "s!^${1%/*}/[*]: *!!p" <<<"$allowed")
    echo "$rule"
}

# room of the includer, room of the included file
may_include()
{
    local rooms=${rules[$1]}
    [ "$1" = "$2" ] && return
    [[ " $rooms " == *" $2 "* || " $rooms " == *" ${2%/*}/* "* ]]
}

forbidden_includes()
{
    local file line base from to
    declare -A room=() is_public=() rules=()
    while read -r file; do
        room[${file##*/}]=$(room_of "$file")
        [ -n "${rules[${room[${file##*/}]}]+set}" ] || rules[${room[${file##*/}]}]=$(rooms_for "${room[${file##*/}]}")
    done < <(sources)
    while read -r base; do
        is_public[$base]=yes
    done < <(public_headers)
    while read -r file line base; do
        from=${room[${file##*/}]}
        if [[ $base == *.c ]]; then
            echo "$file:$line: includes the source file $base."
        elif [[ " ${rules[$from]} " == *' public '* && -n ${is_public[$base]-} ]]; then
            continue
        elif [ -n "${room[$base]-}" ]; then
            to=${room[$base]}
            may_include "$from" "$to" || echo "$file:$line: $from must not include $base of $to."
        fi
    done < <(includes)
}

# Prints "room file included-file" for includes inside of a room, without the endings of names.
includes_in_room()
{
    local file line base room
    declare -A room_of_base=()
    while read -r file; do
        room_of_base[${file##*/}]=$(room_of "$file")
    done < <(sources)
    while read -r file line base; do
        room=${room_of_base[${file##*/}]}
        file=${file##*/}
        [ "${room_of_base[$base]-}" = "$room" ] && [ "${file%.*}" != "${base%.*}" ] &&
            echo "$room ${file%.*} ${base%.*}"
    done < <(includes) | sort -u
}

# Prints each set of files that include each other in a circle, with their room. A .c and the .h of
# its name are one file here.
file_circles()
{
    includes_in_room | awk '
        { room[$2] = room[$3] = $1; way[$2, $3] = 1; file[$2]; file[$3] }
        END {
            for (k in file) for (i in file) if ((i, k) in way)
                for (j in file) if ((k, j) in way) way[i, j] = 1
            for (i in file) if ((i, i) in way && !(i in told)) {
                text = room[i] ":"
                for (j in file) if ((i, j) in way && (j, i) in way) { told[j]; names[++n] = j }
                for (a = 1; a <= n; a++) for (b = a + 1; b <= n; b++)
                    if (names[b] < names[a]) { t = names[a]; names[a] = names[b]; names[b] = t }
                for (a = 1; a <= n; a++) text = text " " names[a]
                n = 0
                print text ": these files include each other in a circle."
            }
        }' | sort
}

[ -n "$(sources)" ] || {
    echo "check-includes: no source file was found in $AQ_SRC."
    exit 1
}
fail_on_output "Give each file a name of its own." same_names
fail_on_output "The rule is in docs/ARCHITECTURE.md, under 'The house'." forbidden_includes
fail_on_output "Move what both need into a file of its own." file_circles
exit 0
