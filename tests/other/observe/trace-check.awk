# SPDX-License-Identifier: BSD-3-Clause
# Checks a trace of traffic_work: the file `expected` has what the program says that it sent, and the
# trace follows. Prints what is wrong, and exits with 1 then.
#   -v ranks=N       ranks of the job
#   -v some=1        not all events are there: what is there has to fit together
#   -v slack=NS      by which the clocks of ranks may differ (0)
function wrong(what)
{
    print "line " FNR ": " what ": " substr($0, 1, 200)
    bad = 1
}
# The value behind "key": of this line.
function value(key,  at, rest)
{
    at = index($0, "\"" key "\":")
    if (!at) return ""
    rest = substr($0, at + length(key) + 3)
    if (substr(rest, 1, 1) == "\"") return substr(rest, 2, index(substr(rest, 2), "\"") - 1)
    match(rest, /^-?[0-9.]+/)
    return substr(rest, 1, RLENGTH)
}
BEGIN { sent = "Short request,Medium request,Long request,,Short reply,Medium reply,Long reply,,put,,get,,atomic,VIS put,,VIS get,,send,,stream send"; columns = split(sent, column, ",") }
FNR == 1 { files++ }
files == 1 {
    split($0, cell, ",")
    for (i = 1; i <= columns; i++) if (column[i] != "") wanted[column[i]] += cell[i + 2]
    next
}
FNR == 1 { if ($0 != "[") wrong("no bracket at the begin"); next }
$0 == "]" { closed = FNR; next }
closed { wrong("behind the end") }
!/^\{"name":".*\},?$/ { wrong("no whole event"); next }
!/,$/ { if (last) wrong("no comma before it"); last = FNR }
{ name = value("name"); phase = value("ph"); pid = value("pid"); cat = value("cat") }
name == "aqueduct" {
    if (value("version") != 2 || value("ranks") != ranks || value("rank") != pid) wrong("a wrong head")
    heads[pid]++
    events[pid] = value("events")
    dropped += value("dropped")
    error[pid] = value("clock_error_ns")
    next
}
phase == "M" { next }
phase !~ /^[Xibesf]$/ { wrong("an unknown phase"); next }
value("ts") !~ /^[0-9]+\.[0-9][0-9][0-9]$/ { wrong("no time"); next }
value("tid") !~ /^[0-9]+$/ { wrong("no thread"); next }
phase ~ /^[Xib]$/ { written[pid]++ }
phase == "X" && value("dur") !~ /^[0-9]+\.[0-9][0-9][0-9]$/ { wrong("no duration") }
name == "large end" { large_ends++ }
name == "large receive" { large_receives++ }
{ sub(/^large /, "", name) } # counts as a message with two sides
phase ~ /^[Xb]$/ { count[name]++ }
phase == "b" { begins[value("id")]++ }
phase == "e" { ends[value("id")]++; if (!(value("id") in begins)) wrong("an end without begin") }
phase == "s" { if (value("id") in sends) wrong("a second send"); sends[value("id")] = value("ts"); split(value("id"), part, "."); if (part[1] != pid) wrong("a send of another rank") }
phase == "f" { if (value("id") in handled) wrong("a second handler"); handled[value("id")] = value("ts"); split(value("id"), part, "."); if (part[2] != pid) wrong("an arrow to another rank") }
name ~ /^handler [0-9]+$/ { handlers++ }
name == "stream receive" { stream_receives++ }
name == "receive" && phase == "X" { receives++ }
name ~ /^(broadcast|reduce|scatter|gather)$/ { if (value("root") == "" || (name == "broadcast" && value("root") != ranks - 1)) wrong("not the root") }
cat == "coll" && name !~ /^(broadcast|reduce|scatter|gather)$/ && value("root") != "" { wrong("a root of what has none") }
cat == "coll" { members[name " " value("team") " " value("sequence")]++ }
END {
    if (closed != FNR || last != FNR - 1) { print "the array is not closed"; bad = 1 }
    for (r = 0; r < ranks; r++) {
        if (heads[r] != 1) { print "rank " r " has not one head"; bad = 1 }
        if (events[r] != written[r]) { print "rank " r " announces " events[r] " events and has " written[r]; bad = 1 }
    }
    for (id in sends) {
        if (!(id in handled)) { if (!some) { print "no handler for " id; bad = 1 } continue }
        paired++
        if (handled[id] * 1000 + slack < sends[id] * 1000) { print id " is handled before it is sent"; bad = 1 }
    }
    for (id in handled) if (!(id in sends) && !some) { print "no send for " id; bad = 1 }
    for (id in begins) if (ends[id] != 1 && !some) { print "no end for " id; bad = 1 }
    for (key in members) if (members[key] != ranks && !some) { print key " has " members[key] " ranks"; bad = 1 }
    if (some && !dropped) { print "nothing is dropped"; bad = 1 }
    if (!some && dropped) { print dropped " events are dropped"; bad = 1 }
    if (!paired) { print "nothing is paired"; bad = 1 }
    for (name in wanted) if (!some && count[name] != wanted[name]) { print count[name] + 0 " in place of " wanted[name] " events " name; bad = 1 }
    total = wanted["Short request"] + wanted["Medium request"] + wanted["Long request"] + wanted["Short reply"] + wanted["Medium reply"] + wanted["Long reply"]
    if (!some && (handlers != total || paired != total + wanted["send"] + wanted["stream send"])) { print handlers + 0 " handlers and " paired + 0 " pairs in place of " total; bad = 1 }
    if (!some && receives != wanted["send"]) { print receives + 0 " receives in place of " wanted["send"]; bad = 1 }
    if (!some && (large_ends != large_receives || !large_ends)) { print large_ends + 0 " ends of " large_receives + 0 " large messages"; bad = 1 }
    if (!some && stream_receives != wanted["stream send"]) { print stream_receives + 0 " receives on streams in place of " wanted["stream send"]; bad = 1 }
    print paired " pairs, " dropped + 0 " dropped"
    exit bad
}
