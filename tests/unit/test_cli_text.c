/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The command is not a library, so the tested files are compiled in. */
#include "cli/core/cli_text.c"
#include "cli/process/cli_progress.c"

static char text[CLI_TEXT_NUMBER];

static void counts(void **state) {
    (void)state;
    assert_string_equal(cli_text_count(text, sizeof text, 0), "0");
    assert_string_equal(cli_text_count(text, sizeof text, 999), "999");
    assert_string_equal(cli_text_count(text, sizeof text, 1000), "1,000");
    assert_string_equal(cli_text_count(text, sizeof text, 9253177), "9,253,177");
    assert_string_equal(cli_text_count(text, sizeof text, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(cli_text_count(text, 4, 1234567), "1,2");
    assert_string_equal(cli_text_records(text, sizeof text, 0), "0 records");
    assert_string_equal(cli_text_records(text, sizeof text, 1), "1 record");
    assert_string_equal(cli_text_records(text, sizeof text, 1000), "1,000 records");
    assert_string_equal(cli_text_count_short(text, sizeof text, 0), "0");
    assert_string_equal(cli_text_count_short(text, sizeof text, 1000), "1000");
    assert_string_equal(cli_text_count_short(text, sizeof text, 1000000), "1e6");
    assert_string_equal(cli_text_count_short(text, sizeof text, 2000000), "2000000");
}

static void units(void **state) {
    (void)state;
    assert_string_equal(cli_text_metric(text, sizeof text, 0), "0 ");
    assert_string_equal(cli_text_metric(text, sizeof text, 16300000), "16.3 M");
    assert_string_equal(cli_text_metric(text, sizeof text, 999999), "1.00 M");
    assert_string_equal(cli_text_bytes(text, sizeof text, 0), "0 B");
    assert_string_equal(cli_text_bytes(text, sizeof text, 1023), "1023 B");
    assert_string_equal(cli_text_bytes(text, sizeof text, 1024), "1.00 KiB");
    assert_string_equal(cli_text_bytes(text, sizeof text, 45209600), "43.1 MiB");
    assert_string_equal(cli_text_bytes(text, sizeof text, UINT64_MAX), "16.0 EiB");
    assert_string_equal(cli_text_bytes_exact(text, sizeof text, 1), "1 byte");
    assert_string_equal(cli_text_bytes_exact(text, sizeof text, UINT64_C(1) << 60), "1EiB");
    assert_string_equal(cli_text_bytes_exact(text, sizeof text, 1536), "1536 bytes");
    assert_string_equal(cli_text_volume(text, sizeof text, 147e6), "147 MB");
    assert_string_equal(cli_text_real(text, sizeof text, 1e-9), "1e-9");
    assert_string_equal(cli_text_real(text, sizeof text, 9.8e-10), "9.8e-10");
    assert_string_equal(cli_text_real(text, sizeof text, 1e9), "1e9");
    assert_string_equal(cli_text_real(text, sizeof text, 1e100), "1e100");
    assert_string_equal(cli_text_real(text, sizeof text, 0.001), "0.001");
    assert_string_equal(cli_text_real(text, sizeof text, 0), "0");
    assert_string_equal(cli_text_expected(text, sizeof text, 0), "0");
    assert_string_equal(cli_text_expected(text, sizeof text, 1.25e-4), "0.00013");
    assert_string_equal(cli_text_expected(text, sizeof text, 99.4), "99");
    assert_string_equal(cli_text_expected(text, sizeof text, 99.5), "100");
    assert_string_equal(cli_text_expected(text, sizeof text, 7200.4), "7,200");
    assert_string_equal(cli_text_expected(text, sizeof text, 2e18), "2e18");
    assert_string_equal(cli_text_duration(text, sizeof text, 0), "0:00");
    assert_string_equal(cli_text_duration(text, sizeof text, 61.9), "1:01");
    assert_string_equal(cli_text_duration(text, sizeof text, 3671), "1:01:11");
    assert_string_equal(cli_text_duration(text, sizeof text, -1), "0:00");
    assert_string_equal(cli_text_duration(text, sizeof text, INFINITY), "99999:59:59");
    assert_string_equal(cli_text_duration(text, sizeof text, NAN), "0:00");
}

static void distances(void **state) {
    (void)state;
    assert_int_equal(cli_text_distance("dedup", "dedup"), 0);
    assert_int_equal(cli_text_distance("dedupe", "dedup"), 1);
    assert_int_equal(cli_text_distance("DEDUP", "dedup"), 0);
    assert_int_equal(cli_text_distance("", "plan"), 4);
    assert_int_equal(cli_text_distance("paln", "plan"), 2);
    assert_int_equal(cli_text_distance("kitten", "sitting"), 3);
    assert_true(cli_text_distance("a-word-that-is-much-longer-than-any-name-of-ours-is", "plan") > 4);
}

static void wraps_at_blanks(void **state) {
    char *wrapped = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&wrapped, &size);
    (void)state;
    cli_text_wrap(out, "one two three averyverylongword end", 4, 2, 12);
    fclose(out);
    assert_string_equal(wrapped, "one two\n  three\n  averyverylongword\n  end\n");
    free(wrapped);
}

static void progress_lines(void **state) {
    cli_progress progress = {.rate = 147e6, .last = 8};
    tamis_stream_stats now = TAMIS_STREAM_STATS_INIT;
    char line[LINE_MAX_SIZE];
    (void)state;
    now.records = 1000;
    now.unique = 925;
    now.bytes_in = 1230000000;
    cli_progress_line(line, sizeof line, 79, &progress, &now);
    assert_string_equal(line, "1.23 GB  147 MB/s  0:08  92.5 % unique");
    now.bytes_in = 9990000000; /* as with compressed inputs */
    now.bytes_read = 1230000000;
    now.bytes_total = 2460000000;
    cli_progress_line(line, sizeof line, 79, &progress, &now);
    assert_string_equal(line,
                        " 50% [########.........] 1.23 GB of 2.46 GB  147 MB/s  0:08 left  92.5 % unique");
    cli_progress_line(line, sizeof line, 60, &progress, &now);
    assert_string_equal(line, " 50%  1.23 GB of 2.46 GB  147 MB/s  0:08 left  92.5 % unique");
    /* A fact that does not fit is left out whole. */
    cli_progress_line(line, sizeof line, 59, &progress, &now);
    assert_string_equal(line, " 50%  1.23 GB of 2.46 GB  147 MB/s  0:08 left");
    cli_progress_line(line, sizeof line, 30, &progress, &now);
    assert_string_equal(line, " 50%  1.23 GB of 2.46 GB");
    cli_progress_line(line, sizeof line, 23, &progress, &now);
    assert_string_equal(line, " 50%");
    cli_progress_line(line, sizeof line, 3, &progress, &now);
    assert_string_equal(line, "");
    for (size_t columns = 1; columns < 300; columns++) {
        cli_progress_line(line, sizeof line, columns, &progress, &now);
        assert_true(strlen(line) <= columns);
    }
    now.bytes_read = 3000000000; /* a file that grew while it was read */
    progress.rate = 0;
    cli_progress_line(line, sizeof line, 200, &progress, &now);
    assert_non_null(strstr(line, "100% [########################################]"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),          cmocka_unit_test(units),          cmocka_unit_test(distances),
        cmocka_unit_test(wraps_at_blanks), cmocka_unit_test(progress_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
