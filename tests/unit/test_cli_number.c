/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The command is not a library, so the tested files are compiled in. */
#include "cli/core/cli_error.c"
#include "cli/core/cli_number.c"
#include "cli/core/cli_text.c"

static const cli_option count_option = {.name = "expect", .type = CLI_COUNT, .min = 1, .max = 1000000000000};
static const cli_option size_option = {
    .name = "memory", .type = CLI_SIZE, .min = 1, .max = (uint64_t)1 << 60};
static const cli_option rate_option = {.name = "fpr", .type = CLI_RATE, .rate_min = 1e-30, .rate_max = 0.5};
static const cli_option real_option = {
    .name = "bits-per-key", .type = CLI_REAL, .rate_min = 0.01, .rate_max = 1e6};
static const cli_option share_option = {
    .name = "duplicates", .type = CLI_RATE, .value = "SHARE", .rate_max = 1};
static const cli_option seed_option = {.name = "seed", .type = CLI_SEED};

typedef cli_number reader(const char *text, uint64_t *value);

static void expect_number(reader *read, const char *text, uint64_t expected) {
    uint64_t value = 42;

    if (read(text, &value) != CLI_NUMBER_OK)
        fail_msg("'%s' is refused", text);
    if (value != expected)
        fail_msg("'%s' is %llu", text, (unsigned long long)value);
}

static void expect_refusal(reader *read, const char *text, cli_number why) {
    uint64_t value = 42;

    if (read(text, &value) != why)
        fail_msg("'%s' is not refused as it should be", text);
    assert_int_equal(value, 42);
}

static void counts_are_exact(void **state) {
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0", 0},
                {"1", 1},
                {"007", 7},
                {"10000000", 10000000},
                {"1e7", 10000000},
                {"1E7", 10000000},
                {"1e+7", 10000000},
                {"1.5e6", 1500000},
                {"10M", 10000000},
                {"10k", 10000},
                {"10K", 10000},
                {"1.5G", 1500000000},
                {"2T", 2000000000000},
                {"100e-2", 1},
                {".5k", 500},
                {"1.", 1},
                {"1.000", 1},
                {"0e9999", 0},
                {"18446744073709551615", UINT64_MAX},
                {"1e19", UINT64_C(10000000000000000000)},
                {"0.00000000000000000001e20", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        expect_number(cli_number_count, good[i].text, good[i].value);
}

static void counts_are_refused(void **state) {
    static const char *const malformed[] = {"",    "-1",  "+1",  " 1",    "1 ",  "1x",  "x",
                                            "1e",  "e7",  ".",   "1.2.3", "1,0", "0x1", "nan",
                                            "inf", "1MM", "1Mi", "1e7e7", "1P",  "1e-", "\xd9\xa1"};
    (void)state;
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++)
        expect_refusal(cli_number_count, malformed[i], CLI_NUMBER_MALFORMED);
    expect_refusal(cli_number_count, "0.5", CLI_NUMBER_NOT_WHOLE);
    expect_refusal(cli_number_count, "1e-1", CLI_NUMBER_NOT_WHOLE);
    expect_refusal(cli_number_count, "1.0001k", CLI_NUMBER_NOT_WHOLE);
    expect_refusal(cli_number_count, "1e-999999999999999999999", CLI_NUMBER_NOT_WHOLE);
    expect_refusal(cli_number_count, "18446744073709551616", CLI_NUMBER_TOO_LARGE);
    expect_refusal(cli_number_count, "1e20", CLI_NUMBER_TOO_LARGE);
    expect_refusal(cli_number_count, "1e999999999999999999999", CLI_NUMBER_TOO_LARGE);
    expect_refusal(cli_number_count, "99999999999999999999999", CLI_NUMBER_TOO_LARGE);
    expect_refusal(cli_number_count, "18446744073709551615k", CLI_NUMBER_TOO_LARGE);
}

static void sizes_know_both_units(void **state) {
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"1", 1},
                {"1B", 1},
                {"1K", 1024},
                {"1k", 1024},
                {"1KiB", 1024},
                {"1KB", 1000},
                {"1kB", 1000},
                {"512MiB", UINT64_C(512) << 20},
                {"2G", UINT64_C(2) << 30},
                {"2GB", 2000000000},
                {"1e9", 1000000000},
                {"1.5K", 1536},
                {"0.1GiB", 107374182},
                {"1T", UINT64_C(1) << 40},
                {"1P", UINT64_C(1) << 50},
                {"15E", UINT64_C(15) << 60},
                {"1EB", UINT64_C(1000000000000000000)}};
    static const char *const bad[] = {"",   "K",   "1Ki", "1KiBs", "1iB", "1b",
                                      "1Q", "-1K", "1 K", "1e9x",  "0x10"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        expect_number(cli_number_size, good[i].text, good[i].value);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_refusal(cli_number_size, bad[i], CLI_NUMBER_MALFORMED);
    expect_refusal(cli_number_size, "1.5", CLI_NUMBER_NOT_WHOLE);
    expect_refusal(cli_number_size, "1e-1B", CLI_NUMBER_NOT_WHOLE);
    expect_refusal(cli_number_size, "16E", CLI_NUMBER_TOO_LARGE);
    expect_refusal(cli_number_size, "1e30", CLI_NUMBER_TOO_LARGE);
}

static void times_are_milliseconds(void **state) {
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0s", 0},        {"500ms", 500},   {"2s", 2000},    {"10m", 600000},
                {"6h", 21600000}, {"1d", 86400000}, {"10", 10000},   {"1.5h", 5400000},
                {"1.5ms", 1},     {"007s", 7000},   {"1e3ms", 1000}, {"18446744073709551615ms", UINT64_MAX}};
    static const char *const bad[] = {"", "s", "1w", "-1s", "+1s", " 1s", "1s ", "1 s", "1S", "1sm", "never"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        expect_number(cli_number_time, good[i].text, good[i].value);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_refusal(cli_number_time, bad[i], CLI_NUMBER_MALFORMED);
    expect_refusal(cli_number_time, "18446744073709551616ms", CLI_NUMBER_TOO_LARGE);
    expect_refusal(cli_number_time, "213503982335d", CLI_NUMBER_TOO_LARGE);
}

static void seeds_use_all_bits(void **state) {
    (void)state;
    expect_number(cli_number_seed, "0", 0);
    expect_number(cli_number_seed, "18446744073709551615", UINT64_MAX);
    expect_number(cli_number_seed, "0xffffffffffffffff", UINT64_MAX);
    expect_number(cli_number_seed, "0XdeadBEEF", 0xdeadbeef);
    expect_number(cli_number_seed, "010", 10);
    expect_refusal(cli_number_seed, "18446744073709551616", CLI_NUMBER_TOO_LARGE);
    expect_refusal(cli_number_seed, "0x10000000000000000", CLI_NUMBER_TOO_LARGE);
    expect_refusal(cli_number_seed, "", CLI_NUMBER_MALFORMED);
    expect_refusal(cli_number_seed, "0x", CLI_NUMBER_MALFORMED);
    expect_refusal(cli_number_seed, "0x-1", CLI_NUMBER_MALFORMED);
    expect_refusal(cli_number_seed, "-1", CLI_NUMBER_MALFORMED);
    expect_refusal(cli_number_seed, "1e3", CLI_NUMBER_MALFORMED);
    expect_refusal(cli_number_seed, "12 ", CLI_NUMBER_MALFORMED);
}

static void rates_are_doubles(void **state) {
    static const char *const bad[] = {"",      "-1", "+1", "nan", "inf",   "0x1p-3", "1e",
                                      "1e-9 ", " 1", "%",  "1%%", "1e-9x", "."};
    double rate = 0;
    (void)state;
    assert_int_equal(cli_number_rate("1e-9", &rate), CLI_NUMBER_OK);
    assert_true(rate == 1e-9);
    assert_int_equal(cli_number_rate("0.1%", &rate), CLI_NUMBER_OK);
    assert_true(rate == 0.001);
    assert_int_equal(cli_number_rate(".25", &rate), CLI_NUMBER_OK);
    assert_true(rate == 0.25);
    assert_int_equal(cli_number_rate("0.00000000000000000000000000001", &rate), CLI_NUMBER_OK);
    assert_true(rate == 1e-29);
    assert_int_equal(cli_number_rate("1e-999", &rate), CLI_NUMBER_OK);
    assert_true(rate == 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(cli_number_rate(bad[i], &rate), CLI_NUMBER_MALFORMED);
}

static void expect_message(const cli_option *option, const char *text, const char *message) {
    tamis_error err = TAMIS_ERROR_INIT;
    cli_value value = {0};
    char what[40];

    snprintf(what, sizeof what, "--%s", option->name);
    assert_int_not_equal(cli_number_read(option, what, text, &value, &err), TAMIS_OK);
    assert_string_equal(err.text, message);
    assert_int_equal(value.number, 0);
}

static void messages_name_value_and_bounds(void **state) {
    cli_value value = {0};
    (void)state;
    expect_message(
        &count_option, "0",
        "--expect '0': too small; give a whole number from 1 to 1e12, such as 10000000, 1e7 or 10M");
    expect_message(
        &count_option, "1e13",
        "--expect '1e13': too large; give a whole number from 1 to 1e12, such as 10000000, 1e7 or 10M");
    expect_message(&count_option, "1.5",
                   "--expect '1.5': not a whole number; give a whole number from 1 to 1e12, such as "
                   "10000000, 1e7 or 10M");
    expect_message(&size_option, "2EiB",
                   "--memory '2EiB': too large; give a size from 1 byte to 1EiB, such as 512MiB, 2G or 1e9");
    expect_message(&size_option, "1.5",
                   "--memory '1.5': not a whole number of bytes; give a size from 1 byte to 1EiB, such as "
                   "512MiB, 2G or 1e9");
    expect_message(&share_option, "x",
                   "--duplicates 'x': not a share; give a share from 0 to 1, such as 0.2 or 20%");
    expect_message(&share_option, "2",
                   "--duplicates '2': too large; give a share from 0 to 1, such as 0.2 or 20%");
    expect_message(&real_option, "10%",
                   "--bits-per-key '10%': not a number; give a number from 0.01 to 1e6, such as 10 or 9.6");
    expect_message(&real_option, "1e7",
                   "--bits-per-key '1e7': too large; give a number from 0.01 to 1e6, such as 10 or 9.6");
    expect_message(&rate_option, "1",
                   "--fpr '1': too large; give a rate from 1e-30 to 0.5, such as 1e-9 or 0.1%");
    expect_message(&rate_option, "nan",
                   "--fpr 'nan': not a rate; give a rate from 1e-30 to 0.5, such as 1e-9 or 0.1%");
    expect_message(&rate_option, "1e-999",
                   "--fpr '1e-999': too small; give a rate from 1e-30 to 0.5, such as 1e-9 or 0.1%");
    expect_message(&seed_option, "-1",
                   "--seed '-1': negative; give a whole number from 0 to 18446744073709551615, in "
                   "decimal or as 0x...");
    assert_int_equal(cli_number_read(&count_option, "--expect", "1e12", &value, NULL), TAMIS_OK);
    assert_int_equal(value.number, 1000000000000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_exact),
        cmocka_unit_test(counts_are_refused),
        cmocka_unit_test(sizes_know_both_units),
        cmocka_unit_test(times_are_milliseconds),
        cmocka_unit_test(seeds_use_all_bits),
        cmocka_unit_test(rates_are_doubles),
        cmocka_unit_test(messages_name_value_and_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
