#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# static-includes: file names are unique in the tree, no file includes a .c, includes between
# folders and between the rooms of a folder follow the directions of docs/ARCHITECTURE.md, no folder
# of the library and of the tests has more than 40 files, and no files include each other in a circle.
set -u
. "$AQ_SRC/tests/run-functions.sh"
cd "$AQ_SRC" || exit

# folder: the folders that it may include, itself always among them; public: their public headers
allowed='
other/base:
other/mpi: other/base
other/observe: other/base
other/packaging: public
other/programs: other/base other/mpi other/observe spawner core firehose
other/tools: other/base
firehose: other/base
spawner: other/base other/mpi other/observe
core: spawner other/base other/mpi other/observe other/tools
extended: core spawner other/base other/observe other/tools
messages: extended core spawner other/base other/observe other/tools
conduits/common: core spawner other/base
conduits/*: conduits/common core firehose spawner other/base other/mpi other/observe other/tools
examples: public
tests/chaos: public
tests/checks: public tests/*
tests/clients: public tests/*
tests/conduits: conduits/* core firehose spawner other/* tests/*
tests/conformance: public
tests/core: core extended spawner other/* tests/*
tests/extended: extended core spawner other/* tests/*
tests/firehose: firehose spawner other/* tests/*
tests/lines: public
tests/messages: messages extended core spawner other/* tests/*
tests/other: other/* conduits/* spawner core tests/*
tests/perf: public
tests/plugin: public
tests/spawner: spawner other/* tests/*
tests/unit: other/base
tests/ways: public
tests/fuzz: other/* firehose spawner core extended messages conduits/*
tests/beds: other/base
'

# folder: its rooms, from the ground to the top; a room includes only rooms before it. "." is the
# folder itself: what it offers to other folders, or its entry.
order='
other/base: . log settings system memory modules
other/observe: format input draw analysis pages top
spawner: . boot shell wire supervise hosts tree launch rendezvous join start universe modules
core: . ground thread state record endpoint progress memory am publish expose job
extended: . rma barrier coll team vis ratomic gasnet1
messages: . two_sided large stream
conduits/udp: profile wire socket link .
conduits/ibv: verbs ports registration peers send rails receive connect .
conduits/ofi: fabric state rma messages .
'

# The folder of a file, for both tables: two levels where there are folders of folders.
folder_of()
{
    case $1 in
    conduits/* | other/* | tests/*) [[ $1 =~ ^[^/]+/[^/]+/ ]] && echo "${BASH_REMATCH[0]%/}" || echo "${1%%/*}" ;;
    *) echo "${1%%/*}" ;;
    esac
}

# The room of a file in its folder: "." or the name of a folder in it.
room_of()
{
    local inside=${1#"$(folder_of "$1")"/}
    [[ $inside == */* ]] && echo "${inside%%/*}" || echo .
}

# Tests that see what a client sees, in the folders of what they test: "tests/clients" for the table.
clients()
{
    sources | grep -E '^tests/(conduits|core|extended|firehose|messages|other|spawner)/' | xargs grep -lE '^#include [<"](gasnet|gasnetex)\.h[>"]'
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

# The rule of a folder in a table: its own, or that of the folder above.
rule_of()
{
    local table=$1 rule
    rule=$(sed -n "s!^$2: *!!p" <<<"$table")
    [ -n "$rule" ] || grep -q "^$2:" <<<"$table" || rule=$(sed -n "s!^${2%/*}/[*]: *!!p" <<<"$table")
    echo "$rule"
}

# Of files, by their names: folder and room; of folders, their rules.
declare -A folder=() room=() is_public=() folders=() rooms=()
read_tables()
{
    local file base clients
    clients=$(clients)
    while read -r file; do
        base=${file##*/}
        folder[$base]=$(folder_of "$file") room[$base]=$(room_of "$file")
        [[ $'\n'$clients$'\n' != *$'\n'$file$'\n'* ]] || folder[$base]=tests/clients room[$base]=.
        [ -z "${folders[${folder[$base]}]+set}" ] || continue
        folders[${folder[$base]}]=$(rule_of "$allowed" "${folder[$base]}")
        rooms[${folder[$base]}]=$(rule_of "$order" "${folder[$base]}")
    done < <(sources)
    while read -r base; do
        is_public[$base]=yes
    done < <(public_headers)
}

# folder of the includer, folder of the included file
may_include()
{
    [ "$1" = "$2" ] || [[ " ${folders[$1]} " == *" $2 "* || " ${folders[$1]} " == *" ${2%/*}/* "* ]]
}

# folder, room of the includer, room of the included file
is_below()
{
    local order=" ${rooms[$1]} "
    [ "$2" = "$3" ] || [ -z "${rooms[$1]}" ] || [[ ${order#*" $3"} == *" $2 "* && $order == *" $3 "* ]]
}

forbidden_includes()
{
    local file line base from to
    while read -r file line base; do
        from=${folder[${file##*/}]}
        if [[ $base == *.c ]]; then
            echo "$file:$line: includes the source file $base."
        elif [[ " ${folders[$from]} " == *' public '* && -n ${is_public[$base]-} ]]; then
            continue
        elif [ -n "${folder[$base]-}" ]; then
            to=${folder[$base]}
            may_include "$from" "$to" || echo "$file:$line: $from must not include $base of $to."
            [ "$from" != "$to" ] || is_below "$to" "${room[${file##*/}]}" "${room[$base]}" ||
                echo "$file:$line: in $to, room ${room[${file##*/}]} must not include $base of room ${room[$base]}."
        fi
    done < <(includes)
}

# Rooms of the tree that the table does not have, and rooms of the table that the tree does not have.
wrong_rooms()
{
    local base name
    for base in "${!folder[@]}"; do
        name=${rooms[${folder[$base]}]}
        [ -z "$name" ] || [[ " $name " == *" ${room[$base]} "* ]] || echo "${folder[$base]}/${room[$base]}: not in the order of rooms."
    done | sort -u
    while IFS=: read -r base name; do
        for name in $name; do
            [ -z "$base" ] || [ -d "$base/$name" ] || echo "$base/$name: in the order of rooms, but not in the tree."
        done
    done <<<"$order"
}

# Unit tests that include cmocka without what it needs.
other_cmocka()
{
    sources | grep -vx tests/unit/unit_test.h | xargs grep -nF '<cmocka.h>'
}

# The files of the tests, also those that are no sources, without what a build in place leaves there.
test_files()
{
    find tests -type f ! -path '*/.*' ! -name '*.o' ! \( -name 'test_*' ! -name '*.*' \)
}

# Folders in which nobody finds a file.
large_folders()
{
    { sources | grep -v '^tests/' && test_files; } | sed 's!/[^/]*$!!' | sort | uniq -c |
        awk '$1 > 40 { print $2 ": " $1 " files; give them rooms." }'
}

# Prints "folder file included-file" for includes inside of a folder, without the endings of names.
includes_in_folder()
{
    local file line base from
    while read -r file line base; do
        file=${file##*/} from=${folder[${file##*/}]}
        [ "${folder[$base]-}" = "$from" ] && [ "${file%.*}" != "${base%.*}" ] &&
            echo "$from ${file%.*} ${base%.*}"
    done < <(includes) | sort -u
}

# Prints each set of files that include each other in a circle, with their folder. A .c and the .h of
# its name are one file here.
file_circles()
{
    includes_in_folder | awk '
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
read_tables
fail_on_output "Give each file a name of its own." same_names
fail_on_output "The order of rooms is in this check." wrong_rooms
fail_on_output "A newcomer looks through 40 names at most." large_folders
fail_on_output "Include unit_test.h in place of cmocka.h." other_cmocka
fail_on_output "The rule is in docs/ARCHITECTURE.md, under 'The house'." forbidden_includes
fail_on_output "Move what both need into a file of its own." file_circles
exit 0
