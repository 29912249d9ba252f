#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-values: the public constants and types are what tests/static/built/api-values.txt says, in C and
# in C++, and a client in C++ may cast each handle to void * and to an integer and back.
#   check-values.sh [TABLE]    another table than tests/static/built/api-values.txt
set -u
. "$AQ_SRC/tests/run-functions.sh"
prefix=$AQ_BUILD/installed
table=${1-$AQ_SRC/tests/static/built/api-values.txt}
command -v c++ >/dev/null || skip "there is no C++ compiler (package g++)"

sed 's/ *#.*//; /^$/d' "$table" >lines
headers=$(printf '#include <%s>\n' gasnet.h gasnet_vis.h gasnet_coll.h gasnet_ratomic.h gasnet_mk.h gasnet_tools.h)

# Values and types in C. Pointers are not constant expressions, so the program compares them at run
# time.
{
    echo "$headers"
    awk '$3 ~ /^[iu](32|64)$/ {
        printf "_Static_assert((uint64_t)(%s) == (uint64_t)(%s%s), \"%s is not %s\");\n", $1, $2, $2 ~ /^-/ ? "" : "u", $1, $2
        printf "_Static_assert(__builtin_types_compatible_p(__typeof__(%s), %sint%s_t), \"the type of %s is not %s\");\n",
            $1, $3 ~ /^u/ ? "u" : "", substr($3, 2), $1, $3
    }' lines
    echo 'int main(void) { int wrong = 0;'
    awk '$3 == "ptr" { printf "if ((uintptr_t)(%s) != %s) wrong = !!printf(\"%s is not %s.\\n\");\n", $1, $2, $1, $2 }' lines
    echo 'return wrong; }'
} >values.c

# Types, and their casts, in C++.
{
    echo "$headers"
    cat <<'CXX'
#include <type_traits>
template <class T> constexpr bool is_const() { return std::is_const<typename std::remove_pointer<T>::type>::value; }
template <class T> void cast(T handle)
{
    void *pointer = reinterpret_cast<void *>(handle);
    uintptr_t number = reinterpret_cast<uintptr_t>(handle);
    handle = reinterpret_cast<T>(number);
    handle = reinterpret_cast<T>(pointer);
}
CXX
    awk '$2 == "-" {
        test["int"] = "std::is_integral<%s>::value && std::is_signed<%s>::value"
        test["uint"] = "std::is_integral<%s>::value && !std::is_signed<%s>::value"
        test["enum"] = "std::is_enum<%s>::value"
        test["ptr"] = "std::is_pointer<%s>::value && !is_const<%s>()"
        test["struct"] = "std::is_class<%s>::value"
        kind = bits = $3
        sub(/[0-9]+/, "", kind)
        sub(/[a-z]+/, "", bits)
        is = test[kind]
        gsub(/%s/, $1, is)
        printf "static_assert(%s && sizeof(%s) * 8 == %s, \"%s is not %s\");\n", is, $1, bits, $1, $3
        if (kind == "ptr")
            printf "void cast_%s(%s handle);\nvoid cast_%s(%s handle)\n{\n    cast(handle);\n}\n", $1, $1, $1, $1
    }' lines
} >types.cc

cc -std=gnu11 -Wall -Wextra -Werror -DGASNET_PAR "-I$prefix/include" "-I$prefix/include/smp-conduit" values.c -o values \
    "-L$prefix/lib" "-Wl,-rpath,$prefix/lib" -lgasnet-smp-par -laqueduct -pthread &&
    c++ -std=c++11 -Wall -Wextra -Werror -DGASNET_PAR "-I$prefix/include" "-I$prefix/include/smp-conduit" -c types.cc -o types.o &&
    ./values || {
    echo "check-values: the headers and $table disagree."
    exit 1
}

# Each constant and type of GASNet-EX that the specification names is in the table.
grep -E '^GEX_|^gex_[A-Za-z]+(_[A-Za-z]+)?_t$' "$AQ_SRC/tests/static/built/api-names.txt" |
    grep -vxE 'GEX_(OP_TO_(NON)?FETCHING|HSL_INITIALIZER)|gex_HSL_t' | LC_ALL=C sort >named
cut -d' ' -f1 lines | LC_ALL=C sort | LC_ALL=C comm -13 - named >missing
[ ! -s missing ] || {
    sed "s/\$/: not in $(basename "$table")/" missing
    exit 1
}
[ "$(wc -l <lines)" -ge 200 ] || {
    echo "check-values: $table is not complete."
    exit 1
}
