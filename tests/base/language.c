/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of texts in other languages: each pair has the same conversions in the same order, so that a format never
 * reads an argument as another type. The table is the runtime's; it needs nothing but base. */
#include "runtime/language.c"

#include "check.h"

/* The conversions of a format, one after another: "%u" "%.3f" …; a "*" or "$" would need more care. */
static void conversions(const char *format, char *out, size_t size)
{
    size_t n = 0;
    for (const char *p = format; *p && n < size - 1;) {
        if (*p != '%') {
            p++;
            continue;
        }
        size_t length = 1 + strcspn(p + 1, "diouxXeEfFgGaAcspn%") + 1;
        for (size_t i = 0; i < length && n < size - 1; i++)
            out[n++] = p[i];
        p += length;
    }
    out[n] = 0;
}

int main(void)
{
    const char *english, *chinese;
    int rows = 0;
    for (; language_row(rows, &english, &chinese); rows++) {
        char a[256], b[256];
        conversions(english, a, sizeof a);
        conversions(chinese, b, sizeof b);
        CHECK(strcmp(a, b) == 0);
        CHECK(!strchr(a, '*') && !strchr(a, '$'));
        CHECK(*english && *chinese && strcmp(english, chinese) != 0);
        for (int other = 0; other < rows; other++) {
            const char *e, *c;
            language_row(other, &e, &c);
            CHECK(strcmp(e, english) != 0);
        }
    }
    CHECK(rows > 30);
    setenv("ANYNPU_LANG", "zh", 1);
    language_row(0, &english, &chinese);
    CHECK_TEXT(in_language(english), chinese);
    CHECK_TEXT(in_language("no such text"), "no such text");
    return check_done();
}
