# Shell functions of the check-*.sh scripts in this folder, which try the modes of a program one after the
# other: $name is the mode that runs, $work has what it printed in the files out and err, and $failed counts
# the complaints.

complain()
{
    printf '%s: %s\n' "$name" "$*"
    sed 's/^/    out: /' "$work/out"
    sed 's/^/    err: /' "$work/err"
    failed=$((failed + 1))
}

# is_chosen [PATTERN ...]: whether $name matches one of the patterns; it does where there are none.
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
