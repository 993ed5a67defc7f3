/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Any command line, in a directory with a file of each sort. command.h checks every run. A valid command line
 * is run, unless it would take hours, never end, or use files outside the directory.
 *
 * Input: one byte for the verb (beyond the last verb, the first word is the verb), then words, each ended
 * by a zero byte. The first byte of a word selects its meaning: the text after it alone, or an option of
 * the verb, by name or letter, with or without the text as its value.
 *
 * The directory: a, b: lines; A, B: classic filters of one shape; F: fingerprint filter; K: keyed filter;
 * S: its secret; G: file of Guava; D: file of DCSO; X: damaged file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/tamis.h>

#include "cli/cli.h"
#include "cli/core/cli_number.h"
#include "cli/core/cli_option.h"
#include "command.h"
#include "support/stored.h"

enum {
    INPUT_MAX = 1024,
    WORDS = 24,
    WORD_MAX = 600,
    MANY = 1000,
    EXPECT_MANY = 20000,
    MEMORY_MANY = 4 << 20
};

static char texts[WORDS][WORD_MAX];
static const char *words[WORDS + 1];
static size_t word_count;

/* ---- the directory ---- */

static void save(tamis_filter *filter, const char *name, tamis_format format) {
    tamis_error err = TAMIS_ERROR_INIT;
    command_check(tamis_filter_save_as(filter, scratch(name), format, &err) == TAMIS_OK, err.text);
    tamis_filter_free(filter);
}

/* Makes the files again only if the last command line changed them. */
static void lay_out(void) {
    static const char secret[] = "sixteen letters.";
    static uint64_t laid_out;
    test_bytes bytes = {0};
    if (laid_out != 0 && command_files() == laid_out)
        return;
    command_start();
    file_write(scratch("a"), "one\ntwo\none\n", 12);
    file_write(scratch("b"), "two\nthree", 9);
    file_write(scratch("S"), secret, sizeof secret - 1);
    save(stored_make(TAMIS_KIND_CLASSIC, 0, 10), "A", TAMIS_FORMAT_TAMIS);
    save(stored_make(TAMIS_KIND_CLASSIC, 5, 10), "B", TAMIS_FORMAT_TAMIS);
    save(stored_make(TAMIS_KIND_FINGERPRINT, 0, 10), "F", TAMIS_FORMAT_TAMIS);
    save(stored_make_scheme(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA64, 0, 10), "G", TAMIS_FORMAT_GUAVA);
    save(stored_make_scheme(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_FNV_DCSO, 0, 10), "D", TAMIS_FORMAT_DCSO);
    command_check(stored_save_keyed(scratch("K"), "sixteen letters.", 0, NULL) == TAMIS_OK,
                  "no keyed filter");
    file_write(scratch("S"), "sixteen letters.", 16);
    file_read(scratch("A"), &bytes);
    bytes.data[bytes.size - 1] ^= 1; /* a bit of the checksum of its only block */
    file_write(scratch("X"), bytes.data, bytes.size);
    bytes_clear(&bytes);
    laid_out = command_files();
}

/* ---- words ---- */

static void word(const cli_command *command, uint8_t how, const char *text) {
    char *into = texts[word_count];
    const cli_option *option = NULL;
    size_t count = 0;
    while (command && command->options[count].name)
        count++;
    if (count > 0)
        option = &command->options[how / 4 % count];
    if (option && how % 4 == 1)
        snprintf(into, WORD_MAX, "--%s", option->name);
    else if (option && how % 4 == 2)
        snprintf(into, WORD_MAX, "--%s=%.500s", option->name, text);
    else if (option && how % 4 == 3 && option->letter != 0)
        snprintf(into, WORD_MAX, "-%c%.500s", option->letter, text);
    else
        snprintf(into, WORD_MAX, "%.500s", text);
    words[word_count++] = into;
}

static void make_words(const uint8_t *data, size_t size) {
    size_t commands = 0;
    char text[INPUT_MAX + 1];
    while (cli_commands[commands])
        commands++;
    size_t verb = data[0] % (commands + 1);
    const cli_command *command = verb < commands ? cli_commands[verb] : NULL;
    word_count = 0;
    if (command)
        word(NULL, 0, command->name);
    for (size_t begin = 1; begin < size && word_count < WORDS;) {
        size_t end = begin + 1;
        while (end < size && data[end] != 0)
            end++;
        memcpy(text, data + begin + 1, end - begin - 1);
        text[end - begin - 1] = '\0';
        word(command, data[begin], text);
        begin = end + 1;
    }
    words[word_count] = NULL;
}

/* ---- command lines that are not run ---- */

static bool is_slow(const char *verb, const char *option, const cli_value *value) {
    bool fills = strcmp(verb, "build") == 0 || strcmp(verb, "dedup") == 0;
    return (strcmp(option, "follow") == 0 || strcmp(option, "measure") == 0) ||
           (strcmp(option, "queries") == 0 && value->number > MANY) ||
           (fills && strcmp(option, "expect") == 0 && value->number > EXPECT_MANY) ||
           (fills && strcmp(option, "memory") == 0 && value->number > MEMORY_MANY);
}

static bool leads_away(const char *text) {
    return text && strchr(text, '/') != NULL;
}

static bool generates_much(const cli_args *args) {
    static const cli_option count = {.name = "N", .type = CLI_COUNT, .max = UINT64_MAX};
    cli_value value = {0};
    tamis_error err = TAMIS_ERROR_INIT;
    return args->operand_count == 2 &&
           cli_number_read(&count, "gen", args->operands[1], &value, &err) == TAMIS_OK && value.number > MANY;
}

static bool is_left_out(const cli_command *command, const cli_args *args) {
    bool queries = false;
    for (const cli_option *option = command->options; option->name; option++) {
        const cli_value *value = &args->values[option->id];
        const char *name = option->name;
        if (!value->given)
            continue;
        queries |= strcmp(name, "queries") == 0;
        if (strcmp(name, "key") == 0) /* there a '/' begins a JSON pointer, not a path */
            continue;
        if (is_slow(command->name, name, value) || leads_away(value->text))
            return true;
        for (size_t j = 0; j < value->count; j++)
            if (leads_away(value->list[j]))
                return true;
    }
    for (size_t i = 0; i < args->operand_count; i++)
        if (leads_away(args->operands[i]))
            return true;
    if (strcmp(command->name, "audit") == 0)
        return !queries;
    return strcmp(command->name, "gen") == 0 && generates_much(args);
}

/* Parses like the command. A line that the parser refuses is run too, and refused again. */
static bool is_to_run(void) {
    const cli_command *command = word_count > 0 ? cli_command_find(words[0]) : NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    char *argv[WORDS + 1];
    cli_args args;
    if (!command)
        return true;
    for (size_t i = 0; i <= word_count; i++)
        argv[i] = i < word_count ? texts[i] : NULL;
    int code = cli_parse(&args, command, (int)word_count, argv, &err);
    bool run = code != TAMIS_OK || args.help || !is_left_out(command, &args);
    command_check(code == TAMIS_OK || (err.status == TAMIS_E_INVALID && *err.text), "refused without a word");
    cli_args_release(&args);
    return run;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char input[] = "three\none\n";
    if (size < 1 || size > INPUT_MAX)
        return 0;
    make_words(data, size);
    lay_out();
    if (is_to_run())
        command_run(input, sizeof input - 1, words);
    return 0;
}
