/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/compression.h>
#include <tamis/experimental/stream.h>
#include <tamis/tamis.h>

/* The command is not a library, so the tested files are compiled in. */
#include "cli/core/cli_choice.c"
#include "cli/core/cli_error.c"
#include "cli/core/cli_number.c"
#include "cli/core/cli_option.c"
#include "cli/core/cli_text.c"

enum { OPT_OUTPUT, OPT_EXPECT, OPT_EXACT, OPT_KIND, OPT_QUIET, OPT_KEY, OPT_LABEL, OPT_MARK };

static const cli_option table[] = {
    {.id = OPT_OUTPUT, .name = "output", .letter = 'o', .type = CLI_FILE, .value = "FILE"},
    {.id = OPT_EXPECT, .name = "expect", .type = CLI_COUNT, .value = "N", .min = 1, .max = 1000},
    {.id = OPT_EXACT, .name = "exact", .type = CLI_FLAG},
    {.id = OPT_KIND, .name = "kind", .type = CLI_CHOICE, .value = "KIND", .choices = cli_kinds},
    {.id = OPT_QUIET, .name = "quiet", .letter = 'q', .type = CLI_FLAG},
    {.id = OPT_KEY,
     .name = "key",
     .letter = 'k',
     .type = CLI_TEXT,
     .value = "KEY",
     .many = true,
     .may_be_empty = true},
    {.id = OPT_LABEL, .name = "label", .type = CLI_TEXT, .value = "K=V", .many = true},
    {.id = OPT_MARK, .name = "mark", .type = CLI_TEXT, .value = "NAME", .optional = true},
    {.name = NULL},
};
static const cli_conflict table_conflicts[] = {{OPT_EXACT, OPT_EXPECT, "it is a test"}, {.why = NULL}};
static const cli_command command = {.name = "try", .options = table, .conflicts = table_conflicts};

/* Parses a command line whose words are separated by blanks. */
static int parse(const char *line, cli_args *args, tamis_error *err) {
    static char words[400];
    static char *argv[32];
    int argc = 0;

    *err = (tamis_error)TAMIS_ERROR_INIT;
    snprintf(words, sizeof words, "%s", line);
    argv[argc++] = words;
    for (char *pos = words; *pos != '\0'; pos++) {
        if (*pos != ' ')
            continue;
        *pos = '\0';
        argv[argc++] = pos + 1;
    }
    argv[argc] = NULL;
    return cli_parse(args, &command, argc, argv, err);
}

static void takes_options_anywhere(void **state) {
    cli_args args;
    tamis_error err;
    (void)state;
    assert_int_equal(parse("try a -q --expect=7 b -ofile --kind blocked -- -c", &args, &err), TAMIS_OK);
    assert_int_equal(args.operand_count, 3);
    assert_string_equal(args.operands[0], "a");
    assert_string_equal(args.operands[1], "b");
    assert_string_equal(args.operands[2], "-c");
    assert_true(args.values[OPT_QUIET].given);
    assert_false(args.values[OPT_EXACT].given);
    assert_int_equal(args.values[OPT_EXPECT].number, 7);
    assert_string_equal(args.values[OPT_OUTPUT].text, "file");
    assert_int_equal(args.values[OPT_KIND].number, TAMIS_KIND_BLOCKED);
    assert_false(args.help);
}

static void takes_a_dash_as_operand_and_value(void **state) {
    cli_args args;
    tamis_error err;
    (void)state;
    assert_int_equal(parse("try - -o - x", &args, &err), TAMIS_OK);
    assert_int_equal(args.operand_count, 2);
    assert_string_equal(args.operands[0], "-");
    assert_string_equal(args.values[OPT_OUTPUT].text, "-");
}

static void abbreviates_and_repeats_flags(void **state) {
    cli_args args;
    tamis_error err;
    (void)state;
    assert_int_equal(parse("try --expe 5 -qq --quiet", &args, &err), TAMIS_OK);
    assert_int_equal(args.values[OPT_EXPECT].number, 5);
    assert_int_equal(parse("try -h --nonsense", &args, &err), TAMIS_OK);
    assert_true(args.help);
    assert_int_equal(parse("try --he", &args, &err), TAMIS_OK);
    assert_true(args.help);
    assert_int_equal(parse("try --help", &args, &err), TAMIS_OK);
    assert_true(args.help);
}

static void keeps_each_value_of_an_option_for_many(void **state) {
    cli_args args;
    tamis_error err;
    (void)state;
    assert_int_equal(parse("try -k a --key= x --label=n=v --key -q", &args, &err), TAMIS_OK);
    assert_int_equal(args.values[OPT_KEY].count, 3);
    assert_string_equal(args.values[OPT_KEY].list[0], "a");
    assert_string_equal(args.values[OPT_KEY].list[1], "");
    assert_string_equal(args.values[OPT_KEY].list[2], "-q");
    assert_int_equal(args.values[OPT_LABEL].count, 1);
    assert_string_equal(args.values[OPT_LABEL].list[0], "n=v");
    assert_false(args.values[OPT_QUIET].given);
    cli_args_release(&args);
    assert_int_not_equal(parse("try --label a --label ", &args, &err), TAMIS_OK);
    assert_string_equal(err.text, "--label '': empty; give --label K=V");
    cli_args_release(&args);
}

static void a_value_may_be_left_out(void **state) {
    cli_args args;
    tamis_error err;
    (void)state;
    assert_int_equal(parse("try --mark x", &args, &err), TAMIS_OK);
    assert_true(args.values[OPT_MARK].given);
    assert_null(args.values[OPT_MARK].text);
    assert_int_equal(args.operand_count, 1);
    assert_string_equal(args.operands[0], "x");
    assert_int_equal(parse("try --mark=new x", &args, &err), TAMIS_OK);
    assert_string_equal(args.values[OPT_MARK].text, "new");
    assert_int_equal(parse("try x", &args, &err), TAMIS_OK);
    assert_false(args.values[OPT_MARK].given);
}

/* If an option is given twice, the last value holds. The first one is checked too. */
static void reg_22_the_last_value_holds(void **state) {
    cli_args args;
    tamis_error err;
    (void)state;
    assert_int_equal(parse("try --expect 5 -o a --mark=a --output b --expect 7 --mark", &args, &err),
                     TAMIS_OK);
    assert_int_equal(args.values[OPT_EXPECT].number, 7);
    assert_string_equal(args.values[OPT_OUTPUT].text, "b");
    assert_true(args.values[OPT_MARK].given);
    assert_null(args.values[OPT_MARK].text);
    assert_int_equal(parse("try --kind exact --kind auto", &args, &err), TAMIS_OK);
    assert_int_equal(args.values[OPT_KIND].number, 0);
    assert_int_not_equal(parse("try --expect 1001 --expect 7", &args, &err), TAMIS_OK);
}

static void refuses_with_a_message(void **state) {
    static const struct {
        const char *line, *message;
    } bad[] = {
        {"try --expcet 5", "--expcet: unknown option; did you mean --expect? See tamis try --help"},
        {"try --outputs=x", "--outputs: unknown option; did you mean --output? See tamis try --help"},
        {"try --ex 5", "--ex: could be --expect or --exact; write the option in full"},
        {"try --nonsense", "--nonsense: unknown option; see tamis try --help"},
        {"try -x", "-x: unknown option; see tamis try --help"},
        {"try -qx", "-x: unknown option; see tamis try --help"},
        {"try --expect", "--expect: its value is missing; give --expect N"},
        {"try -o", "--output: its value is missing; give --output FILE"},
        {"try -o ", "--output '': empty; give --output FILE"},
        {"try --quiet=yes", "--quiet: takes no value; leave out what follows the '='"},
        {"try --help=yes", "--help: takes no value; leave out what follows the '='"},
        {"try --mark=", "--mark '': empty; give --mark=NAME"},
        {"try --exact --expect 5", "--exact: contradicts --expect: it is a test; leave one of them out"},
        {"try --kind round",
         "--kind 'round': not one of its values; give auto, classic, blocked, fingerprint or exact"},
        {"try --kind ",
         "--kind '': not one of its values; give auto, classic, blocked, fingerprint or exact"},
        {"try --expect 1001", "--expect '1001': too large; give a whole number from 1 to 1000"},
    };
    cli_args args;
    tamis_error err;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_not_equal(parse(bad[i].line, &args, &err), TAMIS_OK);
        assert_string_equal(err.text, bad[i].message);
        assert_int_equal(err.status, TAMIS_E_INVALID);
    }
}

/* The command has tables of its own. They must agree with the library. */
static void choices_are_those_of_the_library(void **state) {
    int number;
    (void)state;
    for (number = 0; number < TAMIS_KIND_WINDOW; number++) /* --window chooses that one */
        assert_string_equal(cli_kinds[number], tamis_kind_name((tamis_kind)number));
    assert_null(cli_kinds[number]);
    for (number = 0; cli_build_kinds[number] != NULL; number++)
        assert_string_equal(cli_build_kinds[number], tamis_kind_name(cli_kind_of((uint64_t)number)));
    assert_int_equal(number, CLI_BUILD_CUCKOO + 1);
    assert_null(tamis_kind_name((tamis_kind)(TAMIS_KIND_CUCKOO + 1)));
    for (number = 0; tamis_scheme_name((tamis_scheme)number) != NULL; number++)
        assert_string_equal(cli_schemes[number], tamis_scheme_name((tamis_scheme)number));
    assert_null(cli_schemes[number]);
    for (number = 0; tamis_format_name((tamis_format)number) != NULL; number++)
        assert_string_equal(cli_copy_formats[number], tamis_format_name((tamis_format)number));
    assert_int_equal(number, CLI_COPY_BITMAP);
    for (number = 0; number <= TAMIS_FORMAT_DCSO; number++)
        assert_string_equal(cli_formats[number], tamis_format_name((tamis_format)number));
    assert_null(cli_formats[number]);
    for (number = 0; tamis_compression_name((tamis_compression)number) != NULL; number++)
        assert_string_equal(cli_compressions[number], tamis_compression_name((tamis_compression)number));
    assert_null(cli_compressions[number]);
    assert_string_equal(cli_late[TAMIS_STREAM_PASS], "pass");
    assert_string_equal(cli_late[TAMIS_STREAM_DROP], "drop");
    assert_string_equal(cli_on_full[TAMIS_ON_FULL_FAIL], "fail");
    assert_string_equal(cli_on_full[TAMIS_ON_FULL_PASS], "pass");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_options_anywhere),
        cmocka_unit_test(takes_a_dash_as_operand_and_value),
        cmocka_unit_test(abbreviates_and_repeats_flags),
        cmocka_unit_test(keeps_each_value_of_an_option_for_many),
        cmocka_unit_test(a_value_may_be_left_out),
        cmocka_unit_test(reg_22_the_last_value_holds),
        cmocka_unit_test(refuses_with_a_message),
        cmocka_unit_test(choices_are_those_of_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
