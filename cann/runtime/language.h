/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of failures in the user's language: option ANYNPU_LANG=zh. Codes, names and numbers stay as they are. */
#ifndef ANYNPU_RUNTIME_LANGUAGE_H
#define ANYNPU_RUNTIME_LANGUAGE_H

/* The text or format in the chosen language; itself where that has none. The conversions of a format are the same and
 * in the same order. Any thread, no lock. */
const char *in_language(const char *english);

/* Pairs of the table, for the test: english and chinese of row i; 0 beyond the last. */
int language_row(int i, const char **english, const char **chinese);

#endif
