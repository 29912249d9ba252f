#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# gcc 12.2 for riscv64 (Debian 12): a compare-and-swap of 32 bits, whose expected value comes from the
# lower half of a longer one, stores nothing and reports success (GCC bug 114130, which is about the
# comparison; mended in 12.4, 13.3, 14). The same program stores if the highest bit is not set.
#   findings/gcc-riscv64-cas.sh     0: it is still so; 1: not any more; 2: it cannot be run here
. "$(dirname "$0")/debian.sh"
make_root bookworm gcc-12-riscv64-linux-gnu=12.2.0-13cross1 libc6-dev-riscv64-cross qemu-user-static
cat >"$root/cas.c" <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t memory;

__attribute__((noinline)) static int exchange(uint64_t longer)
{
    uint32_t expected = (uint32_t)longer;
    return __atomic_compare_exchange_n(&memory, &expected, 4, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

int main(int argc, char **argv)
{
    uint64_t value = strtoull(argv[argc - 1], NULL, 0);
    memory = (uint32_t)value;
    int exchanged = exchange(value);
    printf("%#x: returns %d, the memory is %#x\n", (uint32_t)value, exchanged, memory);
    return 0;
}
C
within riscv64-linux-gnu-gcc-12 -O2 -static -o /cas /cas.c || exit 2
within riscv64-linux-gnu-gcc-12 --version | head -n 1
for value in 0x7fffffff 0x80000000; do
    within qemu-riscv64-static /cas $value
done | tee "$folder/out"
grep -qx '0x7fffffff: returns 1, the memory is 0x4' "$folder/out" &&
    grep -qx '0x80000000: returns 1, the memory is 0x80000000' "$folder/out"
