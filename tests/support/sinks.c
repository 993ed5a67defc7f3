/* SPDX-License-Identifier: BSD-2-Clause */
#include "support/sinks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden/golden_reader.h"

tamis_sink *sink_new(void) {
    tamis_sink *sink = NULL;
    assert_int_equal(tamis_sink_create(&sink, NULL, NULL), TAMIS_OK);
    return sink;
}

size_t sink_keys(tamis_sink *sink, const tamis_key **keys) {
    tamis_error err = TAMIS_ERROR_INIT;
    size_t count = 0;
    if (tamis_sink_keys(sink, keys, &count, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return count;
}

void sink_expect(tamis_sink *sink, const char *hex) {
    const tamis_key *keys;
    uint8_t expected[256];
    size_t size = golden_bytes(hex, expected);
    tamis_sink_end_key(sink);
    assert_int_equal(sink_keys(sink, &keys), 1);
    assert_int_equal(keys[0].size, size);
    if (size)
        assert_memory_equal(keys[0].data, expected, size);
    tamis_sink_clear(sink);
}
