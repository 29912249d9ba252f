# SPDX-License-Identifier: BSD-3-Clause
# Shell functions for the tests of universes, in addition to those of the launch tests. Each test
# has a universe of its own: its socket is in a folder of the test.
export GASNET_UNIVERSE=$work/u
boot=$AQ_BUILD/gasnet_boot grow=$AQ_BUILD/gasnet_grow shrink=$AQ_BUILD/gasnet_shrink
recon=$AQ_BUILD/gasnet_recon halt=$AQ_BUILD/gasnet_halt wipe=$AQ_BUILD/gasnet_wipe

# Prints number, name and state of the hosts in the output of gasnet_recon.
table_rows()
{
    awk '/^[0-9]+ +[^ ]+ +(ready|idle|leaves|lost) / { print $1, $2, $3 }'
}

# The same, of the universe.
rows()
{
    timeout 20 "$recon" | table_rows
}

# table ROW ...: fails unless the universe has exactly these hosts.
table()
{
    [ "$(rows)" = "$(printf '%s\n' "$@")" ] || fail "the universe has: $(rows)"
}

# await_table ROW ...: the same, in a moment.
await_table()
{
    for _ in $(seq 300); do
        [ "$(rows)" = "$(printf '%s\n' "$@")" ] && return
        sleep 0.05
    done
    table "$@"
}
