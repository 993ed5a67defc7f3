/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Names of filters as file names. A name is a key of Redis: any bytes. Letters, digits, '-', '_' and '.' stay,
 * but not a '.' at the beginning. Each other byte becomes %XX. The empty name becomes "%".
 *
 * Each name has one file name. So a file name that is not the encoding of its decoded name was not made here.
 */
#include <string.h>

#include "server/filter_store.h"

static bool is_plain(unsigned char byte, bool is_first) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '-' || byte == '_' || (byte == '.' && !is_first);
}

bool tamis__filter_name_encode(char file[FILTER_FILE_MAX + 1], tamis_key name) {
    static const char digits[] = "0123456789ABCDEF";
    const unsigned char *bytes = name.data;
    size_t used = 0;

    for (size_t i = 0; i < name.size; i++) {
        const bool plain = is_plain(bytes[i], i == 0);
        if (used + (plain ? 1 : 3) > FILTER_FILE_MAX)
            return false;
        if (plain) {
            file[used++] = (char)bytes[i];
            continue;
        }
        file[used++] = '%';
        file[used++] = digits[bytes[i] >> 4];
        file[used++] = digits[bytes[i] & 15];
    }
    if (name.size == 0)
        file[used++] = '%';
    file[used] = '\0';
    return true;
}

/* Returns the value of a digit, or -1. */
static int digit_value(char digit) {
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

bool tamis__filter_name_decode(char name[FILTER_FILE_MAX], size_t *size, const char *file) {
    char again[FILTER_FILE_MAX + 1];
    size_t used = 0;

    if (strlen(file) > FILTER_FILE_MAX)
        return false;
    for (const char *c = file; strcmp(file, "%") != 0 && *c; c++) {
        if (*c != '%') {
            name[used++] = *c;
            continue;
        }
        const int high = digit_value(c[1]), low = high < 0 ? -1 : digit_value(c[2]);
        if (low < 0)
            return false;
        name[used++] = (char)(high << 4 | low);
        c += 2;
    }
    *size = used;
    return tamis__filter_name_encode(again, (tamis_key){name, used}) && strcmp(again, file) == 0;
}
