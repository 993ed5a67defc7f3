/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PROCESS_CLI_SECRET_H
#define TAMIS_CLI_PROCESS_CLI_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include <tamis/hash.h>
#include <tamis/status.h>

/* The bytes of --secret-file, exactly as the file holds them, a newline at its end included. */
typedef struct cli_secret {
    unsigned char bytes[TAMIS_SECRET_MAX + 1];
    size_t size;
    struct stat st; /* stat of the file */
} cli_secret;

/* Reads a secret. Error: it is unreadable, too short or too long. TAMIS_E_INTERRUPTED: stop_fd became
 * readable during the wait for a FIFO. */
tamis_status cli_secret_read(cli_secret *secret, const char *path, int stop_fd, tamis_error *err);
/* True if the output `path` ("-": standard output) is the file of the secret. */
bool cli_secret_is_in(const cli_secret *secret, const char *path);
/* Overwrites the secret in memory. */
void cli_secret_forget(cli_secret *secret);

#endif
