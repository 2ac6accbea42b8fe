/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of npu-smi. What the guides type is accepted also where the original is stricter: `usage` for
 * `usages`, no -i for all devices. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "smi.h"

static void wrong(struct smi *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void wrong(struct smi *s, const char *format, ...)
{
    if (s->command == SMI_ERROR)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(s->message, sizeof s->message, format, args);
    va_end(args);
    s->command = SMI_ERROR;
}

static bool parse_int(const char *text, int least, int most, int *out)
{
    char *end;
    errno = 0;
    long v = text && *text ? strtol(text, &end, 10) : LONG_MIN;
    if (v == LONG_MIN || errno || *end || v < least || v > most)
        return false;
    *out = (int)v;
    return true;
}

static const char *after(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

static void parse_form(struct smi *s, const char *text)
{
    static const char *const names[] = {"910b", "a3", "310p", "950", "26"};
    for (int i = 0; text && i < 5; i++)
        if (strcmp(text, names[i]) == 0) {
            s->form = (enum smi_form)i;
            return;
        }
    wrong(s, "Error parameter of --form: it is one of 910b, a3, 310p, 950, 26");
}

static void parse_format(struct smi *s, const char *text)
{
    bool csv = false;
    while (*text) {
        size_t n = strcspn(text, ",");
        if (n == 3 && strncmp(text, "csv", n) == 0)
            csv = true;
        else if (n == 4 && strncmp(text, "json", n) == 0)
            s->json = csv = true;
        else if (n == 8 && strncmp(text, "noheader", n) == 0)
            s->header = false;
        else if (n == 7 && strncmp(text, "nounits", n) == 0)
            s->units = false;
        else
            wrong(s, "Error parameter of --format: %.60s (it is csv or json, with noheader and nounits)", text);
        text += n;
        text += *text == ',';
    }
    if (!csv)
        wrong(s, "Error parameter of --format: csv or json is missing");
}

static void parse_columns(struct smi *s, const char *text)
{
    size_t n = strlen(text);
    if (n == 0 || n >= sizeof s->columns || strspn(text, "ptaicmbnu") != n)
        wrong(s, "Error parameter of -s: %.60s (letters of ptaicmbnu)", text);
    else
        memcpy(s->columns, text, n + 1);
}

/* One option that takes a value; false when the word is none. */
static bool take_value(struct smi *s, const char *word, const char *value)
{
    bool watch = s->command == SMI_WATCH;
    if (!word[0] || word[0] != '-' || !word[1] || word[2] || !strchr(watch ? "icds" : "ticp", word[1]))
        return false;
    if (!value) {
        wrong(s, "Error parameter of %s: its value is missing", word);
        return true;
    }
    switch (word[1]) {
    case 't':
        s->type = strcmp(value, "usage") == 0 ? "usages" : value;
        if (s->command == SMI_INFO)
            s->command = SMI_TYPE;
        break;
    case 'i':
        if (!parse_int(value, 0, INT_MAX, &s->card))
            wrong(s, "Error parameter of -i");
        break;
    case 'c':
        if (!parse_int(value, 0, INT_MAX, &s->chip))
            wrong(s, "Error parameter of -c");
        break;
    case 'p':
        if (!parse_int(value, 0, INT_MAX, &s->physical))
            wrong(s, "Error parameter of -p");
        break;
    case 'd':
        if (!parse_int(value, 1, 100, &s->delay))
            wrong(s, "Error parameter of -d: it is from 1 to 100 seconds");
        break;
    default:
        parse_columns(s, value);
    }
    return true;
}

static void parse_info(struct smi *s, int argc, char *const *argv)
{
    s->command = SMI_INFO;
    s->topic = "info";
    for (int i = 0; i < argc && s->command != SMI_ERROR; i++) {
        const char *word = argv[i], *value;
        bool first = s->command == SMI_INFO;
        if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
            s->topic = s->command == SMI_WATCH ? "watch" : "info";
            s->command = SMI_HELP;
            return;
        } else if (strcmp(word, "-l") == 0 && first)
            s->command = SMI_LIST;
        else if (strcmp(word, "-m") == 0 && first)
            s->command = SMI_MAPPING;
        else if (strcmp(word, "watch") == 0 && first)
            s->command = SMI_WATCH;
        else if (strcmp(word, "proc") == 0 && first)
            s->command = SMI_PROCESSES;
        else if (strcmp(word, "--json") == 0)
            s->json = true;
        else if ((value = after(word, "--form=")))
            parse_form(s, value);
        else if ((value = after(word, "--count=")) && s->command == SMI_WATCH) {
            if (!parse_int(value, 1, INT_MAX, &s->count))
                wrong(s, "Error parameter of --count");
        } else if (take_value(s, word, i + 1 < argc ? argv[i + 1] : NULL))
            i++;
        else
            wrong(s, "Error parameter of %.60s", word);
    }
    if (s->command == SMI_TYPE && !smi_type_known(s->type, 'i'))
        wrong(s, "Error parameter of -t");
}

static void parse_query(struct smi *s, int argc, char *const *argv)
{
    s->command = SMI_QUERY;
    for (int i = 0; i < argc && s->command != SMI_ERROR; i++) {
        const char *value;
        if ((value = after(argv[i], "--query-npu="))) {
            s->query = value;
        } else if ((value = after(argv[i], "--query-processes="))) {
            s->query = value;
            s->query_is_processes = true;
        } else if ((value = after(argv[i], "--format="))) {
            parse_format(s, value);
        } else if (strcmp(argv[i], "--json") == 0) {
            s->json = true;
        } else if (strcmp(argv[i], "-i") == 0 && i + 1 < argc) {
            if (!parse_int(argv[++i], 0, INT_MAX, &s->card))
                wrong(s, "Error parameter of -i");
        } else {
            wrong(s, "Error parameter of %.60s", argv[i]);
        }
    }
    if (s->command == SMI_QUERY && !s->query) /* --json alone */
        s->command = SMI_INFO;
}

static void parse_change(struct smi *s, enum smi_command command, const char *name, int argc, char *const *argv)
{
    s->command = command;
    s->topic = name;
    for (int i = 0; i < argc && s->command != SMI_ERROR; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            s->command = SMI_HELP;
            return;
        }
        if (strcmp(argv[i], "-t") == 0 && i + 1 < argc)
            s->type = argv[++i];
        else if (argv[i][0] == '-' && i + 1 < argc)
            i++; /* its value: the refusal is the same */
    }
    if (command != SMI_UPGRADE && s->command == command && (!s->type || !smi_type_known(s->type, name[0])))
        wrong(s, "Error parameter of -t");
}

void smi_parse(struct smi *s, int argc, char *const *argv)
{
    *s = (struct smi){.command = SMI_HELP,
                      .form = SMI_FORM_SOC,
                      .card = -1,
                      .chip = -1,
                      .physical = -1,
                      .delay = 1,
                      .header = true,
                      .units = true};
    const char *word = argc > 1 ? argv[1] : "--help";
    if (strcmp(word, "-v") == 0 || strcmp(word, "--version") == 0)
        s->command = SMI_VERSION;
    else if (strcmp(word, "info") == 0)
        parse_info(s, argc - 2, argv + 2);
    else if (strcmp(word, "set") == 0)
        parse_change(s, SMI_SET, "set", argc - 2, argv + 2);
    else if (strcmp(word, "clear") == 0)
        parse_change(s, SMI_CLEAR, "clear", argc - 2, argv + 2);
    else if (strcmp(word, "upgrade") == 0)
        parse_change(s, SMI_UPGRADE, "upgrade", argc - 2, argv + 2);
    else if (after(word, "--query-") || strcmp(word, "--json") == 0)
        parse_query(s, argc - 1, argv + 1);
    else if (strcmp(word, "--help-query-npu") == 0 || strcmp(word, "--help-query-processes") == 0)
        s->topic = "query";
    else if (strcmp(word, "-h") != 0 && strcmp(word, "--help") != 0)
        wrong(s, "Error parameter of %.60s", word);
}
