/* SPDX-License-Identifier: BSD-3-Clause */
/* Random values for every option: the parser takes or refuses each, and what it takes lies in the option's range; a
 * message about a malformed value is one line. Reproducible by the seed in the first argument. */
#include "base/options.c"

#include "check.h"

static uint64_t state;

static unsigned draw(unsigned below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(state >> 33) % below;
}

static void fill(char *text, size_t room)
{
    static const char *const pieces[] = {"0",
                                         "1",
                                         "64",
                                         "-1",
                                         "9223372036854775807",
                                         "99999999999999999999",
                                         "k",
                                         "G",
                                         "gb",
                                         "t",
                                         "malloc:",
                                         "oom:",
                                         "task:",
                                         ",",
                                         "/",
                                         "off",
                                         "en",
                                         "zh",
                                         "base",
                                         "v3",
                                         "|",
                                         "=",
                                         ":",
                                         ".",
                                         "Ascend910B3",
                                         "Ascend",
                                         "%s%n",
                                         " ",
                                         "\n",
                                         "RC1"};
    size_t n = 0;
    for (unsigned parts = draw(6); parts > 0; parts--) {
        if (draw(5)) {
            const char *piece = pieces[draw(sizeof pieces / sizeof *pieces)];
            size_t length = strlen(piece);
            if (n + length >= room)
                break;
            memcpy(text + n, piece, length);
            n += length;
        } else {
            for (unsigned k = draw(20); k > 0 && n < room - 1; k--)
                text[n++] = (char)(1 + draw(255));
        }
    }
    text[n] = 0;
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    unsigned taken = 0, refused = 0;
    for (int round = 0; round < 20000; round++)
        for (int i = 0; i < OPTION_COUNT; i++) {
            char text[256];
            int64_t number = -2;
            fill(text, sizeof text);
            const struct option_row *row = &table[i];
            if (!parse(row, text, &number)) {
                refused++;
                continue;
            }
            taken++;
            if (row->type == OPTION_BOOL || row->type == OPTION_NUMBER || row->type == OPTION_BYTES)
                CHECK(number >= row->min && number <= row->max);
            else if (row->type == OPTION_CHOICE)
                CHECK(number >= 0 && number < 16);
        }
    CHECK(taken > 10000 && refused > 10000);
    for (int i = 0; i < OPTION_COUNT; i++) { /* every default is one of its own */
        int64_t number;
        if (*table[i].value && !parse(&table[i], table[i].value, &number)) {
            fprintf(stderr, "%s\n", table[i].name);
            CHECK(false);
        }
    }
    return check_done();
}
