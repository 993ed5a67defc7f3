/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_JSON_ORACLE_H
#define TAMIS_TEST_JSON_ORACLE_H

#include <stdbool.h>
#include <stddef.h>

#include "support/scratch.h"

/* A JSON text parsed in the simplest way: byte by byte into a tree, in which pointers are then looked up.
 * Parsing recurses, so it handles some thousand levels. */
typedef struct json_tree json_tree;

/* Returns NULL if the bytes are not a JSON text. A text of blanks only is a tree without values. */
json_tree *json_tree_read(const void *text, size_t size);
void json_tree_free(json_tree *tree);
/* True if there is a value that is not null. *value is replaced by its bytes. */
bool json_tree_find(const json_tree *tree, const char *pointer, test_bytes *value);

#endif
