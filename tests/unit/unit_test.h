// SPDX-License-Identifier: BSD-3-Clause
// What each unit test includes first: cmocka, after the headers that it needs and does not include.
#ifndef AQ_UNIT_TEST_H
#define AQ_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
