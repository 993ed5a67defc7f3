/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis diff: how two filters differ.
 *
 *     parameters: kind, scheme, seed, secret, size     those that differ are named
 *     bits, if the parameters are equal                counted: in A only, in B only, in both
 *
 * Labels, version and time are not compared.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_file.h"
#include "cli/input/cli_key.h"
#include "cli/server/cli_server.h"

enum { PARAMETERS = 12 };

static const cli_option options[] = {
    {.id = CLI_OPT_QUIET,
     .name = "quiet",
     .letter = 'q',
     .type = CLI_FLAG,
     .help = "Print nothing; answer by the exit status alone."},
    {.id = CLI_OPT_JSON, .name = "json", .type = CLI_FLAG, .help = "Print the answer as one JSON object."},
    {.name = NULL},
};

static const cli_conflict conflicts[] = {
    {CLI_OPT_QUIET, CLI_OPT_JSON, "one prints and the other does not"},
    {.why = NULL},
};

static const struct {
    cli_field a, b, equal, comparable, differ, keys_a, keys_b, bits_a, bits_b, bits_both;
} fields = {
    .a = {"a", "A", CLI_STRING, "The name of A, as given; bytes that are not UTF-8 are shown as ?."},
    .b = {"b", "B", CLI_STRING, "The name of B."},
    .equal = {"equal", NULL, CLI_BOOLEAN, "true: they give the same answer for every key."},
    .comparable = {"comparable", NULL, CLI_BOOLEAN,
                   "true: kind, scheme, seed, secret and size are the same."},
    .differ = {"differ", NULL, CLI_ARRAY_OF_STRINGS,
               "Names of the parameters that differ: kind, scheme, seed, bits, probes, slot_bits, home_bits, "
               "lines, partitions, capacity, memory_limit, fpr, secret, keys (how they are made)."},
    .keys_a = {"keys_a", "keys", CLI_NUMBER | CLI_NULL,
               "Estimated number of distinct keys in A; null = unknown."},
    .keys_b = {"keys_b", NULL, CLI_NUMBER | CLI_NULL,
               "Estimated number of distinct keys in B; null = unknown."},
    .bits_a = {"bits_a", "bits in A only", CLI_INTEGER | CLI_NULL,
               "Bits set in A only; null = not comparable, or a table."},
    .bits_b = {"bits_b", "bits in B only", CLI_INTEGER | CLI_NULL, "Bits set in B only."},
    .bits_both = {"bits_both", "bits in both", CLI_INTEGER | CLI_NULL, "Bits set in both."},
};

typedef struct side {
    const char *name;             /* name as given */
    const char *path;             /* name as printed */
    char shown[CLI_SERVER_SHOWN]; /* buffer of `path` for a filter on a server */
    tamis_filter *filter;
    tamis_filter_info info;
    uint32_t key_type; /* key_type of the filter's tamis_metadata */
} side;

static void name_side(side *input, const char *name) {
    input->name = name;
    input->path = cli_server_is_uri(name) ? cli_server_show(name, input->shown) : name;
}

typedef struct comparison {
    side a, b;
    tamis_difference difference;
} comparison;

/* A parameter of a filter, as text. */
typedef struct parameter {
    const char *name;
    char text[64];
} parameter;

static void write_parameters(const side *input, parameter list[PARAMETERS]) {
    const tamis_plan *plan = tamis_filter_plan(input->filter);
    const tamis_hasher *hasher = tamis_filter_hasher(input->filter);
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"seed", tamis_hasher_seed(hasher)},
                   {"bits", plan->bits},
                   {"probes", plan->probes},
                   {"slot_bits", plan->slot_bits},
                   {"home_bits", plan->home_bits},
                   {"lines", plan->lines},
                   {"partitions", plan->partitions},
                   {"capacity", plan->capacity},
                   {"memory_limit", plan->memory_limit}};
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    parameter *next = list;

    _Static_assert(PARAMETERS == NUMBERS + 3, "the numbers, and kind, scheme and fpr");
    next->name = "kind";
    snprintf(next++->text, sizeof next->text, "%s", tamis_kind_name(plan->kind));
    next->name = "scheme";
    snprintf(next++->text, sizeof next->text, "%s", tamis_scheme_name(tamis_hasher_scheme(hasher)));
    for (size_t i = 0; i < NUMBERS; i++) {
        next->name = numbers[i].name;
        snprintf(next++->text, sizeof next->text, "%" PRIu64, numbers[i].value);
    }
    next->name = "fpr";
    snprintf(next->text, sizeof next->text, "%.9g", plan->fpr);
}

/* Writes the parameters that differ to `a` and `b`, and returns their number. */
static int find_different(const comparison *diff, parameter a[PARAMETERS], parameter b[PARAMETERS]) {
    int count = 0;

    write_parameters(&diff->a, a);
    write_parameters(&diff->b, b);
    for (int i = 0; i < PARAMETERS; i++) {
        if (strcmp(a[i].text, b[i].text) == 0)
            continue;
        a[count] = a[i];
        b[count++] = b[i];
    }
    return count;
}

static bool secrets_differ(const comparison *diff) {
    return !diff->difference.same_hash && diff->a.info.scheme == TAMIS_SCHEME_SIP &&
           diff->b.info.scheme == TAMIS_SCHEME_SIP;
}

/* True if the filters make different keys of the same text. */
static bool keys_differ(const comparison *diff) {
    return !cli_key_types_equal(diff->a.key_type, diff->b.key_type);
}

static bool is_equal(const comparison *diff) {
    return diff->difference.same_body && !keys_differ(diff);
}

static bool is_comparable(const comparison *diff) {
    return diff->difference.same_hash && diff->difference.same_shape;
}

/* True if the bits of the filters can be compared one by one. */
static bool has_bits(const comparison *diff) {
    return is_comparable(diff) && tamis_kind_is_bloom(tamis_filter_plan(diff->a.filter)->kind);
}

static void print_count(const cli_field *field, uint64_t count) {
    char text[CLI_TEXT_NUMBER];

    printf("  %-16s%s\n", field->label, cli_text_count(text, sizeof text, count));
}

/* Writes the estimated number of keys. There is no estimate if all bits are set. */
static const char *keys_text(char *text, size_t size, const side *input) {
    return isfinite(input->info.cardinality) ? cli_text_expected(text, size, input->info.cardinality)
                                             : "any number";
}

static void print_text(const comparison *diff) {
    parameter list_a[PARAMETERS], list_b[PARAMETERS];
    const int count = find_different(diff, list_a, list_b);
    char a[CLI_TEXT_NUMBER], b[CLI_TEXT_NUMBER], rule_a[CLI_KEY_RULE], rule_b[CLI_KEY_RULE];

    printf("%s: ", fields.a.label);
    cli_text_print(stdout, diff->a.path);
    printf("\n%s: ", fields.b.label);
    cli_text_print(stdout, diff->b.path);
    printf("\n%s\n", is_equal(diff)               ? "equal: they answer alike for every key"
                     : diff->difference.same_body ? "different: the same content, but keys made otherwise"
                     : is_comparable(diff) && keys_differ(diff)
                         ? "different: other content, and keys made otherwise"
                     : is_comparable(diff) ? "different: the same parameters, other content"
                                           : "different: not comparable, since parameters differ");
    for (int i = 0; i < count; i++)
        printf("  %-16s%s, %s\n", list_a[i].name, list_a[i].text, list_b[i].text);
    if (secrets_differ(diff))
        puts("  secret          not the same");
    if (keys_differ(diff))
        printf("  %-16s%s, %s\n", "keys made with", cli_key_rule(rule_a, diff->a.key_type),
               cli_key_rule(rule_b, diff->b.key_type));
    printf("  %-16sabout %s, %s\n", fields.keys_a.label, keys_text(a, sizeof a, &diff->a),
           keys_text(b, sizeof b, &diff->b));
    if (!has_bits(diff))
        return;
    print_count(&fields.bits_a, diff->difference.only_a);
    print_count(&fields.bits_b, diff->difference.only_b);
    print_count(&fields.bits_both, diff->difference.in_both);
}

static tamis_status print_json(const comparison *diff, tamis_error *err) {
    parameter list_a[PARAMETERS], list_b[PARAMETERS];
    const int count = find_different(diff, list_a, list_b);
    json_t *object = json_object(), *names = json_array();

    for (int i = 0; i < count; i++)
        cli_json_append(names, json_string(list_a[i].name));
    if (secrets_differ(diff))
        cli_json_append(names, json_string("secret"));
    if (keys_differ(diff))
        cli_json_append(names, json_string("keys"));
    cli_json_string(object, &fields.a, diff->a.path);
    cli_json_string(object, &fields.b, diff->b.path);
    cli_json_boolean(object, &fields.equal, is_equal(diff));
    cli_json_boolean(object, &fields.comparable, is_comparable(diff));
    cli_json_set(object, &fields.differ, names);
    cli_json_number(object, &fields.keys_a, diff->a.info.cardinality);
    cli_json_number(object, &fields.keys_b, diff->b.info.cardinality);
    cli_json_integer_or_null(object, &fields.bits_a, has_bits(diff), diff->difference.only_a);
    cli_json_integer_or_null(object, &fields.bits_b, has_bits(diff), diff->difference.only_b);
    cli_json_integer_or_null(object, &fields.bits_both, has_bits(diff), diff->difference.in_both);
    return cli_json_write(object, stdout, 0, "diff", err);
}

static tamis_status load(side *input, tamis_error *err) {
    const tamis_status status = cli_file_fetch(&input->filter, input->name, err);

    return status == TAMIS_OK ? cli_key_type_stored(input->filter, &input->key_type, err) : status;
}

/* Compares before it reads statistics: comparing verifies both filters, so the statistics are those of
 * undamaged bits. */
static tamis_status compare(comparison *diff, tamis_error *err) {
    if (tamis_filter_compare(&diff->difference, diff->a.filter, diff->b.filter, err) != TAMIS_OK ||
        tamis_filter_info_get(diff->a.filter, &diff->a.info, err) != TAMIS_OK ||
        tamis_filter_info_get(diff->b.filter, &diff->b.info, err) != TAMIS_OK)
        return err->status;
    return TAMIS_OK;
}

static tamis_status run_diff(const cli_args *args, bool *negative, tamis_error *err) {
    comparison diff = {.a.info = TAMIS_FILTER_INFO_INIT,
                       .b.info = TAMIS_FILTER_INFO_INIT,
                       .difference = TAMIS_DIFFERENCE_INIT};

    if (args->operand_count != 2)
        return cli_fail(err, "diff: takes two filters, and %zu %s named; give their files",
                        args->operand_count, args->operand_count == 1 ? "is" : "are");
    name_side(&diff.a, args->operands[0]);
    name_side(&diff.b, args->operands[1]);
    tamis_status status = load(&diff.a, err);
    if (status == TAMIS_OK)
        status = load(&diff.b, err);
    if (status == TAMIS_OK)
        status = compare(&diff, err);
    if (status == TAMIS_OK && args->values[CLI_OPT_JSON].given)
        status = print_json(&diff, err);
    else if (status == TAMIS_OK && !args->values[CLI_OPT_QUIET].given)
        print_text(&diff);
    tamis_filter_free(diff.a.filter);
    tamis_filter_free(diff.b.filter);
    *negative = status == TAMIS_OK && !is_equal(&diff);
    return status;
}

const cli_command cmd_diff = {
    .name = "diff",
    .summary = "whether two filters are equal, and how they differ",
    .operands = "A B",
    .manual = &cli_manual_diff,
    .options = options,
    .conflicts = conflicts,
    .fields = CLI_FIELDS(fields),
    .run = run_diff,
};
