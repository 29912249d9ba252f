#!/bin/bash
# static-includes: file names are unique in the tree, nobody includes a .c, and an include of ours goes
# only the way that docs/ARCHITECTURE.md allows.
set -u
. "$AQ_SRC/tests/run-functions.sh"
cd "$AQ_SRC" || exit

# room: the rooms it may include, itself always among them
allowed='
other:
other/install: public
firehose: other
spawner: other
core: spawner other
extended: core other
conduits: core firehose spawner other
examples: public
tests/conduits: core firehose spawner other
tests/chaos: public
tests/checks: public
tests/conformance: public
tests/perf: public
tests/plugin: public
tests/tools: public
tests/unit: other firehose spawner core extended conduits
tests/fuzz: other firehose spawner core extended conduits
tests/beds: other
'

room_of()
{
    case $1 in
    other/install/*) echo other/install ;;
    conduits/*/*) set -- "${1#conduits/}" && echo "conduits/${1%%/*}" ;;
    tests/*/*) set -- "${1#tests/}" && echo "tests/${1%%/*}" ;;
    *) echo "${1%%/*}" ;;
    esac
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

# room of the includer, room of the included file
may_include()
{
    local rooms
    [ "$1" = "$2" ] && return
    case $1 in
    conduits/*) rooms=$(sed -n 's/^conduits: *//p' <<<"$allowed") ;;
    *) rooms=$(sed -n "s!^$1: *!!p" <<<"$allowed") ;;
    esac
    [[ " $rooms " == *" ${2%%/*} "* ]]
}

wrong_ways()
{
    local file line base from to
    declare -A room=() is_public=()
    while read -r file; do
        room[${file##*/}]=$(room_of "$file")
    done < <(sources)
    while read -r base; do
        is_public[$base]=yes
    done < <(public_headers)
    while read -r file line base; do
        from=${room[${file##*/}]}
        if [[ $base == *.c ]]; then
            echo "$file:$line: includes the source file $base."
        elif [[ " $(sed -n "s!^$from: *!!p" <<<"$allowed") " == *' public '* && -n ${is_public[$base]-} ]]; then
            continue
        elif [ -n "${room[$base]-}" ]; then
            to=${room[$base]}
            may_include "$from" "$to" || echo "$file:$line: $from must not include $base of $to."
        fi
    done < <(includes)
}

[ -n "$(sources)" ] || {
    echo "check-includes: no source file was found in $AQ_SRC."
    exit 1
}
fail_on_output "Give each file a name of its own." same_names
fail_on_output "The rule is in docs/ARCHITECTURE.md, under 'The house'." wrong_ways
exit 0
