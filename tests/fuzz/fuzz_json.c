/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A pointer, the first line of the input, into one record, the rest of it. Beside an oracle that builds the whole tree
 * (support/json_oracle.c) the outcome and the values are the same, of the record and of its beginnings, with several
 * pointers asked for at once, and by every set of kernels; faults are those of the scanner. What is no pointer is refused.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/kernels/json_kernels.h"
#include "support/fault.h"
#include "support/isa.h"
#include "support/json_oracle.h"
#include "support/scratch.h"

enum { MEMORY = 64 << 20, POINTER = 200, ASKED = 4 };

static void check(bool holds) {
    if (!holds)
        abort();
}

/* The pointer itself, what it leads through, the whole, and itself again. */
static void pointers_of(const char *pointer, char parent[POINTER], const char *asked[ASKED]) {
    const char *slash = strrchr(pointer, '/');
    snprintf(parent, POINTER, "%.*s", slash ? (int)(slash - pointer) : 0, pointer);
    asked[0] = pointer;
    asked[1] = parent;
    asked[2] = "";
    asked[3] = pointer;
}

static void check_values(json_tree *tree, const char *const asked[ASKED], const tamis_key values[ASKED]) {
    for (size_t i = 0; i < ASKED; i++) {
        test_bytes expected = {0};
        check(json_tree_find(tree, asked[i], &expected) == (values[i].data != NULL));
        check(values[i].size == expected.size &&
              (!expected.size || memcmp(values[i].data, expected.data, expected.size) == 0));
        bytes_clear(&expected);
    }
}

static void check_record(tamis__json *json, const char *const asked[ASKED], const uint8_t *record,
                         size_t size, tamis__arena *arena) {
    uint8_t *own = malloc(size ? size : 1); /* of just its size */
    check(own);
    if (size)
        memcpy(own, record, size);
    json_tree *tree = json_tree_read(own, size);
    tamis__fault first = {0};
    for (int isa = TAMIS__ISA_SCALAR; isa < TAMIS__ISA_COUNT; isa++) {
        tamis_key values[ASKED];
        tamis__fault fault = {0};
        if (!isa_is_here((tamis__isa)isa))
            continue;
        json->kernels = tamis__json_kernels_of((tamis__isa)isa);
        const tamis_status status = tamis__json_find(json, (tamis_key){own, size}, values, arena, &fault);
        check(status == (tree ? TAMIS_OK : TAMIS_E_DAMAGED));
        check(tree || (fault.why && *fault.why && fault.pos <= size));
        if (isa == TAMIS__ISA_SCALAR)
            first = fault;
        check(tree || (fault.why == first.why && fault.pos == first.pos));
        if (tree)
            check_values(tree, asked, values);
        tamis__arena_reset(arena);
    }
    json_tree_free(tree);
    free(own);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *line = size ? memchr(data, '\n', size < POINTER ? size : POINTER) : NULL;
    fault_memory memory = {.limit = MEMORY};
    const tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis__arena arena = {.memory = allocator};
    char pointer[POINTER + 1] = "", parent[POINTER];
    const char *asked[ASKED];
    tamis__json *json = NULL;
    tamis__fault wrong = {0};
    size_t which = ASKED;
    if (line && !memchr(data, 0, (size_t)(line - data))) {
        memcpy(pointer, data, (size_t)(line - data));
        size -= (size_t)(line + 1 - data);
        data = line + 1;
    }
    pointers_of(pointer, parent, asked);
    const tamis_status status = tamis__json_create(&json, asked, ASKED, &allocator, &which, &wrong);
    if (*pointer && *pointer != '/')
        check(status == TAMIS_E_INVALID);
    if (status == TAMIS_E_INVALID) {
        check(!json && which < ASKED && wrong.why && wrong.pos < strlen(asked[which]));
    } else {
        check(status == TAMIS_OK);
        check_record(json, asked, data, size, &arena);
        /* Cut short: everywhere where the record is short. */
        for (size_t cut = 0; cut < size; cut += 1 + size / 64)
            check_record(json, asked, data, cut, &arena);
        check_record(json, asked, data, size, &arena);
    }
    tamis__arena_release(&arena);
    tamis__json_free(json);
    check(memory.live_blocks == 0);
    return 0;
}
