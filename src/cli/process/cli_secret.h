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
    struct stat st; /* of the file they are from */
} cli_secret;

/* CLI_DONE, or CLI_FAILED with the reason: unreadable, too short, too long; or, if stop_fd became readable
 * while a FIFO was waited for, the status to exit with. */
int cli_secret_read(cli_secret *secret, const char *path, int stop_fd, tamis_error *err);
/* Whether writing to the output `path` ("-": standard output) would change the file of the secret. */
bool cli_secret_is_in(const cli_secret *secret, const char *path);
/* Leaves nothing of it in memory. */
void cli_secret_forget(cli_secret *secret);

#endif
