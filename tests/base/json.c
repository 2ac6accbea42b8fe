/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON: what is accepted, where it goes wrong, looking values up; and that no cut or changed text makes it read beyond.
 */
#include "check.h"

#include "base/json.h"

static void accepted(void)
{
    static const char *const good[] = {
        "{}",   "[]",      " { \"a\" : [1, -2.5e+3, true, false, null, \"x\\n\\u00e9\"] } ", "0", "\"\"", "[[[[]]]]",
        "-0.5", "[0,1,10]"};
    static const struct {
        const char *text;
        size_t at;
    } bad[] = {{"", 0},        {"{", 1},           {"{\"a\":}", 5}, {"[1,]", 3},  {"01", 1},
               {"\"a", 2},     {"{\"a\" 1}", 5},   {"[1 2]", 3},    {"nul", 0},   {"1.", 2},
               {"\"\\x\"", 2}, {"\"\\u12g4\"", 5}, {"{a:1}", 1},    {"[] []", 3}, {"\"\t\"", 1}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(json_valid(good[i], NULL));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t at = 99;
        CHECK(!json_valid(bad[i].text, &at));
        CHECK_EQ(at, bad[i].at);
    }
    char deep[200];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 99);
    deep[199] = 0;
    CHECK(!json_valid(deep, NULL));
}

static void lookups(void)
{
    static const char text[] =
        "{\"first\": [10, \"20\", {\"in\": \"t\\u0065xt \\u00e9\"}], \"n\": 7, \"n\": 8, \"f\": 1.5}";
    int64_t v = 0;
    char s[16], small[4];
    CHECK(json_valid(text, NULL));
    CHECK(json_number(json_member(text, "n"), &v));
    CHECK_EQ(v, 7);
    CHECK(json_number(json_element(json_member(text, "first"), 1), &v));
    CHECK_EQ(v, 20);
    CHECK(json_string(json_member(json_element(json_member(text, "first"), 2), "in"), s, sizeof s));
    CHECK_TEXT(s, "text \xc3\xa9");
    CHECK(!json_string(json_member(json_element(json_member(text, "first"), 2), "in"), small, sizeof small));
    CHECK(!json_number(json_member(text, "f"), &v));
    CHECK(json_member(text, "firs") == NULL);
    CHECK(json_element(json_member(text, "first"), 3) == NULL);
    CHECK(json_member(json_member(text, "n"), "x") == NULL);
    CHECK(json_element(NULL, 0) == NULL);
    CHECK(!json_number("99999999999999999999", &v));
}

static void damaged(void)
{
    static const char text[] = "{\"a\": [1, {\"b\": \"\\u00e9x\"}], \"c\": -1.5e7}";
    uint32_t state = 1;
    int valid = 0;
    for (int turn = 0; turn < 200000; turn++) {
        char copy[sizeof text];
        memcpy(copy, text, sizeof text);
        for (int k = 0; k < 3; k++) {
            state = state * 1664525u + 1013904223u;
            copy[(state >> 8) % (sizeof text - 1)] = "{}[]\":,\\0a1\1"[state >> 27 & 11];
        }
        if (json_valid(copy, NULL)) {
            valid++;
            json_member(copy, "c");
            json_element(json_member(copy, "a"), 1);
        }
    }
    CHECK(valid > 0);
}

int main(void)
{
    accepted();
    lookups();
    damaged();
    return check_done();
}
