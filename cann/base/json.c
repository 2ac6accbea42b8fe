/* SPDX-License-Identifier: BSD-3-Clause */
/* A recursive descent over JSON; see json.h. skip_* return the place after what they accept, NULL where it is wrong;
 * the furthest place looked at is kept for the message. */
#include "json.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64 };

static const char *skip_space(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')
        p++;
    return p;
}

static const char *skip_string(const char *p, const char **far)
{
    if (*p != '"') {
        *far = p;
        return NULL;
    }
    for (p++; *p != '"'; p++) {
        *far = p;
        if ((unsigned char)*p < 0x20)
            return NULL;
        if (*p != '\\')
            continue;
        p++;
        *far = p;
        if (*p == 'u') {
            for (int i = 0; i < 4; i++)
                if (!isxdigit((unsigned char)*++p)) {
                    *far = p;
                    return NULL;
                }
        } else if (!*p || !strchr("\"\\/bfnrt", *p)) {
            return NULL;
        }
    }
    return p + 1;
}

static const char *skip_number(const char *p, const char **far)
{
    p += *p == '-';
    *far = p;
    if (!isdigit((unsigned char)*p))
        return NULL;
    p += *p == '0' ? 1 : strspn(p, "0123456789");
    if (*p == '.') {
        *far = ++p;
        if (!isdigit((unsigned char)*p))
            return NULL;
        p += strspn(p, "0123456789");
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '+' || *p == '-';
        *far = p;
        if (!isdigit((unsigned char)*p))
            return NULL;
        p += strspn(p, "0123456789");
    }
    return p;
}

static const char *skip_value(const char *p, int depth, const char **far);

/* An object or array from its bracket on. */
static const char *skip_list(const char *p, int depth, const char **far)
{
    char end = *p == '{' ? '}' : ']';
    bool object = *p == '{';
    p = skip_space(p + 1);
    if (*p == end)
        return p + 1;
    for (;;) {
        if (object) {
            p = skip_string(p, far);
            if (!p)
                return NULL;
            p = skip_space(p);
            *far = p;
            if (*p++ != ':')
                return NULL;
        }
        p = skip_value(skip_space(p), depth - 1, far);
        if (!p)
            return NULL;
        p = skip_space(p);
        *far = p;
        if (*p == end)
            return p + 1;
        if (*p != ',')
            return NULL;
        p = skip_space(p + 1);
    }
}

static const char *skip_value(const char *p, int depth, const char **far)
{
    static const char *const words[] = {"true", "false", "null"};
    *far = p;
    if (*p == '{' || *p == '[')
        return depth > 0 ? skip_list(p, depth, far) : NULL;
    if (*p == '"')
        return skip_string(p, far);
    for (int i = 0; i < 3; i++)
        if (strncmp(p, words[i], strlen(words[i])) == 0)
            return p + strlen(words[i]);
    return skip_number(p, far);
}

bool json_valid(const char *text, size_t *at)
{
    const char *far = text, *end = skip_value(skip_space(text), DEPTH, &far);
    if (end) {
        far = skip_space(end);
        if (!*far)
            return true;
    }
    if (at)
        *at = (size_t)(far - text);
    return false;
}

const char *json_member(const char *value, const char *name)
{
    const char *far;
    size_t length = strlen(name);
    if (!value || *(value = skip_space(value)) != '{')
        return NULL;
    const char *p = skip_space(value + 1);
    while (*p == '"') {
        const char *end = skip_string(p, &far), *v = skip_space(skip_space(end) + 1);
        if ((size_t)(end - p) == length + 2 && strncmp(p + 1, name, length) == 0)
            return v;
        p = skip_space(skip_value(v, DEPTH, &far));
        p = *p == ',' ? skip_space(p + 1) : p;
    }
    return NULL;
}

const char *json_element(const char *value, size_t i)
{
    const char *far;
    if (!value || *(value = skip_space(value)) != '[')
        return NULL;
    const char *p = skip_space(value + 1);
    while (*p != ']') {
        if (i-- == 0)
            return p;
        p = skip_space(skip_value(p, DEPTH, &far));
        p = *p == ',' ? skip_space(p + 1) : p;
    }
    return NULL;
}

static size_t utf8(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    out[0] = (char)(0xe0 | c >> 12);
    out[1] = (char)(0x80 | (c >> 6 & 0x3f));
    out[2] = (char)(0x80 | (c & 0x3f));
    return 3;
}

bool json_string(const char *value, char *out, size_t size)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    if (!value || *value != '"')
        return false;
    size_t n = 0;
    for (const char *p = value + 1; *p != '"'; p++) {
        char bytes[4] = {*p};
        size_t length = 1;
        if (*p == '\\' && *++p == 'u') {
            char hex[5] = {p[1], p[2], p[3], p[4], 0};
            length = utf8((uint32_t)strtoul(hex, NULL, 16), bytes);
            p += 4;
        } else if (p[-1] == '\\') {
            const char *which = strchr(from, *p);
            bytes[0] = which ? to[which - from] : *p;
        }
        if (n + length >= size)
            return false;
        memcpy(out + n, bytes, length);
        n += length;
    }
    out[n] = 0;
    return true;
}

bool json_number(const char *value, int64_t *out)
{
    char text[32];
    const char *p = value;
    if (value && *value == '"') {
        if (!json_string(value, text, sizeof text))
            return false;
        p = text;
    }
    if (!p || (*p != '-' && !isdigit((unsigned char)*p)))
        return false;
    char *end;
    errno = 0;
    int64_t v = strtoll(p, &end, 10);
    if (errno || (p == text ? *end != 0 : *end == '.' || *end == 'e' || *end == 'E'))
        return false;
    *out = v;
    return true;
}
