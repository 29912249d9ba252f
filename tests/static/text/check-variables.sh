#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# static-variables: every variable that the manuals of GASNet and GASNet-EX name (variables.list)
# is a setting, another name of one, or a variable without effect; and docs/variables.md says the
# same as gasnet_info -e about each of them.
set -u
. "$AQ_SRC/tests/run-functions.sh"
list=$AQ_SRC/tests/static/text/variables.list
table=$AQ_SRC/docs/variables.md

# "NAME|default" of each setting, "NAME|no effect|reason" of each variable without effect
known()
{
    gasnet_info -e 2>/dev/null | awk '
        function tell(  i) { for (i = 1; i <= n; i++) print name[i] "|no effect|" text; n = 0; text = "" }
        /^[A-Z][A-Z_0-9]+$/ { setting = $1; next }
        /^    .*; default: / && setting != "" { sub(/.*; default: /, ""); print setting "|" $0; setting = ""; next }
        /^Variables .* no effect here$/ { list = 1; next }
        list && /^    [A-Z]/ { if (text != "") tell(); name[++n] = $1; next }
        list { sub(/^ +/, ""); text = text (text == "" ? "" : " ") $0 }
        END { tell() }'
}

# "NAME|manual|here|reason" of each row of the table
rows()
{
    sed -n 's/^| \([A-Z][A-Z_0-9]*\) | \(.*\) |$/\1 | \2/p' "$table" | sed 's/ *| */|/g'
}

faults()
{
    awk -F'|' -v list="$list" '
        FNR == NR && $2 == "no effect" { why[$1] = $3; patterns[++count] = $1; next }
        FNR == NR { fallback[$1] = $2; next }
        { row[$1] = 1; manual = $2; here = $3; reason = $4 }
        $1 in fallback {
            if (here != fallback[$1])
                print $1 ": the table says " here ", and the default is " fallback[$1] "."
            if (manual != here && reason == "")
                print $1 ": the table does not say why " here " is not " manual "."
            next
        }
        here == "no effect" {
            for (i = 1; i <= count; i++) {
                start = patterns[i]
                if (start == $1 || (sub(/\*$/, "", start) && index($1, start) == 1)) break
            }
            if (i > count) print $1 ": the table calls it without effect, and it is not."
            else if (why[patterns[i]] != reason)
                print $1 ": the table says \"" reason "\", and gasnet_info \"" why[patterns[i]] "\"."
            next
        }
        here ~ /^as / {
            sub(/^as /, "", here)
            if (!(here in fallback)) print $1 ": " here ", whose other name it is, is no setting."
            next
        }
        { print $1 ": it is neither a setting nor without effect." }
        END { while ((getline line < list) > 0) if (!(line in row)) print line ": the table has no row." }
    ' <(known) <(rows)
}

[ "$(known | wc -l)" -gt 150 ] || {
    echo "gasnet_info -e lists too few variables."
    exit 1
}
fail_on_output "docs/variables.md and the settings have to agree." faults
exit 0
