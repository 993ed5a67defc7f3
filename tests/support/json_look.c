/* SPDX-License-Identifier: BSD-2-Clause */
#include "support/json_look.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

json_look looked;

void look_forget(void) {
    for (int i = 0; i < JSON_LOOK_MOST; i++) {
        bytes_clear(&looked.found[i]);
        looked.there[i] = false;
    }
    looked.taken = 0;
}

void look_all(const char *const *pointers, size_t count, const void *text, size_t size) {
    tamis__json *json = NULL;
    tamis__arena arena = {.memory = tamis__allocator_resolve(NULL)};
    tamis_key values[JSON_LOOK_MOST];
    size_t which;
    unsigned char *record = malloc(size ? size : 1);
    assert_non_null(record);
    if (size)
        memcpy(record, text, size);
    look_forget();
    looked.fault = (tamis__fault){0};
    assert_int_equal(tamis__json_create(&json, pointers, count, NULL, &which, &looked.fault), TAMIS_OK);
    looked.status =
        tamis__json_find(json, (tamis_key){size ? record : NULL, size}, values, &arena, &looked.fault);
    assert_true(looked.status == TAMIS_OK ||
                (looked.status == TAMIS_E_DAMAGED && looked.fault.why && looked.fault.at <= size));
    for (size_t i = 0; looked.status == TAMIS_OK && i < count; i++) {
        const unsigned char *data = values[i].data;
        looked.there[i] = data != NULL;
        assert_true(data || values[i].size == 0);
        bytes_add(&looked.found[i], data, values[i].size);
        if (data && !(data >= record && data + values[i].size <= record + size))
            looked.taken += values[i].size;
    }
    tamis__arena_release(&arena);
    tamis__json_free(json);
    free(record);
}

void look(const char *pointer, const void *text, size_t size) {
    look_all(&pointer, 1, text, size);
}

void expect_bytes(size_t i, const void *want, size_t size) {
    assert_true(looked.there[i]);
    assert_int_equal(looked.found[i].size, size);
    if (size)
        assert_memory_equal(looked.found[i].data, want, size);
}

void expect(const char *pointer, const char *text, const char *want) {
    look(pointer, text, strlen(text));
    assert_int_equal(looked.status, TAMIS_OK);
    if (want)
        expect_bytes(0, want, strlen(want));
    else
        assert_false(looked.there[0]);
}
