/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading small JSON texts (configuration files, rank tables) in place: check once with json_valid, then look values
 * up. A value is a pointer to its first character in the text; nothing is allocated. Pure functions, any thread. */
#ifndef ANYNPU_BASE_JSON_H
#define ANYNPU_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The whole text is one JSON value (at most 64 levels deep); else *at is where it is not. */
bool json_valid(const char *text, size_t *at);

/* The value of an object's member (the first of that name), NULL when value is no object or has none. */
const char *json_member(const char *value, const char *name);

/* The i-th element of an array, NULL when value is no array or is shorter. */
const char *json_element(const char *value, size_t i);

/* Copies a string without its quotes, escapes resolved (\u above 0x7f becomes UTF-8); false when value is no string or
 * does not fit. */
bool json_string(const char *value, char *out, size_t size);

/* A whole number, also when written as a string ("0"), as CANN's files do. */
bool json_number(const char *value, int64_t *out);

#endif
