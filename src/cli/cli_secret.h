/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_SECRET_H
#define TAMIS_CLI_SECRET_H

#include <stddef.h>

#include <tamis/hash.h>

/* The bytes of --secret-file, exactly as the file holds them, a newline at its end included. */
typedef struct cli_secret {
    unsigned char bytes[TAMIS_SECRET_MAX + 1];
    size_t size;
} cli_secret;

/* CLI_DONE, or CLI_FAILED with the reason: unreadable, too short, too long. */
int cli_secret_read(cli_secret *secret, const char *path, tamis_error *err);
/* Leaves nothing of it in memory. */
void cli_secret_forget(cli_secret *secret);

#endif
