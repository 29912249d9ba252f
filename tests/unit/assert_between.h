// SPDX-License-Identifier: BSD-3-Clause
// A number has to be in a range, ends included. (cmocka 2 has other names for its own check, and
// warns of that of cmocka 1.)
#ifndef AQ_ASSERT_BETWEEN_H
#define AQ_ASSERT_BETWEEN_H

#include <stdint.h>

static inline void assert_between(uintmax_t value, uintmax_t least, uintmax_t most)
{
    if (value < least || value > most)
        fail_msg("%ju is not between %ju and %ju", value, least, most);
}

#endif
