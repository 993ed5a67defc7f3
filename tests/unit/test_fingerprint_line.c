/* SPDX-License-Identifier: BSD-2-Clause */

/* One line of a fingerprint table, compared with a plain array, for every shape that plans use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "filter/table/fingerprint_line.h"
#include "plan/plan_int.h"
#include "support/scratch.h"

/* Finds every shape of both tables of plan.c, by the rate that each keeps. */
static int all_shapes(const tamis__line_shape **shapes) {
    int count = 0;
    for (int grows = 0; grows < 2; grows++)
        for (double p = 0.5; p > 1e-45; p /= 1.1) {
            const tamis__line_shape *shape = tamis__line_shape_for(p, grows);
            if (count == 0 || shapes[count - 1] != shape)
                shapes[count++] = shape;
        }
    return count;
}

/* ---- fields ---- */

/* Writes one field at a time into a line of zeros and into one of ones, and checks which bits change: no
 * bit belongs to two fields, and no field is outside the line. */
typedef struct owners {
    uint8_t owner[8 * LINE_BYTES]; /* 1 + field; 0: no field */
} owners;

static void claim(owners *o, const uint8_t *before, const uint8_t *after, uint8_t field) {
    for (int i = 0; i < 8 * LINE_BYTES; i++) {
        if (!((before[i / 8] ^ after[i / 8]) >> i % 8 & 1))
            continue;
        if (o->owner[i] && o->owner[i] != field)
            fail_msg("bit %d is of field %d and of field %d", i, o->owner[i] - 1, field - 1);
        o->owner[i] = field;
    }
}

static void claim_slot(const line_geometry *g, owners *o, uint32_t slot, int fill) {
    uint8_t line[LINE_BYTES], before[LINE_BYTES];
    tamis__u128 ones = g->slot_bits == 128 ? ~(tamis__u128)0 : ((tamis__u128)1 << g->slot_bits) - 1;
    memset(line, fill, sizeof line);
    memcpy(before, line, sizeof line);
    line_put_slot(g, line, slot, fill ? 0 : ones);
    claim(o, before, line, (uint8_t)(1 + slot));
}

static void claim_ends(const line_geometry *g, owners *o) {
    uint8_t line[LINE_BYTES] = {0}, before[LINE_BYTES] = {0};
    uint32_t bits = g->slots + g->spill_bucket + 1u;
    line_set_ends(g, line, ((UINT64_C(1) << bits) - 1) ^ g->ends_empty); /* every bit in memory */
    claim(o, before, line, 200);
}

static void fields_do_not_overlap(void **state) {
    (void)state;
    const tamis__line_shape *shapes[40];
    int count = all_shapes(shapes);
    assert_true(count >= 13);
    for (int i = 0; i < count; i++) {
        line_geometry g = line_geometry_of(shapes[i]->slot_bits, shapes[i]->home_bits);
        owners o = {{0}};
        int owned[256] = {0};
        claim_ends(&g, &o);
        for (uint32_t slot = 0; slot < g.slots; slot++) {
            claim_slot(&g, &o, slot, 0);
            claim_slot(&g, &o, slot, 0xff);
        }
        for (int bit = 0; bit < 8 * LINE_BYTES; bit++)
            owned[o.owner[bit]]++;
        for (uint32_t slot = 0; slot < g.slots; slot++)
            assert_int_equal(owned[1 + slot], g.slot_bits);
        assert_int_equal(owned[200], g.slots + g.spill_bucket + 1);
        assert_int_equal(g.spill_bucket, 1 << shapes[i]->home_bits);
    }
}

static void zeroed_memory_is_an_empty_line(void **state) {
    (void)state;
    const tamis__line_shape *shapes[40];
    static const uint8_t line[LINE_BYTES];
    int count = all_shapes(shapes);
    for (int i = 0; i < count; i++) {
        line_geometry g = line_geometry_of(shapes[i]->slot_bits, shapes[i]->home_bits);
        uint64_t ends = line_ends(&g, line);
        assert_int_equal(ends_count(&g, ends), 0);
        assert_false(ends_full(&g, ends));
        for (uint32_t bucket = 0; bucket <= g.spill_bucket; bucket++) {
            slot_range range = ends_bucket(ends, bucket);
            assert_int_equal(range.first, 0);
            assert_int_equal(range.last, 0);
            assert_false(line_find(&g, line, range, 1));
        }
    }
}

/* ---- the model ---- */

typedef struct model {
    struct {
        uint32_t bucket;
        tamis__u128 value;
    } entry[64];
    uint32_t count;
} model;

/* Makes an entry of `length` random bits, followed by its end mark. */
static tamis__u128 random_value(const line_geometry *g, uint32_t length, uint64_t *random) {
    tamis__u128 bits = (tamis__u128)test_random(random) << 64 | test_random(random);
    uint32_t below = g->slot_bits - 1u - length;
    bits = length ? bits >> (128 - length) : 0;
    return (bits << 1 | 1) << below;
}

/* True if an entry covers a wanted value. Compares the bits above the entry's end mark. */
static bool covers(const line_geometry *g, tamis__u128 entry, tamis__u128 expected) {
    uint32_t mark = 0;
    while (!(entry >> mark & 1))
        mark++;
    return mark + 1 >= g->slot_bits || entry >> (mark + 1) == expected >> (mark + 1);
}

static bool model_find(const model *m, const line_geometry *g, uint32_t bucket, tamis__u128 expected) {
    for (uint32_t i = 0; i < m->count; i++)
        if (m->entry[i].bucket == bucket && covers(g, m->entry[i].value, expected))
            return true;
    return false;
}

static void model_insert(model *m, uint32_t bucket, tamis__u128 value) {
    uint32_t index = m->count++;
    for (; index > 0; index--) {
        if (m->entry[index - 1].bucket < bucket ||
            (m->entry[index - 1].bucket == bucket && m->entry[index - 1].value <= value))
            break;
        m->entry[index] = m->entry[index - 1];
    }
    m->entry[index].bucket = bucket;
    m->entry[index].value = value;
}

static void model_remove(model *m, uint32_t index) {
    m->count--;
    memmove(&m->entry[index], &m->entry[index + 1], (m->count - index) * sizeof m->entry[0]);
}

static void compare(const model *m, const line_geometry *g, const uint8_t *line) {
    uint64_t ends = line_ends(g, line);
    assert_int_equal(ends_count(g, ends), m->count);
    assert_int_equal(ends_full(g, ends), m->count == g->slots);
    uint32_t index = 0;
    for (uint32_t bucket = 0; bucket <= g->spill_bucket; bucket++) {
        slot_range range = ends_bucket(ends, bucket);
        assert_int_equal(range.first, index);
        while (index < m->count && m->entry[index].bucket == bucket) {
            assert_true(line_slot(g, line, index) == m->entry[index].value);
            index++;
        }
        assert_int_equal(range.last, index);
    }
}

static void query(const model *m, const line_geometry *g, const uint8_t *line, uint64_t *random) {
    uint64_t ends = line_ends(g, line);
    uint32_t bucket = (uint32_t)test_below(random, g->spill_bucket + 1u);
    tamis__u128 expected = random_value(g, g->slot_bits - 1u, random);
    if (m->count && test_below(random, 4)) { /* an entry with one bit changed */
        uint32_t i = (uint32_t)test_below(random, m->count);
        bucket = m->entry[i].bucket;
        expected = m->entry[i].value ^ (tamis__u128)1 << test_below(random, g->slot_bits);
        expected |= 1;
    }
    assert_int_equal(line_find(g, line, ends_bucket(ends, bucket), expected),
                     model_find(m, g, bucket, expected));
}

static void a_line_is_like_an_array(void **state) {
    (void)state;
    const tamis__line_shape *shapes[40];
    int count = all_shapes(shapes);
    uint64_t random = test_seed(15);
    for (int i = 0; i < count; i++) {
        line_geometry g = line_geometry_of(shapes[i]->slot_bits, shapes[i]->home_bits);
        uint8_t box[3 * LINE_BYTES], *line = box + LINE_BYTES; /* the neighbours must not change */
        model m = {.count = 0};
        memset(box, 0xa5, sizeof box);
        memset(line, 0, LINE_BYTES);
        uint32_t skew = 1 + (uint32_t)test_below(&random, g.spill_bucket + 1u);
        for (uint64_t step = 0; step < test_scale(40000, 4000, 4000); step++) {
            bool grow = step / 200 % 2 ? test_below(&random, 4) == 0 : test_below(&random, 4) != 0;
            if (grow && m.count < g.slots) {
                uint32_t bucket = (uint32_t)test_below(&random, skew);
                uint32_t length =
                    test_below(&random, 3) ? g.slot_bits - 1u : (uint32_t)test_below(&random, g.slot_bits);
                tamis__u128 value = random_value(&g, length, &random);
                line_insert(&g, line, bucket, value);
                model_insert(&m, bucket, value);
                assert_true(line_find(&g, line, ends_bucket(line_ends(&g, line), bucket), value | 1));
            } else if (!grow && m.count) {
                uint32_t slot = (uint32_t)test_below(&random, m.count);
                line_remove(&g, line, m.entry[slot].bucket, slot);
                model_remove(&m, slot);
            }
            compare(&m, &g, line);
            query(&m, &g, line, &random);
            if (step % 1000 == 0)
                skew = 1 + (uint32_t)test_below(&random, g.spill_bucket + 1u);
        }
        for (int j = 0; j < LINE_BYTES; j++)
            assert_true(box[j] == 0xa5 && box[2 * LINE_BYTES + j] == 0xa5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_do_not_overlap),
        cmocka_unit_test(zeroed_memory_is_an_empty_line),
        cmocka_unit_test(a_line_is_like_an_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
