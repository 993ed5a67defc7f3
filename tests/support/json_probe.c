/* SPDX-License-Identifier: BSD-2-Clause */
#include "support/json_probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

json_probe probed;

void look_forget(void) {
    for (int i = 0; i < JSON_PROBE_MAX; i++) {
        bytes_clear(&probed.found[i]);
        probed.there[i] = false;
    }
    probed.decoded_bytes = 0;
}

void look_all(const char *const *pointers, size_t count, const void *text, size_t size) {
    tamis__json *json = NULL;
    tamis__arena arena = {.memory = tamis__allocator_resolve(NULL)};
    tamis_key values[JSON_PROBE_MAX];
    tamis__pointer_fault wrong = {0};
    unsigned char *record = malloc(size ? size : 1);
    assert_non_null(record);
    if (size)
        memcpy(record, text, size);
    look_forget();
    probed.fault = (tamis__fault){0};
    assert_int_equal(tamis__json_create(&json, pointers, count, NULL, &wrong), TAMIS_OK);
    probed.status =
        tamis__json_find(json, (tamis_key){size ? record : NULL, size}, values, &arena, &probed.fault);
    assert_true(probed.status == TAMIS_OK ||
                (probed.status == TAMIS_E_DAMAGED && probed.fault.why && probed.fault.pos <= size));
    for (size_t i = 0; probed.status == TAMIS_OK && i < count; i++) {
        const unsigned char *data = values[i].data;
        probed.there[i] = data != NULL;
        assert_true(data || values[i].size == 0);
        bytes_add(&probed.found[i], data, values[i].size);
        if (data && !(data >= record && data + values[i].size <= record + size))
            probed.decoded_bytes += values[i].size;
    }
    tamis__arena_release(&arena);
    tamis__json_free(json);
    free(record);
}

void probe(const char *pointer, const void *text, size_t size) {
    look_all(&pointer, 1, text, size);
}

void expect_bytes(size_t i, const void *expected, size_t size) {
    assert_true(probed.there[i]);
    assert_int_equal(probed.found[i].size, size);
    if (size)
        assert_memory_equal(probed.found[i].data, expected, size);
}

void expect(const char *pointer, const char *text, const char *expected) {
    probe(pointer, text, strlen(text));
    assert_int_equal(probed.status, TAMIS_OK);
    if (expected)
        expect_bytes(0, expected, strlen(expected));
    else
        assert_false(probed.there[0]);
}
