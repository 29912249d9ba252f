# Shell functions of the check-*.sh scripts in this folder, which run a program once in each of its
# modes. $name is the current mode, the files out and err in $work have its output, and $failed
# counts the failures.

complain()
{
    printf '%s: %s\n' "$name" "$*"
    sed 's/^/    out: /' "$work/out"
    sed 's/^/    err: /' "$work/err"
    failed=$((failed + 1))
}

# is_chosen [PATTERN ...]: whether $name matches one of the patterns, or there are none.
is_chosen()
{
    local p
    [ $# -gt 0 ] || return 0
    for p in "$@"; do
        # shellcheck disable=SC2053
        [[ $name == $p ]] && return 0
    done
    return 1
}
