#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-missing: gasnet_info --missing finds the names of GASNet in a client's sources that the
# headers lack, and nothing else; the list that it knows has every name of the specifications.
set -u
. "$AQ_SRC/tests/run-functions.sh"
info=$AQ_BUILD/installed/bin/gasnet_info
names=$AQ_BUILD/installed/lib/gasnet/gasnet_names
unset GASNET_MODULE_PATH

fail()
{
    echo "check-missing: $*"
    exit 1
}

# expect CODE WORD ...: runs gasnet_info --missing.
expect()
{
    local expected=$1
    shift
    "$info" --missing "$@" >out 2>err
    [ $? = "$expected" ] || fail "--missing $* should end with $expected, but says: $(cat out err)"
}

grep '^g\|^G' "$AQ_SRC/tests/static/built/api-names.txt" | grep -xE '(gasnet|gasnett|gex|GASNET|GASNETT|GEX)_.*[A-Z_].*' |
    grep -vxE 'gex_(addr|cdata|device_list|entry|ep|ep_index|flags|fnptr|index|is_long|is_req|jobrank|len|name|nargs|rank|srcrank)' |
    LC_ALL=C sort | LC_ALL=C comm -23 - "$names" >lost
[ ! -s lost ] || fail "the list of names lacks: $(head -5 lost)"

mkdir -p client/sub
cat >client/one.c <<'END2'
#include <gasnet_nowhere.h>
// gasnet_in_comment /* is no block
/* gasnet_in_block
   gasnet_in_block2 */ int a = gasnet_gone_first(GASNET_OK);
const char *text = "gasnet_in_string \" gasnet_in_string2";
char quote = '"'; int b = gasnet_gone_second;
#define GASNET_OF_CLIENT 1
#define gasnet_of_client(x) gasneti_gone_third(x)
int c = GASNET_OF_CLIENT + gasnet_of_client(gasnet_gone_first);
#if defined(GASNET_TESTED) || GASNET_TESTED_TOO
#elif PLATFORM_GONE_GE(1, 2) && \
    GASNET_TESTED_LAST
#endif
int d = gex_AM_RequestShort3(0, 0, 0, 0, 1, 2, 3) + gasnet_AMReplyMedium16 + MY_gasnet_name;
int e = PLATFORM_COMPILER_GNU + sizeof(gasnett_mutex_t) + _gasneti_threadkey_init;
END2
cat >client/sub/two.cpp <<'END2'
const char *raw = R"x(gasnet_in_raw "
gasnet_in_raw2 )x"; auto f = GEX_GONE_FLAG;
gasnete_gone_last g; gasnet_gone_second h;
END2
echo 'gasnet_in_notes' >client/notes.txt
printf '%s\n' "client/one.c:4: gasnet_gone_first" "client/one.c:6: gasnet_gone_second" "client/one.c:8: gasneti_gone_third" \
    "client/one.c:11: PLATFORM_GONE_GE" "client/sub/two.cpp:2: GEX_GONE_FLAG" "client/sub/two.cpp:3: gasnete_gone_last" >wanted
expect 1 client
head -n -1 out | diff wanted - || fail "other names are found than should be."
tail -1 out | grep -qx '[0-9]* names of GASNet are used, 6 are missing' || fail "the last line is '$(tail -1 out)'."

# Names that a client defines itself are not GASNet's; uses of names that do not exist are found in
# any form.
mkdir own
cat >own/defined.cc <<'END2'
typedef struct gasnet_tag { int gasnet_member; } gasnet_struct_t;
typedef unsigned long gasnet_word_t;
namespace gex_space { int gasnet_in_space; }
enum handlers { GASNET_HANDLER_A = (1 << 2), GASNET_HANDLER_B,
    GASNET_HANDLER_C };
gasnet_node_t gasnet_rank, gasnet_ranks = 2;
std::vector<int> gasnet_list;
static int gasnet_own_static(int);
static char *gasnet_own_static2(void)
{ return 0; }
void
gasnet_own_function(int gasnet_parameter, gasnet_node_t *gasnet_pointer)
{ gex_space::gasnet_qualified(gasnet_rank + gasnet_ranks + gasnet_parameter + *gasnet_pointer); }
template <typename gex_Type, int GEX_COUNT = 3> class gex_class : public base {};
struct table { int (*gex_entry)(int); int GEX_VALUE; };
const int GASNET_CONSTANT = gasnet_own_static(GASNET_HANDLER_B + GASNET_HANDLER_C);
END2
expect 0 own
cat >own/used.cc <<'END2'
extern int gasnet_gone01; extern "C" { int gasnet_gone02(int); }
int gasnet_gone03(int);
int f(int x, const gasnet_gone04_t, const gasnet_gone05_t *p) {
    if (x) return gasnet_gone06; else gasnet_gone07(x);
    x = 3 * gasnet_gone08; x = sizeof gasnet_gone09; if (gasnet_gone10(x)) { }
    g(x * gasnet_gone11, x GASNET_GONE12); gasnet_gone13_t y; struct gasnet_gone14 *z; ::gasnet_gone15(x);
    switch (x) { case GASNET_GONE16: break; } (*gasnet_gone17)(x); x = (gasnet_gone18_t)x, gasnet_gone19(x); return
        gasnet_gone20; }
static gasnet_gone21_t a; template <typename T = gasnet_gone22> struct b; enum c { D = gasnet_gone23 };
END2
expect 1 own
sed -n 's/.*: //p' out | tr -d '[:alpha:]_' | xargs >numbers
[ "$(cat numbers)" = "$(seq -w 23 | xargs)" ] || fail "of 23 names that are used and not defined, these are found: $(cat out)"

# A client without missing names; a folder name with blanks and other characters; an absolute path.
mkdir "good client=1"
cp "$AQ_SRC"/examples/*.c "good client=1"
for folder in "good client=1" "$PWD/good client=1"; do
    expect 0 "$folder"
    grep -qx '[1-9][0-9]* names of GASNet are used, 0 are missing' out || fail "the examples lack names: $(cat out)"
done

# Wrong arguments: one sentence with the remedy.
for folder in nowhere client/one.c ""; do
    expect 2 "$folder"
    [ "$(wc -l <err)" = 1 ] && grep -qF "'$folder' cannot be read" err && [ ! -s out ] || fail "'$folder' is refused with: $(cat out err)"
done
expect 2
grep -q 'needs the folder' err || fail "no folder is refused with: $(cat err)"
exit 0
