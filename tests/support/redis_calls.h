/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_CALLS_H
#define TAMIS_TEST_REDIS_CALLS_H

/* Calls that must succeed or must fail. The user of these macros has a tamis_error `err`. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/status.h>

#define OK(call)                                                                                             \
    do {                                                                                                     \
        tamis_status status_ = (call);                                                                       \
        if (status_ != TAMIS_OK)                                                                             \
            fail_msg("%s: %s", tamis_status_name(status_), err.text);                                        \
    } while (0)

#define FAILS(call, expected, part)                                                                          \
    do {                                                                                                     \
        assert_string_equal(tamis_status_name(call), #expected);                                             \
        if (!strstr(err.text, part))                                                                         \
            fail_msg("no '%s' in: %s", part, err.text);                                                      \
    } while (0)

#endif
