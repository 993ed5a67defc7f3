/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis --help, tamis COMMAND --help and tamis --version.
 *
 * The help is made from the same table of options as the parser, and from docs/man/VERB.txt as the manual
 * page (cli.h). It has the first paragraph of the description, one sentence for each option, schemes, files
 * and examples. The manual page has the rest. A help is 80 columns wide on every terminal, so its text is the
 * same in a pipe.
 */
#include "cli/core/cli_help.h"

#include <dlfcn.h>
#include <jansson.h>
#include <string.h>

#include <tamis/experimental/redis.h>
#include <tamis/version.h>

#include "cli/core/cli_option.h"
#include "cli/core/cli_text.h"

enum { WIDTH = 80, OPTION_COLUMN = 27, SCHEME_COLUMN = 14 };

void cli_help_all(FILE *out) {
    fputs("usage: tamis COMMAND [OPTION...] [OPERAND...]\n\n", out);
    cli_text_wrap(out, "Membership filters: keep each record once, in a few bytes a key.", 0, 0, WIDTH);
    fputs("\nCommands:\n", out);
    for (size_t i = 0; cli_commands[i]; i++)
        fprintf(out, "  %-10s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    fputc('\n', out);
    cli_text_wrap(
        out,
        "'tamis COMMAND --help' and 'man tamis-COMMAND' say more; 'tamis --version' lists what is built in.",
        0, 0, WIDTH);
}

static void print_option(FILE *out, const cli_option *option) {
    char head[64], value[40] = "", help[700];

    if (option->value)
        snprintf(value, sizeof value, option->optional ? "[=%s]" : " %s", option->value);

    if (option->letter != 0)
        snprintf(head, sizeof head, "  -%c, --%s%s", option->letter, option->name, value);
    else
        snprintf(head, sizeof head, "      --%s%s", option->name, value);
    if (option->fallback)
        snprintf(help, sizeof help, "%s (default: %s)", option->help, option->fallback);
    else
        snprintf(help, sizeof help, "%s", option->help);
    fprintf(out, "%-*s", OPTION_COLUMN, head);
    if (strlen(head) >= (size_t)OPTION_COLUMN)
        fprintf(out, "\n%*s", OPTION_COLUMN, "");
    cli_text_wrap(out, help, OPTION_COLUMN, OPTION_COLUMN, WIDTH);
}

static void print_schemes(FILE *out, const cli_entry *schemes) {
    if (!schemes)
        return;
    fputs("\nSchemes:\n", out);
    for (; schemes->name; schemes++) {
        fprintf(out, "  %-*s", SCHEME_COLUMN - 2, schemes->name);
        cli_text_wrap(out, schemes->text, SCHEME_COLUMN, SCHEME_COLUMN, WIDTH);
    }
}

static void print_files(FILE *out, const cli_entry *files) {
    if (!files)
        return;
    fputs("\nFiles:\n", out);
    for (; files->name; files++) {
        fprintf(out, "  %-*s", OPTION_COLUMN - 2, files->name);
        cli_text_wrap(out, files->text, OPTION_COLUMN, OPTION_COLUMN, WIDTH);
    }
}

void cli_help_command(FILE *out, const cli_command *command) {
    fprintf(out, "usage: tamis %s [OPTION...]%s%s\n\n", command->name, *command->operands ? " " : "",
            command->operands);
    cli_text_wrap(out, command->manual->description[0], 0, 0, WIDTH);
    fputs("\nOptions:\n", out);
    for (size_t i = 0; command->options[i].name; i++)
        print_option(out, &command->options[i]);
    print_option(out, &cli_option_help);
    print_schemes(out, command->manual->schemes);
    print_files(out, command->manual->files);
    fputs("\nExamples:\n", out);
    for (const cli_entry *example = command->manual->examples; example->name; example++) {
        fprintf(out, "  $ %s\n        ", example->name);
        cli_text_wrap(out, example->text, 8, 8, WIDTH);
    }
}

/*
 * Versions of loaded libraries come from the libraries themselves. The command does not link the libraries
 * that libtamis links, so their functions are found by name with dlsym. ISO C has no cast from an object
 * pointer to a function pointer, so the bytes are copied. POSIX guarantees that both have the same
 * representation.
 */
static void print_xxhash(FILE *out) {
    void *symbol = dlsym(RTLD_DEFAULT, "XXH_versionNumber");
    unsigned (*version)(void), number;

    if (!symbol)
        return;
    memcpy(&version, &symbol, sizeof version);
    number = version();
    fprintf(out, "xxhash   %u.%u.%u\n", number / 10000, number / 100 % 100, number % 100);
}

static void print_version(FILE *out, const char *name, const char *function) {
    void *symbol = dlsym(RTLD_DEFAULT, function);
    const char *(*version)(void);

    if (!symbol)
        return;
    memcpy(&version, &symbol, sizeof version);
    /* Some libraries add a date, which is cut off. */
    fprintf(out, "%-8s %.*s\n", name, (int)strcspn(version(), ", "), version());
}

static void print_pcre2(FILE *out) {
    enum { VERSION = 11 }; /* PCRE2_CONFIG_VERSION */
    void *symbol = dlsym(RTLD_DEFAULT, "pcre2_config_8");
    int (*config)(uint32_t, void *);
    char version[64] = "";

    if (!symbol)
        return;
    memcpy(&config, &symbol, sizeof config);
    if (config(VERSION, NULL) <= (int)sizeof version && config(VERSION, version) > 0)
        fprintf(out, "pcre2    %.*s\n", (int)strcspn(version, " "), version);
}

/* Versions of the libraries that libtamis-redis was built with. */
static void print_redis(FILE *out) {
    static const char *const names[] = {"hiredis", "openssl", "zookeeper"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *version = tamis_redis_library_version(names[i]);
        if (version)
            fprintf(out, "%-8s %s\n", names[i], version);
    }
}

/* The system's policy for huge pages: "always", "madvise", "never", or "unavailable" if it has none. */
static void print_page_policy(FILE *out) {
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
    char line[128] = "", policy[sizeof line];

    /* The policy in use is in brackets: "always [madvise] never". */
    if (!file || !fgets(line, sizeof line, file) || sscanf(line, "%*[^[][%127[^]]", policy) != 1)
        strcpy(policy, "unavailable");
    if (file)
        fclose(file);
    fprintf(out, "hugepage %s\n", policy);
}

void cli_help_version(FILE *out) {
    fprintf(out, "tamis %s\n", tamis_version());
    fprintf(out, "kernel   %s\n", tamis_kernel_name());
    print_page_policy(out);
    print_xxhash(out);
    print_version(out, "sodium", "sodium_version_string");
    print_version(out, "zlib", "zlibVersion");
#ifdef CLI_ISAL_VERSION /* isa-l does not report its version at run time */
    fprintf(out, "isa-l    %s\n", CLI_ISAL_VERSION);
#endif
    print_version(out, "zstd", "ZSTD_versionString");
    print_version(out, "lz4", "LZ4_versionString");
    print_version(out, "lzma", "lzma_version_string");
    print_version(out, "bzip2", "BZ2_bzlibVersion");
    print_pcre2(out);
    print_version(out, "utf8proc", "utf8proc_version");
    fprintf(out, "jansson  %s\n", jansson_version_str());
    print_redis(out);
    print_version(out, "rdkafka", "rd_kafka_version_str");
}
