/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/process/cli_signal.h"

/* Buffer of standard output. Usual output fits, so it is written once, at the end, where cli_run checks for
 * errors. */
static char output_buffer[1 << 16];

int main(int argc, char **argv) {
    cli_hold_standard_files();
    setvbuf(stdout, output_buffer, _IOFBF, sizeof output_buffer);
    return cli_run(argc, argv);
}
