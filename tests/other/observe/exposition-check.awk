# SPDX-License-Identifier: BSD-3-Clause
# Checks that a file is in the text exposition format, as gasnet_top writes it: a HELP and a TYPE
# line, then all samples of that metric, each with a value and other labels than the ones before.
function fault(what)
{
    print "line " NR ": " what ": " $0
    failed = 1
    exit 1
}
/^# HELP [a-zA-Z_:][a-zA-Z0-9_:]* ./ {
    if ($3 in known)
        fault("a second HELP")
    known[$3] = 1
    name = $3
    type = ""
    next
}
/^# TYPE [a-zA-Z_:][a-zA-Z0-9_:]* (counter|gauge)$/ {
    if ($3 != name || type != "")
        fault("TYPE does not follow its HELP")
    type = $4
    if ((type == "counter") != (name ~ /_total$/))
        fault("counters, and no others, end in _total")
    next
}
/^[a-zA-Z_:][a-zA-Z0-9_:]*[{]([a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\["\\n])*",?)+[}] -?[0-9.]+(e[-+][0-9]+)?$/ {
    if (substr($0, 1, index($0, "{") - 1) != name || type == "")
        fault("a sample of another metric")
    series = substr($0, 1, match($0, /[}] [^}]*$/))
    if (series in seen)
        fault("a second sample")
    seen[series] = 1
    if (type == "counter" && $NF < 0)
        fault("a negative counter")
    samples++
    next
}
{ fault("none of HELP, TYPE and sample") }
END {
    if (!failed && !samples) {
        print "no samples"
        exit 1
    }
}
