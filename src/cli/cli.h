/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_H
#define TAMIS_CLI_H

/*
 * What a command is, as data. One table of options a command drives parsing, --help, the manual page
 * and the shell completion, so that the four cannot disagree.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/status.h>

/* What a command's run() answers; a signal's 130 or 143 too. */
enum {
    CLI_DONE = 0,
    CLI_NEGATIVE = 1,  /* the negative answer of a question */
    CLI_FAILED = 2,    /* the error is filled */
    CLI_PIPE_GONE = -1 /* the reader of the output has gone: die of SIGPIPE, quietly */
};

typedef enum cli_type {
    CLI_FLAG,  /* no value */
    CLI_TEXT,  /* any text that is not empty */
    CLI_FILE,  /* the same, completed as a file name */
    CLI_COUNT, /* whole number: 10000000, 1e7, 10M (k M G T, powers of 1000) */
    CLI_SIZE,  /* bytes: 512MiB, 2G, 1e9 (K and KiB are 1024, KB is 1000) */
    CLI_RATE,  /* 1e-9, 0.1% */
    CLI_REAL,  /* 10, 9.6 */
    CLI_SEED,  /* any 64-bit number, decimal or 0x */
    CLI_CHOICE /* one of a list */
} cli_type;

typedef struct cli_option {
    const char *name; /* long name, without dashes */
    char letter;      /* short name; 0: none */
    cli_type type;
    const char *value;          /* what the help calls the value; NULL for a flag */
    const char *fallback;       /* the default, as the help shows it; NULL: none worth a word */
    const char *const *choices; /* CLI_CHOICE, and what is offered of CLI_TEXT: NULL-ended; NULL: nothing */
    uint64_t min, max;          /* CLI_COUNT, CLI_SIZE */
    double rate_min, rate_max;  /* CLI_RATE, CLI_REAL */
    const char *help;           /* one sentence: --help and the manual */
    const char *more;           /* further sentences for the manual alone; NULL: none */
    bool many;                  /* CLI_TEXT, CLI_FILE: may be given again, and each value counts */
    bool may_be_empty;          /* CLI_TEXT */
    bool optional; /* CLI_TEXT without letter: --name alone is good too, and --name=VALUE gives one */
} cli_option;

/* What an option got. */
typedef struct cli_value {
    bool given;
    const char *text; /* as typed; NULL for a flag, and where it was left out; of many, the last */
    /* Of an option that may be given again: all of them, in order; cli_args_release frees it. */
    const char **list;
    size_t count;    /* of the list */
    uint64_t number; /* CLI_COUNT, CLI_SIZE, CLI_SEED; CLI_CHOICE: index into choices */
    double rate;     /* CLI_RATE, CLI_REAL */
} cli_value;

/* Two options that may not meet, by their numbers in the table. */
typedef struct cli_conflict {
    int first, second;
    const char *why; /* completes "--one: contradicts --other: ..." */
} cli_conflict;

/* A name and what there is to say of it. */
typedef struct cli_entry {
    const char *name; /* NULL ends a list */
    const char *text;
} cli_entry;

typedef struct cli_example {
    const char *line; /* as typed into a shell; a test runs it */
    const char *what; /* what it does */
} cli_example;

enum { CLI_OPTIONS_MAX = 48 };

/* A parsed command line: argv's strings, not copies. */
typedef struct cli_args {
    cli_value values[CLI_OPTIONS_MAX]; /* by number in the table */
    char **operands;
    size_t operand_count;
    bool help; /* -h or --help was met: nothing else counts */
} cli_args;

/* The operand that is a command: completion then offers their names. */
#define CLI_OPERAND_COMMAND "[COMMAND]"

typedef struct cli_command {
    const char *name;
    const char *summary;              /* one line, no full stop */
    const char *operands;             /* as the usage line shows them; "" for none */
    const char *const *operand_words; /* of the first operand, to complete; NULL-ended; NULL: files */
    const char *const *description;   /* paragraphs, NULL-ended */
    const cli_option *options;
    size_t option_count;
    const cli_conflict *conflicts;
    size_t conflict_count;
    const cli_entry *schemes;    /* lists of help and manual; NULL: none */
    const cli_entry *files;      /* names of files */
    const char *const *exits;    /* "0", "what it means", ..., NULL-ended */
    const cli_example *examples; /* ended by a NULL line */
    /* For the manual alone; each NULL or ended by a NULL. */
    const char *json_intro;   /* a sentence before the fields */
    const cli_entry *json;    /* fields of what --json prints */
    const char *const *notes; /* paragraphs */
    /* Runs with arguments that passed parsing. CLI_FAILED fills *err. */
    int (*run)(const cli_args *args, tamis_error *err);
} cli_command;

/* Every command there is, NULL-ended; the order is that of the help. */
extern const cli_command *const cli_commands[];

/* The command of that name, or NULL. */
const cli_command *cli_command_find(const char *name);
/*
 * Refuses `typed`, which is no command (nor an option of tamis itself), with the name it is nearest to or,
 * where none is near, with all there are. `before` stands between "tamis" and a command: "" or "help ".
 */
int cli_command_unknown(tamis_error *err, const char *typed, const char *before);

extern const cli_command cmd_build;
extern const cli_command cmd_add;
extern const cli_command cmd_check;
extern const cli_command cmd_dedup;
extern const cli_command cmd_info;
extern const cli_command cmd_state;
extern const cli_command cmd_verify;
extern const cli_command cmd_merge;
extern const cli_command cmd_copy;
extern const cli_command cmd_clear;
extern const cli_command cmd_diff;
extern const cli_command cmd_audit;
extern const cli_command cmd_gen;
extern const cli_command cmd_hash;
extern const cli_command cmd_plan;
extern const cli_command cmd_redis;
extern const cli_command cmd_bitmap;
extern const cli_command cmd_help;

/* Fills *err (TAMIS_E_INVALID) with a sentence "what: why; what to do" and answers CLI_FAILED. */
__attribute__((format(printf, 2, 3))) int cli_fail(tamis_error *err, const char *format, ...);
/* The same of memory that was not there for `what`: TAMIS_E_NOMEM. */
int cli_fail_nomem(const char *what, tamis_error *err);
/* The part "why" of the sentence in *err; *length is that of it. */
const char *cli_why(const tamis_error *err, int *length);
/* Puts what it is called here in place of what the library names, which knows no options. */
__attribute__((format(printf, 2, 3))) void cli_subject(tamis_error *err, const char *format, ...);
/* Puts what to do here in place of what the library advises, which knows no options. */
void cli_remedy(tamis_error *err, const char *remedy);
/* Fills *err: standard output did not take data, for the reason `number` (an errno; 0: not known). */
int cli_fail_output(tamis_error *err, int number);
/* CLI_DONE if standard output is open for writing; else CLI_FAILED, before work is done in vain. */
int cli_output_check(tamis_error *err);
/* Writes all of it on standard output, past stdio: CLI_DONE, CLI_FAILED or CLI_PIPE_GONE. */
int cli_output_write(const char *data, size_t size, tamis_error *err);
/* Writes "tamis: <sentence>\n" on standard error, control bytes shown as '?': always one line. */
void cli_report(const char *message);
/* strerror in the form of our sentences, which begin in lower case; 80 bytes are enough. */
const char *cli_errno_text(char *text, size_t size, int number);

#endif
