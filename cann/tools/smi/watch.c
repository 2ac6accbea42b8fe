/* SPDX-License-Identifier: BSD-3-Clause */
/* `npu-smi info watch`: a line for each chip at each look, under one heading; ends by a signal, by --count, or when
 * nobody reads any longer. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "smi.h"

static const struct column {
    char letter;
    const char *head;
} columns[] = {{'p', "Pwr(W)"},       {'t', "Temp(C)"},     {'a', "AI Core(%)"},
               {'i', "AI Cpu(%)"},    {'c', "Ctrl Cpu(%)"}, {'m', "Memory(%)"},
               {'b', "Memory BW(%)"}, {'n', "NPU Util(%)"}, {'u', "AI Cube(%)"}};

static void cell(const char *text)
{
    printf("%-12s", text);
}

static void value_of(char letter, const struct chip *c, char out[16])
{
    switch (letter) {
    case 'p':
        snprintf(out, 16, "%.1f", c->power);
        break;
    case 't':
        snprintf(out, 16, "%d", c->temperature);
        break;
    case 'a':
    case 'n':
    case 'u':
        snprintf(out, 16, "%u", c->busy);
        break;
    case 'm':
        snprintf(out, 16, "%u", card_percent(c->used, c->capacity));
        break;
    default: /* a software device has no such processors, and nobody counts its memory traffic */
        snprintf(out, 16, "0");
    }
}

static void print_chip(const char *wanted, bool with_chip, const struct chip *c)
{
    char text[16];
    snprintf(text, sizeof text, "%d", c->card);
    cell(text);
    if (with_chip) {
        snprintf(text, sizeof text, "%d", c->chip);
        cell(text);
    }
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strchr(wanted, columns[i].letter)) {
            value_of(columns[i].letter, c, text);
            cell(text);
        }
    printf("\n");
}

int smi_watch(const struct smi *smi)
{
    static struct machine m;
    smi_look(smi, &m);
    bool with_chip = smi_form(smi, &m) != SMI_FORM_950;
    const char *wanted = smi->columns[0] ? smi->columns : with_chip ? "ptaicmb" : "ptaicmbnu";
    cell("NpuID(Idx)");
    if (with_chip)
        cell("ChipId(Idx)");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strchr(wanted, columns[i].letter))
            cell(columns[i].head);
    printf("\n");
    for (int look = 1;; look++) {
        for (size_t i = 0; i < m.chips; i++) {
            const struct chip *c = &m.chip[i];
            if ((smi->card < 0 || c->card == smi->card) && (smi->chip < 0 || c->chip == smi->chip))
                print_chip(wanted, with_chip, c);
        }
        if (fflush(stdout) != 0)
            return 1;
        if (look == smi->count)
            return 0;
        nanosleep(&(struct timespec){smi->delay, 0}, NULL);
        smi_look(smi, &m);
    }
}
