/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_JSON_ORACLE_H
#define TAMIS_TEST_JSON_ORACLE_H

#include <stdbool.h>
#include <stddef.h>

#include "support/scratch.h"

/* One JSON text read the plain way: a tree of all of it, byte by byte, in which pointers are looked up afterwards. It
 * recurses, so that it is for texts of some thousand levels. */
typedef struct json_tree json_tree;

/* NULL: it is no JSON text. One of nothing but blanks is a tree without values. */
json_tree *json_tree_read(const void *text, size_t size);
void json_tree_free(json_tree *tree);
/* Whether there is a value that is not null; *value (replaced) has its bytes. */
bool json_tree_find(const json_tree *tree, const char *pointer, test_bytes *value);

#endif
