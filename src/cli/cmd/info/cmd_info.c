/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"
#include "cli/cmd/info/info_report.h"
#include "cli/filter/cli_file.h"
#include "cli/server/cli_server.h"

enum { OPT_JSON, OPT_COUNT };

static const cli_option options[OPT_COUNT] = {
    [OPT_JSON] = {.name = "json", .type = CLI_FLAG, .help = "Print each filter as a JSON object on a line."},
};

/* Verifies a filter of bits first, because its statistics are computed from them. The statistics of a table
 * are in its header, which is verified when the file is opened. */
static tamis_status describe(const cli_args *args, info_report *report, tamis_error *err) {
    bool reads = tamis_filter_can(report->filter, TAMIS_CAN_UNION) &&
                 tamis_kind_is_bloom(tamis_filter_plan(report->filter)->kind);
    tamis_status status = TAMIS_OK;

    if (reads)
        status = tamis_filter_verify(report->filter, err);
    report->whole = status == TAMIS_OK;
    if (tamis_filter_metadata_get(report->filter, &report->metadata, err) != TAMIS_OK ||
        tamis_filter_info_get(report->filter, &report->info, err) != TAMIS_OK)
        return err->status;
    if (!args->values[OPT_JSON].given)
        info_report_text(stdout, report);
    else if (!info_report_json(stdout, report))
        return cli_fail_nomem("info", err);
    return status;
}

static tamis_status each(const cli_args *args, const char *path, bool *negative, tamis_error *err) {
    char shown[CLI_SERVER_SHOWN];
    info_report report = {.path = cli_server_show(path, shown),
                          .metadata = TAMIS_METADATA_INIT,
                          .info = TAMIS_FILTER_INFO_INIT};
    tamis_filter *filter = NULL;
    tamis_status status = cli_file_open(&filter, path, CLI_QUERY, NULL, &report.compression, err);

    (void)negative;
    report.filter = filter;
    if (status == TAMIS_OK)
        status = describe(args, &report, err);
    tamis_filter_free(filter);
    return status;
}

static tamis_status run_info(const cli_args *args, bool *negative, tamis_error *err) {
    return cli_file_each(args, each, negative, err);
}

static const char *const description[] = {
    "Print what a filter is, what it was planned for and how full it is: of files of tamis, of Guava "
    "(BloomFilter.writeTo) and of DCSO's bloom, which are recognised by their content; compressed or "
    "not (gzip, zstd, lz4, xz, bzip2).",
    "The number of keys and the rate of wrong answers are estimated from what is in the filter, not from "
    "what was planned. \"saturated\" means that more keys came than it was made for, so that the promised "
    "rate may not hold.",
    "A keyed filter (scheme sip) is described without its secret; to ask it takes --secret-file.",
    "A Guava file says neither for how many keys it was made nor at which rate: Guava chooses the number of "
    "probes from bits and keys, so the most keys that lead to that number are shown, and the rate that the "
    "filter has with so many. Of one probe a key nothing follows. A DCSO file says both; what follows its "
    "bits is data of its user, of which the size is shown.",
    "classic and blocked are read whole, to count their bits: where a block is damaged the header's figures "
    "are printed, the others left out, and the error named. Of fingerprint and exact the header has "
    "everything.",
    NULL};

static const char *const exits[] = {
    "0",   "All were described.",
    "2",   "Error: a file that cannot be read, is no filter or is damaged. The others are described.",
    "141", "The reader of standard output has gone: ended by SIGPIPE, without a word.",
    NULL};

/* Members of the object, in the order in which they are printed. */
static const cli_entry json[] = {
    {"file", "The name, as given; what is not UTF-8 in it is shown as ?."},
    {"format", "tamis, guava or dcso."},
    {"compression", "gzip, zstd, lz4, xz or bzip2; null = none."},
    {"kind", "classic, blocked, fingerprint or exact."},
    {"scheme", "The hash, see tamis-hash(1); sip = keyed by a secret."},
    {"seed", "Of xxh3, in decimal: text, since it has 64 bits; else 0."},
    {"version",
     "The filter's own version, given by whoever made it, in decimal: text, as seed is; 0 = none."},
    {"created", "Seconds since 1970-01-01 UTC; null = not known."},
    {"labels", "An object of its labels and their values."},
    {"user_data", "Bytes of user data, which DCSO files may have."},
    {"key_type", "The --type that it was built with, for which its records stand; null = not stored."},
    {"ignore_case", "true: it was built with --ignore-case, and is queried so; null = not stored."},
    {"trim", "true: it was built with --trim, likewise; null = not stored."},
    {"capacity", "Keys that it was made for; 0 = it grows, null = not known."},
    {"fpr", "Rate of wrong answers that was promised, 0 to 1; null = none is recorded."},
    {"estimated", "true: these two follow from bits and probes, the file has neither."},
    {"bits", "Bits of a classic or blocked filter; else 0."},
    {"probes", "Bits of these that a key sets."},
    {"slot_bits", "Bits of a slot of fingerprint or exact; else 0."},
    {"memory", "Bytes of memory that the filter takes: of this process, or of its server."},
    {"memory_limit", "Bytes that it may grow to; 0 = no limit."},
    {"whole", "false: a block is damaged, and the figures that bits tell are null."},
    {"added", "Adds that were answered \"new\"; null = on a server, which does not count them."},
    {"fill", "Share of the bits that are set, 0 to 1; null = kinds without such bits."},
    {"keys", "Distinct keys that were added, estimated; null = all bits are set, so none can tell."},
    {"load", "keys divided by capacity; null = it grows, or capacity is not known."},
    {"fpr_live", "Rate of wrong answers now, from what is in it."},
    {"false_fresh", "Adds expected to have been answered \"seen\" though new."},
    {"saturated", "true: more keys came than it was made for."},
    {NULL, NULL}};

static const cli_example examples[] = {
    {"tamis build -o seen.tamis a.log && tamis info seen.tamis", "What is in a filter just built."},
    {"tamis build -o seen.tamis a.log && tamis info --json seen.tamis", "The same for a program to read."},
    {NULL, NULL}};

const cli_command cmd_info = {
    .name = "info",
    .summary = "what a filter is, what it was made for and how full it is",
    .operands = "FILTER...",
    .description = description,
    .options = options,
    .option_count = OPT_COUNT,
    .exits = exits,
    .examples = examples,
    .json = json,
    .json_intro = "Each filter is an object on a line of its own:",
    .run = run_info,
};
