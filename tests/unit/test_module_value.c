/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Keys of the Redis module's own types in DUMPs and RDB files, made here from .tamis files. The copies are only
 * read. tests/interop/redis/module_types.py reads those of a server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/module_value.h>
#include <tamis/experimental/window.h>

#include "base/bytes.h"
#include "filter/parts.h"
#include "format/module_value.h"
#include "format/rdb.h"
#include "support/formats.h"
#include "support/rdb_bytes.h"

/* ---- filters ---- */

enum { GROWING = -1 }; /* kind fingerprint, without a capacity */
static const int kinds[] = {TAMIS_KIND_CLASSIC, TAMIS_KIND_BLOCKED, TAMIS_KIND_FINGERPRINT,
                            TAMIS_KIND_EXACT,   TAMIS_KIND_WINDOW,  GROWING};
enum { KINDS = sizeof kinds / sizeof *kinds };

static tamis_plan_options options_of(int kind) {
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    options.kind = kind == GROWING ? TAMIS_KIND_FINGERPRINT : (tamis_kind)kind;
    options.expect = kind == GROWING ? 0 : 100;
    if (kind == TAMIS_KIND_WINDOW) {
        options.window = 3600000;
        options.step = 300000;
    }
    if (kind != TAMIS_KIND_EXACT)
        options.fpr = 0.01;
    return options;
}

static tamis_filter *create_filter(const tamis_plan_options *options, const char *secret) {
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options filter_options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    filter_options.secret = secret;
    filter_options.secret_size = secret ? strlen(secret) : 0;
    assert_int_equal(tamis_plan_make(&plan, options, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_create(&filter, &plan, &filter_options, NULL), TAMIS_OK);
    return filter;
}

static tamis_status add_key(tamis_filter *filter, const char *text, tamis_error *err) {
    const tamis_key key = {text, strlen(text)};
    const int64_t time = 1000000;
    tamis_hash hash;
    if (tamis_filter_plan(filter)->kind != TAMIS_KIND_WINDOW)
        return tamis_filter_add(filter, key.data, key.size, NULL, err);
    assert_int_equal(tamis_hash_many(tamis_filter_hasher(filter), &key, 1, &hash, NULL), TAMIS_OK);
    return tamis_window_add(filter, &(tamis_timed_hashes){&hash, &time, 1}, NULL, NULL, err);
}

static tamis_filter *filter_with_a(int kind) {
    const tamis_plan_options options = options_of(kind);
    tamis_filter *filter = create_filter(&options, NULL);
    assert_int_equal(add_key(filter, "a", NULL), TAMIS_OK);
    return filter;
}

static void assert_has(const tamis_filter *filter, const char *text, tamis_answer expected) {
    tamis_answer answer = TAMIS_UNKNOWN;
    assert_int_equal(tamis_filter_contains(filter, text, strlen(text), &answer, NULL), TAMIS_OK);
    assert_int_equal(answer, expected);
}

/* ---- bytes ---- */

static void add_number(test_bytes *to, uint64_t number) {
    uint8_t bytes[TAMIS__RDB_NUMBER_MAX];
    bytes_add(to, bytes, tamis__rdb_number_write(bytes, number));
}

static void add_type(test_bytes *to, const char *name, unsigned version) {
    const uint64_t number = tamis__value_type_number(tamis__value_type_named(name, strlen(name)));
    add_number(to, number | version);
}

static const char *type_name(int kind) {
    return kind == TAMIS_KIND_WINDOW ? "TAMISwin1" : "TAMISflt1";
}

/* A string of LZF without a reference: runs of up to 32 bytes. */
static void add_compressed(test_bytes *to, const uint8_t *bytes, size_t size) {
    test_bytes stored = {NULL, 0, 0};
    for (size_t from = 0; from < size; from += 32) {
        const size_t run = size - from < 32 ? size - from : 32;
        const uint8_t first = (uint8_t)(run - 1);
        bytes_add(&stored, &first, 1);
        bytes_add(&stored, bytes + from, run);
    }
    add_hex(to, "c3");
    add_number(to, stored.size);
    add_number(to, size);
    bytes_add(to, stored.data, stored.size);
    bytes_clear(&stored);
}

/* The value of a whole filter, without the type 7. */
static void add_value(test_bytes *to, const char *type, const test_bytes *image, bool compressed) {
    add_type(to, type, TAMIS_MODULE_RDB_VERSION);
    add_hex(to, "02 00 05");
    if (compressed) {
        add_compressed(to, image->data, image->size);
    } else {
        add_number(to, image->size);
        bytes_add(to, image->data, image->size);
    }
    add_hex(to, "00");
}

static void add_footer(test_bytes *to) {
    add_hex(to, "0800");
    add_crc(to);
}

static test_bytes dump_of(const char *type, const test_bytes *image) {
    test_bytes dump = {NULL, 0, 0};
    add_hex(&dump, "07");
    add_value(&dump, type, image, false);
    add_footer(&dump);
    return dump;
}

static test_bytes image_of(const tamis_filter *filter) {
    test_bytes image = {NULL, 0, 0};
    encode_filter(filter, TAMIS_FORMAT_TAMIS, &image);
    return image;
}

static tamis_status decode(tamis_filter **filter, const test_bytes *dump, tamis_error *err) {
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    options.format = TAMIS_FORMAT_REDISBLOOM;
    return tamis_filter_decode(filter, dump->data, dump->size, &options, err);
}

/* ---- copies ---- */

/* All kinds, from a DUMP, from an RDB file and from compressed bytes: the copy has the same image. */
static void keys_of_all_kinds_are_read(void **state) {
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        tamis_filter *filter = filter_with_a(kinds[i]);
        test_bytes image = image_of(filter), dump = dump_of(type_name(kinds[i]), &image);
        tamis_filter *copy = NULL;
        tamis_error err = TAMIS_ERROR_INIT;
        for (int way = 0; way < 3; way++) {
            test_bytes file = {NULL, 0, 0};
            add_text(&file, "REDIS0011");
            add_hex(&file, "07 016b");
            add_value(&file, type_name(kinds[i]), &image, way == 2);
            add_hex(&file, "ff");
            add_crc(&file);
            if ((way == 0 ? decode(&copy, &dump, &err) : decode_key(&copy, &file, "k", &err)) != TAMIS_OK)
                fail_msg("kind %d, way %d: %s", kinds[i], way, err.text);
            tamis_metadata metadata = TAMIS_METADATA_INIT;
            assert_int_equal(tamis_filter_metadata_get(copy, &metadata, NULL), TAMIS_OK);
            assert_int_equal(metadata.format, TAMIS_FORMAT_TAMIS);
            assert_has(copy, "a", TAMIS_PRESENT);
            assert_has(copy, "b", TAMIS_ABSENT);
            assert_encodes_to(copy, TAMIS_FORMAT_TAMIS, image.data, image.size);
            tamis_filter_free(copy);
            bytes_clear(&file);
        }
        tamis_filter_free(filter);
        bytes_clear(&image);
        bytes_clear(&dump);
    }
}

/* A change of a copy would not get into the server: all are refused, concurrent ones too. */
static void copies_are_only_read(void **state) {
    (void)state;
    static const char says[] = "copy of a key of the Redis module";
    for (int i = 0; i < 2 * KINDS; i++) {
        const int kind = kinds[i / 2];
        tamis_filter *filter = filter_with_a(kind), *copy = NULL, *changed = NULL;
        test_bytes image = image_of(filter), dump = dump_of(type_name(kind), &image);
        tamis_error err = TAMIS_ERROR_INIT;
        tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
        options.concurrent = i % 2;
        assert_int_equal(tamis_filter_decode(&copy, dump.data, dump.size, &options, NULL), TAMIS_OK);
        assert_int_equal(add_key(copy, "b", &err), TAMIS_E_UNSUPPORTED);
        assert_non_null(strstr(err.text, says));
        assert_int_equal(tamis_filter_clear(copy, &err), TAMIS_E_UNSUPPORTED);
        assert_non_null(strstr(err.text, says));
        if (kind == TAMIS_KIND_EXACT)
            assert_int_equal(tamis_filter_remove(copy, "a", 1, NULL, NULL), TAMIS_E_UNSUPPORTED);
        assert_false(tamis_filter_can(copy, TAMIS_CAN_ADD));
        assert_int_equal(tamis__filter_parts(copy, 1, 8), 1);
        assert_int_equal(tamis_filter_verify(copy, NULL), TAMIS_OK);
        assert_encode_unsupported(copy, TAMIS_FORMAT_REDISBLOOM, "use format tamis");
        assert_int_equal(tamis_filter_copy(&changed, copy, NULL), TAMIS_OK);
        assert_true(tamis_filter_can(changed, TAMIS_CAN_ADD));
        assert_int_equal(add_key(changed, "c", NULL), TAMIS_OK);
        if (kind != TAMIS_KIND_WINDOW) {
            assert_int_equal(tamis_filter_union(copy, changed, NULL), TAMIS_E_UNSUPPORTED);
            assert_int_equal(tamis_filter_union(changed, copy, NULL), TAMIS_OK);
        }
        assert_has(changed, "c", TAMIS_PRESENT);
        assert_encodes_to(copy, TAMIS_FORMAT_TAMIS, image.data, image.size);
        tamis_filter_free(filter);
        tamis_filter_free(copy);
        tamis_filter_free(changed);
        bytes_clear(&image);
        bytes_clear(&dump);
    }
}

/* ---- damage ---- */

static void set_crc(test_bytes *dump) {
    tamis__crc64 crc;
    tamis__crc64_init(&crc);
    tamis__crc64_update(&crc, dump->data, dump->size - 8);
    tamis__store64le(dump->data + dump->size - 8, crc.value);
}

/* With a right checksum, a changed value is refused or is the same filter. */
static void assert_refused_or_equal(const test_bytes *dump, const test_bytes *image, size_t changed) {
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    if (decode(&filter, dump, &err) != TAMIS_OK) {
        if (filter || !*err.text)
            fail_msg("byte %zu", changed);
        return;
    }
    test_bytes got = image_of(filter);
    if (!bytes_equal(&got, image))
        fail_msg("byte %zu: another filter", changed);
    bytes_clear(&got);
    tamis_filter_free(filter);
}

/* Each byte of a value is changed, and the value is cut behind each byte. At small scales only some of those
 * in the body are. */
static void damaged_values_are_refused(void **state) {
    (void)state;
    const size_t step = (size_t)test_scale(13, 101, 251);
    for (int i = 0; i < KINDS; i++) {
        if (kinds[i] == GROWING) /* a megabyte */
            continue;
        tamis_filter *filter = filter_with_a(kinds[i]), *got = NULL;
        test_bytes image = image_of(filter), dump = dump_of(type_name(kinds[i]), &image);
        const size_t whole = dump.size;
        for (size_t byte = 0; byte < whole; byte += byte < 400 || whole - byte < 40 ? 1 : step) {
            for (unsigned bits = 1; bits < 256; bits = bits == 1 ? 0x80 : bits == 0x80 ? 0xff : 256) {
                dump.data[byte] ^= (uint8_t)bits;
                assert_int_not_equal(decode(&got, &dump, NULL), TAMIS_OK);
                set_crc(&dump);
                assert_refused_or_equal(&dump, &image, byte);
                dump.data[byte] ^= (uint8_t)bits;
                set_crc(&dump);
            }
            if (byte < 19)
                continue;
            test_bytes cut = {NULL, 0, 0};
            bytes_add(&cut, dump.data, byte);
            memset(cut.data + byte - 10, 0, 10);
            set_crc(&cut);
            if (decode(&got, &cut, NULL) == TAMIS_OK)
                fail_msg("%zu bytes", byte);
            bytes_clear(&cut);
        }
        tamis_filter_free(filter);
        bytes_clear(&image);
        bytes_clear(&dump);
    }
}

/* A value of these fields fails with that message. */
static void assert_fields_fail(const char *type, unsigned version, const char *hex, tamis_status status,
                               const char *says) {
    test_bytes dump = {NULL, 0, 0};
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    add_hex(&dump, "07");
    add_type(&dump, type, version);
    add_hex(&dump, hex);
    add_footer(&dump);
    assert_int_equal(decode(&filter, &dump, &err), status);
    assert_null(filter);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    bytes_clear(&dump);
}

static void wrong_fields_are_refused(void **state) {
    (void)state;
    static const char *const types[] = {"TAMISflt1", "TAMISwin1"};
    static const char *const loads[] = {"by BF.LOADIMAGE", "by TW.LOADIMAGE"};
    for (int i = 0; i < 2; i++) {
        const char *type = types[i];
        assert_fields_fail(type, 1, "02 01 02 4100 05 02 6162 00", TAMIS_E_UNSUPPORTED, "2 of the 256 bytes");
        assert_fields_fail(type, 1, "02 01 02 4100 05 02 6162 00", TAMIS_E_UNSUPPORTED, loads[i]);
        assert_fields_fail(type, 1, "02 01 02 02 05 02 6162 00", TAMIS_E_DAMAGED, "out of range");
        assert_fields_fail(type, 1, "02 01 02 81 8000000000000000 05 02 6162 00", TAMIS_E_DAMAGED,
                           "out of range");
        assert_fields_fail(type, 1, "02 01 05 02 6162 00", TAMIS_E_DAMAGED, "field is missing");
        assert_fields_fail(type, 1, "02 02 05 02 6162 00", TAMIS_E_DAMAGED, "out of range");
        assert_fields_fail(type, 1, "02 00 05 00 00", TAMIS_E_DAMAGED, "field is missing");
        assert_fields_fail(type, 1, "02 00 00", TAMIS_E_DAMAGED, "field is missing");
        assert_fields_fail(type, 1, "05 02 6162 00", TAMIS_E_DAMAGED, "field is missing");
        assert_fields_fail(type, 1, "00", TAMIS_E_DAMAGED, "field is missing");
        assert_fields_fail(type, 1, "02 00 05 02 6162 02 00 00", TAMIS_E_DAMAGED, "no end of its fields");
        assert_fields_fail(type, 1, "02 00 05 02 6162 00", TAMIS_E_FORMAT, "does not begin as a .tamis file");
        assert_fields_fail(type, 1, "02 00 05 c3 05 81 0000010000000000 1f1f1f1f1f 00", TAMIS_E_DAMAGED,
                           "field is missing"); /* 2^40 bytes from 5 */
        assert_fields_fail(type, 2, "02 00 05 02 6162 00", TAMIS_E_UNSUPPORTED, "encoding version 2");
        assert_fields_fail(type, 0, "02 00 05 02 6162 00", TAMIS_E_UNSUPPORTED, "use a newer tamis");
    }
    assert_fields_fail("TAMISload", 1, "02 00 00", TAMIS_E_UNSUPPORTED, "load them by BF.LOADCHUNK");
    assert_fields_fail("TAMISloCF", 1, "02 00 00", TAMIS_E_UNSUPPORTED, "load them by CF.LOADCHUNK");
}

/* The numbers of types are those of the names, by the letters of base64. */
static void types_are_distinguished(void **state) {
    (void)state;
    static const struct {
        const char *name;
        tamis__value_type type;
    } named[] = {
        {"MBbloom--", TAMIS__VALUE_CHAIN},        {"MBbloomCF", TAMIS__VALUE_CUCKOO},
        {"TAMISload", TAMIS__VALUE_CHAIN_CHUNKS}, {"TAMISloCF", TAMIS__VALUE_CUCKOO_CHUNKS},
        {"TAMISflt1", TAMIS__VALUE_FILTER},       {"TAMISwin1", TAMIS__VALUE_WINDOW},
        {"TAMISflt2", TAMIS__VALUE_NEWER},        {"MBbloom-", TAMIS__VALUE_OTHER},
        {"MBbloom--x", TAMIS__VALUE_OTHER},       {"", TAMIS__VALUE_OTHER},
        {"TopK-TYPE", TAMIS__VALUE_OTHER},        {"string", TAMIS__VALUE_OTHER},
    };
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        assert_int_equal(tamis__value_type_named(named[i].name, strlen(named[i].name)), named[i].type);
    for (tamis__value_type type = TAMIS__VALUE_CHAIN; type <= TAMIS__VALUE_WINDOW; type++)
        assert_int_equal(tamis__value_type_of(tamis__value_type_number(type) | 1023), type);
    assert_true(tamis__value_type_number(TAMIS__VALUE_CHAIN) == UINT64_C(0x3016e5a289bef800));
    test_bytes dump = {NULL, 0, 0};
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    add_hex(&dump, "07"); /* the last digit is 6 bits */
    add_number(&dump, tamis__value_type_number(TAMIS__VALUE_FILTER) + 1024);
    add_hex(&dump, "02 00 05 02 6162 00");
    add_footer(&dump);
    assert_int_equal(decode(&filter, &dump, &err), TAMIS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "newer version of the Redis module"));
    bytes_clear(&dump);
    assert_string_equal(tamis_module_type_name(TAMIS_MODULE_FILTER), "TAMISflt1");
    assert_string_equal(tamis_module_type_name(TAMIS_MODULE_WINDOW), "TAMISwin1");
    assert_null(tamis_module_type_name((tamis_module_type)0));
}

/* ---- kinds ---- */

/* The module's function and the readers of bytes refuse the same images. */
static void assert_kind_fails(const tamis_filter *filter, tamis_module_type type, tamis_status status,
                              const char *says) {
    test_bytes image = image_of(filter), dump = dump_of(tamis_module_type_name(type), &image);
    tamis_filter *made = NULL;
    for (int way = 0; way < 2; way++) {
        tamis_error err = TAMIS_ERROR_INIT;
        assert_int_equal(way == 0
                             ? decode(&made, &dump, &err)
                             : tamis_module_value_decode(&made, type, image.data, image.size, NULL, &err),
                         status);
        assert_null(made);
        if (!strstr(err.text, says))
            fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    }
    bytes_clear(&image);
    bytes_clear(&dump);
}

static void kinds_of_other_types_are_refused(void **state) {
    (void)state;
    static const int counting[] = {TAMIS_KIND_COUNTING, TAMIS_KIND_CUCKOO};
    for (int i = 0; i < KINDS; i++) {
        tamis_filter *filter = filter_with_a(kinds[i]);
        const bool is_window = kinds[i] == TAMIS_KIND_WINDOW;
        assert_kind_fails(filter, is_window ? TAMIS_MODULE_FILTER : TAMIS_MODULE_WINDOW, TAMIS_E_UNSUPPORTED,
                          is_window ? "by TW.LOADIMAGE" : "by BF.LOADIMAGE");
        tamis_filter_free(filter);
    }
    for (int i = 0; i < 2; i++) {
        const tamis_plan_options options = options_of(counting[i]);
        tamis_filter *filter = create_filter(&options, NULL);
        assert_kind_fails(filter, TAMIS_MODULE_FILTER, TAMIS_E_UNSUPPORTED, "use CF commands");
        tamis_filter_free(filter);
    }
    const tamis_plan_options options = options_of(TAMIS_KIND_FINGERPRINT);
    tamis_filter *filter = create_filter(&options, "a secret of more than 16 bytes");
    assert_kind_fails(filter, TAMIS_MODULE_FILTER, TAMIS_E_SECRET, "does not have the secret");
    tamis_filter_free(filter);
    tamis_plan_options refreshed = options_of(TAMIS_KIND_WINDOW);
    refreshed.refresh = true;
    filter = create_filter(&refreshed, NULL);
    assert_kind_fails(filter, TAMIS_MODULE_WINDOW, TAMIS_E_UNSUPPORTED, "a window with refresh");
    tamis_filter_free(filter);
}

/* ---- calls ---- */

/* A source that has numbers, and then bytes that are not there. */
static bool number_of(void *context, uint64_t *value) {
    *value = *(const uint64_t *)context;
    return true;
}

static void *no_bytes(void *context, size_t *size) {
    (void)context;
    (void)size;
    return NULL;
}

static void calls_check_their_arguments(void **state) {
    (void)state;
    uint64_t number = 0;
    tamis_module_value value = TAMIS_MODULE_VALUE_INIT, unset = {0};
    tamis_redisbloom_source source = TAMIS_REDISBLOOM_SOURCE_INIT;
    tamis_filter *filter = filter_with_a(TAMIS_KIND_BLOCKED), *made = NULL;
    test_bytes image = image_of(filter), shifted = {NULL, 0, 0};
    source.context = &number;
    source.number = number_of;
    source.bytes = no_bytes;
    assert_int_equal(tamis_module_value_read(NULL, 1, &source, NULL, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_module_value_read(&unset, 1, &source, NULL, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_module_value_read(&value, 1, NULL, NULL, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_module_value_read(&value, 2, &source, NULL, NULL), TAMIS_E_UNSUPPORTED);
    assert_int_equal(tamis_module_value_read(&value, 1, &source, NULL, NULL), TAMIS_E_DAMAGED);
    assert_null(value.image);
    assert_int_equal(
        tamis_module_value_decode(&made, (tamis_module_type)3, image.data, image.size, NULL, NULL),
        TAMIS_E_INVALID);
    assert_int_equal(tamis_module_value_decode(NULL, TAMIS_MODULE_FILTER, image.data, image.size, NULL, NULL),
                     TAMIS_E_INVALID);
    assert_int_equal(tamis_module_value_decode(&made, TAMIS_MODULE_FILTER, NULL, image.size, NULL, NULL),
                     TAMIS_E_INVALID);
    assert_null(made);
    bytes_add(&shifted, "x", 1); /* an image at any address */
    bytes_add(&shifted, image.data, image.size);
    assert_int_equal(
        tamis_module_value_decode(&made, TAMIS_MODULE_FILTER, shifted.data + 1, image.size, NULL, NULL),
        TAMIS_OK);
    assert_true(tamis_filter_can(made, TAMIS_CAN_ADD)); /* the module changes it */
    assert_int_equal(add_key(made, "b", NULL), TAMIS_OK);
    tamis_filter_free(made);
    tamis_filter_free(filter);
    bytes_clear(&image);
    bytes_clear(&shifted);
}

static void failed_allocations_leave_nothing(void **state) {
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        tamis_filter *filter = filter_with_a(kinds[i]);
        test_bytes image = image_of(filter), dump = dump_of(type_name(kinds[i]), &image);
        assert_decode_out_of_memory(dump.data, dump.size);
        tamis_filter_free(filter);
        bytes_clear(&image);
        bytes_clear(&dump);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_all_kinds_are_read),  cmocka_unit_test(copies_are_only_read),
        cmocka_unit_test(damaged_values_are_refused),  cmocka_unit_test(wrong_fields_are_refused),
        cmocka_unit_test(types_are_distinguished),     cmocka_unit_test(kinds_of_other_types_are_refused),
        cmocka_unit_test(calls_check_their_arguments), cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
