/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The parameters of a URI. Each reader checks the value of its parameter and marks it as used. In the end
 * tamis__redis_uri_check_used refuses the parameters that no reader used: they are misspelt or of another
 * layout.
 */
#include <inttypes.h>
#include <string.h>

#include "base/decimal.h"
#include "store/file/file_error.h"
#include "store/redis/connection/redis_uri.h"

const char *tamis__redis_uri_get(tamis__redis_uri *uri, const char *name) {
    for (size_t i = 0; i < uri->parameter_count; i++) {
        if (strcmp(uri->parameters[i].name, name) != 0)
            continue;
        uri->parameters[i].used = true;
        return uri->parameters[i].value;
    }
    return NULL;
}

static bool is_tls_parameter(const char *name) {
    static const char *const names[] = {"cacert", "cert", "key", "sni", "verify"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static tamis_status refuse_unused(const tamis__redis_uri *uri, const char *name, tamis_error *err) {
    if (is_tls_parameter(name) && !uri->has_tls)
        return tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "%s: parameter %s is for rediss:// (TLS), and this is not; write rediss://, or leave it out",
            uri->shown, tamis__show(name).text);
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "%s: parameter '%.40s' is not known, or not for this layout; see "
                       "man tamis-redis",
                       uri->shown, tamis__show(name).text);
}

tamis_status tamis__redis_uri_check_used(const tamis__redis_uri *uri, tamis_error *err) {
    for (size_t i = 0; i < uri->parameter_count; i++)
        if (!uri->parameters[i].used)
            return refuse_unused(uri, uri->parameters[i].name, err);
    return TAMIS_OK;
}

/* Parses a number in the forms of the command line: 5000000, 5M, 5e6, 64MiB. */
static bool read_scaled(const char *text, uint64_t max, uint64_t *out) {
    static const struct {
        const char *name;
        uint64_t by;
    } units[] = {{"", 1},           {"k", 1000},          {"M", 1000000},
                 {"G", 1000000000}, {"T", 1000000000000}, {"KiB", 1u << 10},
                 {"MiB", 1u << 20}, {"GiB", 1u << 30}};
    char digits[24];
    uint64_t number, zeros = 0;
    const size_t size = strspn(text, "0123456789");
    if (size == 0 || size >= sizeof digits)
        return false;
    memcpy(digits, text, size);
    digits[size] = '\0';
    if (!tamis__read_number(digits, max, &number))
        return false;
    if (text[size] == 'e') {
        if (!tamis__read_number(text + size + 1, 19, &zeros))
            return false;
        for (; zeros > 0; zeros--, number *= 10)
            if (number > max / 10)
                return false;
        *out = number;
        return true;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text + size, units[i].name) == 0 && number <= max / units[i].by) {
            *out = number * units[i].by;
            return true;
        }
    return false;
}

tamis_status tamis__redis_uri_count(tamis__redis_uri *uri, const char *name, tamis__count_range range,
                                    uint64_t *out, tamis_error *err) {
    const char *value = tamis__redis_uri_get(uri, name);
    if (!value)
        return TAMIS_OK;
    uint64_t number;
    if (!read_scaled(value, range.max, &number) || number < range.min)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "%s: parameter %s is '%.40s'; give a whole number from %" PRIu64 " to %" PRIu64,
                           uri->shown, name, tamis__show(value).text, range.min, range.max);
    *out = number;
    return TAMIS_OK;
}

tamis_status tamis__redis_uri_rate(tamis__redis_uri *uri, const char *name, double *out, tamis_error *err) {
    const char *value = tamis__redis_uri_get(uri, name);
    char *end;
    if (!value)
        return TAMIS_OK;
    double rate = tamis__read_decimal(value, &end);
    if (end != value && strcmp(end, "%") == 0) {
        rate /= 100;
        end++;
    }
    if (end == value || *end || !(rate > 0 && rate < 1) || *value < '.' || *value > '9')
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "%s: parameter %s is '%.40s'; give a rate between 0 and 1, as 0.03, or as 3%%25",
                           uri->shown, name, tamis__show(value).text);
    *out = rate;
    return TAMIS_OK;
}

tamis_status tamis__redis_uri_time(tamis__redis_uri *uri, const char *name, uint64_t *milliseconds,
                                   tamis_error *err) {
    const char *value = tamis__redis_uri_get(uri, name);
    if (!value)
        return TAMIS_OK;
    char digits[20];
    const size_t size = strspn(value, "0123456789");
    uint64_t number;
    const uint32_t unit = value[size] ? tamis__time_unit(value + size) : 1000; /* without a unit: seconds */
    if (unit > 0 && size > 0 && size < sizeof digits) {
        memcpy(digits, value, size);
        digits[size] = '\0';
        if (tamis__read_number(digits, (UINT64_C(1) << 50) / unit, &number)) {
            *milliseconds = number * unit;
            return TAMIS_OK;
        }
    }
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "%s: parameter %s is '%.40s'; give a time as 500ms, 2s, 10m, 6h or 1d", uri->shown,
                       name, tamis__show(value).text);
}
