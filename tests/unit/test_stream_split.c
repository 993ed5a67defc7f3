/* SPDX-License-Identifier: BSD-2-Clause */

/* Splitting into records, compared with a byte-by-byte splitter: lengths near the 64 bytes of a block, any
 * bytes, any capacity. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stream/split/split.h"
#include "support/isa.h"
#include "support/scratch.h"

enum { MAX = 700 };

static uint64_t state_of_chance;

static uint32_t chance(uint32_t below) {
    state_of_chance = state_of_chance * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)((state_of_chance >> 33) % below);
}

/* Does what tamis__split is specified to do, byte by byte. */
static size_t cut_slowly(tamis__split_span *s, tamis_key *keys, size_t capacity) {
    size_t count = 0;
    const unsigned char *start = s->start;
    for (const unsigned char *pos = start; pos < s->end && count < capacity; pos++) {
        if (*pos != s->terminator)
            continue;
        if ((uint64_t)(pos - start) > s->max_record)
            break;
        keys[count++] = (tamis_key){start, (size_t)(pos - start)};
        start = pos + 1;
    }
    s->start = start;
    return count;
}

/* Uses bytes that differ from the terminator in one bit, or by one: a faulty bit trick would confuse them. */
static void fill_bytes(unsigned char *bytes, size_t size, unsigned char terminator, uint32_t one_in) {
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(chance(2) ? terminator ^ 1u << chance(8) : chance(256));
        if (bytes[i] == terminator)
            bytes[i]++;
        if (chance(one_in) == 0)
            bytes[i] = terminator;
    }
}

static void records_equal_a_byte_wise_split(void **state) {
    (void)state;
    static tamis_key fast[MAX], slow[MAX];
    state_of_chance = test_seed(11);
    for (uint64_t round = 0; round < test_scale(200000, 2000, 10000); round++) {
        /* A block of its own, so that a sanitizer sees a read past its end. */
        const size_t size = chance(MAX);
        const unsigned char terminator = chance(2) ? '\n' : (unsigned char)chance(256);
        unsigned char *bytes = malloc(size + 1);
        assert_non_null(bytes);
        fill_bytes(bytes, size, terminator, 1 + chance(chance(2) ? 8 : 300));
        tamis__split_span span = {bytes, bytes, bytes + size, chance(4) ? MAX : chance(80), terminator},
                          other = span;
        const size_t capacity = chance(3) ? MAX : 1 + chance(20);
        for (bool more = true; more;) {
            size_t count = tamis__split(&span, fast, capacity);
            assert_int_equal(count, cut_slowly(&other, slow, capacity));
            assert_ptr_equal(span.start, other.start);
            assert_true(span.scan >= span.start && span.scan <= span.end);
            assert_null(memchr(span.start, terminator, (size_t)(span.scan - span.start)));
            for (size_t i = 0; i < count; i++) {
                assert_ptr_equal(fast[i].data, slow[i].data);
                assert_int_equal(fast[i].size, slow[i].size);
            }
            if (count == 0 && span.scan < span.end) /* too long */
                assert_true((size_t)(span.end - span.start) > span.max_record);
            more = count == capacity;
        }
        free(bytes);
    }
}

/* Writes the sizes of records split as lines and as CSV, and the final positions. */
static size_t cut_both_ways(uint8_t *to, size_t limit) {
    static unsigned char bytes[4000];
    static tamis_key keys[4000];
    size_t size = 0;
    state_of_chance = 12;
    for (int round = 0; round < 300; round++) {
        const size_t length = chance(sizeof bytes);
        fill_bytes(bytes, length, '\n', 1 + chance(40));
        for (size_t i = 0; i < length; i++)
            if (chance(9) == 0)
                bytes[i] = chance(2) ? '"' : ',';
        for (int csv = 0; csv < 2; csv++) {
            tamis__split_span s = {bytes, bytes, bytes + length, chance(4) ? MAX : chance(80), '\n'};
            uint8_t csv_state = 0;
            const size_t capacity = chance(3) ? 4000 : 1 + chance(200);
            const size_t count = csv ? tamis__split_csv(&s, ',', &csv_state, keys, capacity)
                                     : tamis__split(&s, keys, capacity);
            for (size_t i = 0; i < count && size + 16 < limit; i++) {
                to[size++] = (uint8_t)keys[i].size;
                to[size++] = (uint8_t)((const unsigned char *)keys[i].data - bytes);
            }
            to[size++] = (uint8_t)(s.start - bytes);
            to[size++] = (uint8_t)(s.scan - bytes);
            to[size++] = csv_state;
        }
    }
    return size + 16 < limit ? size : 0;
}

static void every_set_cuts_the_same(void **state) {
    (void)state;
    isa_each_forced(cut_both_ways, (size_t)1 << 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_cuts_the_same), /* first: it chooses kernels */
        cmocka_unit_test(records_equal_a_byte_wise_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
