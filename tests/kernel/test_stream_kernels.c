/* SPDX-License-Identifier: BSD-2-Clause */

/* Every set of stream kernels, compared with a loop over each byte. The bytes are in blocks of exactly their
 * size, so that a sanitizer notices a read past the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/version.h>

#include "stream/kernels/stream_kernels.h"
#include "support/isa.h"
#include "support/scratch.h"

enum { MAX = 1500 };

static void tables_are_those_of_their_sets(tamis__isa isa) {
    assert_string_equal(tamis__stream_kernels_of(isa)->name, tamis__isa_name(isa));
}

static void every_set_has_its_table(void **state) {
    (void)state;
    isa_each(tables_are_those_of_their_sets);
}

/* Bytes that differ from the searched one by one bit or by 1: a wrong bit trick would find them. */
static unsigned char *random_bytes(uint64_t *random, size_t size, unsigned char byte) {
    unsigned char *bytes = malloc(size + 1);
    assert_non_null(bytes);
    const uint64_t one_in = 1 + test_below(random, test_below(random, 2) ? 8 : 300);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(byte ^ 1u << test_below(random, 8));
        if (test_below(random, 2))
            bytes[i] = (unsigned char)(byte + 1 + test_below(random, 255));
        if (test_below(random, one_in) == 0)
            bytes[i] = byte;
    }
    return realloc(bytes, size + !size);
}

static void find_all(const struct tamis__stream_kernels *kernels, uint64_t *random,
                     const unsigned char *bytes, size_t size, unsigned char byte) {
    const unsigned char *pos = bytes, *end = bytes + size;
    while (pos < end) {
        const size_t enough = 1 + test_below(random, test_below(random, 2) ? 20 : MAX);
        uint32_t *offsets = malloc((enough + TAMIS__FIND_SLACK) * sizeof *offsets);
        assert_non_null(offsets);
        const unsigned char *from = pos;
        const size_t count = kernels->find(&pos, end, byte, enough, offsets);
        assert_true(pos > from && pos <= end);
        assert_true(count >= enough || pos == end);
        assert_true(count < enough + TAMIS__BYTE_MASK_SIZE);
        size_t found = 0;
        for (const unsigned char *look = from; look < pos; look++)
            if (*look == byte)
                assert_true(found < count && offsets[found++] == (uint32_t)(look - from));
        assert_int_equal(found, count);
        free(offsets);
    }
}

static void check_find(tamis__isa isa) {
    const struct tamis__stream_kernels *kernels = tamis__stream_kernels_of(isa);
    uint64_t random = test_seed(71);
    for (uint64_t round = 0; round < test_scale(30000, 1000, 3000); round++) {
        const unsigned char byte = (unsigned char)(round % 2 ? '\n' : test_random(&random));
        const size_t size = test_below(&random, MAX),
                     skipped = test_below(&random, size < 64 ? size + 1 : 64);
        unsigned char *bytes = random_bytes(&random, size, byte);
        find_all(kernels, &random, bytes + skipped, size - skipped, byte);
        uint64_t count = 0;
        for (size_t i = skipped; i < size; i++)
            count += bytes[i] == byte;
        assert_int_equal(kernels->count(bytes + skipped, bytes + size, byte), count);
        free(bytes);
    }
}

static void bytes_are_found_and_counted(void **state) {
    (void)state;
    isa_each(check_find);
}

static uint64_t make_masks(const unsigned char *bytes, unsigned char byte) {
    uint64_t masks = 0;
    for (int i = 0; i < TAMIS__BYTE_MASK_SIZE; i++)
        masks |= (uint64_t)(bytes[i] == byte) << i;
    return masks;
}

static void check_offsets(const struct tamis__stream_kernels *kernels, uint64_t *random, size_t blocks) {
    uint64_t *masks = malloc((blocks + !blocks) * sizeof *masks);
    uint32_t *offsets = malloc((blocks * TAMIS__BYTE_MASK_SIZE + TAMIS__FIND_SLACK) * sizeof *offsets);
    assert_true(masks && offsets);
    const uint64_t kind = test_below(random, 4);
    for (size_t i = 0; i < blocks; i++) {
        const uint64_t bits = test_random(random), other = test_random(random);
        masks[i] = kind == 0   ? bits
                   : kind == 1 ? bits & other & other >> 7
                   : kind == 2 ? UINT64_MAX
                               : bits >> 63;
    }
    const size_t count = kernels->offsets(masks, blocks, offsets);
    size_t found = 0;
    for (size_t i = 0; i < blocks * TAMIS__BYTE_MASK_SIZE; i++)
        if (masks[i / TAMIS__BYTE_MASK_SIZE] >> i % TAMIS__BYTE_MASK_SIZE & 1)
            assert_true(found < count && offsets[found++] == i);
    assert_int_equal(found, count);
    free(masks);
    free(offsets);
}

static void check_csv(tamis__isa isa) {
    const struct tamis__stream_kernels *kernels = tamis__stream_kernels_of(isa);
    uint64_t random = test_seed(72);
    for (uint64_t round = 0; round < test_scale(5000, 500, 1000); round++) {
        enum { BLOCKS = 40 };
        const size_t blocks = test_below(&random, BLOCKS), size = blocks * TAMIS__BYTE_MASK_SIZE;
        const unsigned char end = (unsigned char)(round % 2 ? '\n' : test_random(&random));
        const unsigned char delimiter = (unsigned char)(round % 3 ? ',' : test_random(&random));
        unsigned char *bytes = malloc(size + 1);
        assert_non_null(bytes);
        for (size_t i = 0; i < size; i++) {
            const unsigned char choices[] = {end, delimiter, '"', (unsigned char)test_random(&random)};
            bytes[i] = choices[test_below(&random, 4)];
        }
        bytes = realloc(bytes, size + !size);
        tamis__csv_masks masks[BLOCKS];
        kernels->mask_csv(bytes, blocks, end, delimiter, masks);
        check_offsets(kernels, &random, blocks);
        for (size_t i = 0; i < blocks; i++) {
            assert_true(masks[i].ends == make_masks(bytes + i * TAMIS__BYTE_MASK_SIZE, end));
            assert_true(masks[i].quotes == make_masks(bytes + i * TAMIS__BYTE_MASK_SIZE, '"'));
            assert_true(masks[i].delimiters == make_masks(bytes + i * TAMIS__BYTE_MASK_SIZE, delimiter));
        }
        free(bytes);
    }
}

static void masks_of_csv_are_found(void **state) {
    (void)state;
    isa_each(check_csv);
}

/* ---- the set of a process ---- */

/* Writes the offsets of the newlines of some bytes. Fails if another set than the forced one is in use. */
static size_t find_by_process(uint8_t *to, size_t capacity) {
    const struct tamis__stream_kernels *kernels = tamis__stream_kernels();
    uint64_t random = test_seed(73);
    unsigned char *bytes = random_bytes(&random, MAX, '\n');
    const unsigned char *pos = bytes;
    uint32_t offsets[MAX + TAMIS__FIND_SLACK];
    const size_t size = kernels->find(&pos, bytes + MAX, '\n', MAX, offsets) * sizeof *offsets;
    free(bytes);
    if (strcmp(kernels->name, tamis_kernel_name()) != 0 || size > capacity)
        return 0;
    memcpy(to, offsets, size);
    return size;
}

static void a_process_uses_the_forced_set(void **state) {
    (void)state;
    isa_each_forced(find_by_process, MAX * sizeof(uint32_t));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_has_its_table),
        cmocka_unit_test(bytes_are_found_and_counted),
        cmocka_unit_test(masks_of_csv_are_found),
        cmocka_unit_test(a_process_uses_the_forced_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
