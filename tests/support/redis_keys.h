/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_KEYS_H
#define TAMIS_TEST_REDIS_KEYS_H

/* Keys, and filters of whatever servers that are to have them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/redis.h>

enum { NUMBERS = 1 << 18 };

extern tamis_error err; /* of the last call that failed */
extern tamis_key keys[NUMBERS];

#define OK(call)                                                                                             \
    do {                                                                                                     \
        tamis_status status_ = (call);                                                                       \
        if (status_ != TAMIS_OK)                                                                             \
            fail_msg("%s: %s", tamis_status_name(status_), err.text);                                        \
    } while (0)

#define FAILS(call, wanted, part)                                                                            \
    do {                                                                                                     \
        assert_string_equal(tamis_status_name(call), #wanted);                                               \
        if (!strstr(err.text, part))                                                                         \
            fail_msg("no '%s' in: %s", part, err.text);                                                      \
    } while (0)

/* Of the group: makes them. */
void make_numbers(void);

/* Opened, or made where the name has the parameters; on these servers (NULL: the name is a URI). */
tamis_filter *open_on(tamis_redis *servers, const char *name);
/* All of them are answered. */
void add_keys(tamis_filter *filter, size_t from, size_t count);
size_t count_seen(const tamis_filter *filter, size_t from, size_t count);
/* The first `count` are in. */
void assert_all_in(const tamis_filter *filter, size_t count);

#endif
