/* SPDX-License-Identifier: BSD-3-Clause */
/* The framed tables of `npu-smi info`, to the character as the official tool prints them; parsers count columns. A
 * layout is the widths of its cells and the texts of its headings; what a row shows is the same in all. */
#include <string.h>

#include "smi.h"

enum { WIDTH_MAX = 128 };

/* Widths without the bars. title: of the version's cell. */
struct layout {
    int width, cells, cell[4];
    int tool, version;
    const char *head1, *head2, *process_head;
    int process_cells, process_cell[5];
};

/* The 910B's and the A3's differ in one heading. */
#define LAYOUT_910B                                                                                                    \
    .width = 96, .cells = 3, .cell = {27, 15, 52}, .tool = 24, .version = 52,                                          \
    .head1 = "| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|",     \
    .process_head =                                                                                                    \
        "| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |",          \
    .process_cells = 4, .process_cell = {27, 15, 26, 25}

static const struct layout layouts[] = {
    [SMI_FORM_910B] = {LAYOUT_910B, .head2 =
                                        "| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  "
                                        "HBM-Usage(MB)        |"},
    [SMI_FORM_A3] = {LAYOUT_910B, .head2 =
                                      "| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  "
                                      "HBM-Usage(MB)        |"},
    [SMI_FORM_310P] = {.width = 104,
                       .cells = 3,
                       .cell = {31, 17, 54},
                       .tool = 40,
                       .version = 44,
                       .head1 = "| NPU     Name                  | Health          | Power(W)     Temp(C)           "
                                "Hugepages-Usage(page) |",
                       .head2 = "| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)     "
                                "                   |",
                       .process_head = "| NPU     Chip                  | Process id      | Process name             | "
                                       "Process memory(MB)        |",
                       .process_cells = 4,
                       .process_cell = {31, 17, 26, 27}},
    [SMI_FORM_950] = {.width = 97,
                      .cells = 4,
                      .cell = {8, 18, 15, 53},
                      .tool = 40,
                      .version = 37,
                      .head1 = "| NPU ID | Name             | Health        | Power(W)    Temp(C)           "
                               "Hugepages-Usage(page) |",
                      .head2 = "|        |                  | Bus-Id        | NPU Util(%) Memory-Usage(MB)  "
                               "HBM-Usage(MB)         |",
                      .process_head =
                          "| NPU ID                    | Process id    | Process name             | Process "
                          "memory(MB)       |",
                      .process_cells = 4,
                      .process_cell = {27, 15, 26, 26}},
    [SMI_FORM_26] = {.width = 114,
                     .cells = 3,
                     .cell = {27, 15, 70},
                     .tool = 40,
                     .version = 54,
                     .head1 =
                         "| NPU   Name                | Health        | Power(W)             Temp(C)                 "
                         "Hugepages-Usage(page)   |",
                     .head2 =
                         "| Chip                      | Bus-Id        | AICore(%)            Memory-Usage(MB)        "
                         "HBM-Usage(MB)           |",
                     .process_head = "| NPU     Chip              | Process id    | Process name       | Process "
                                     "memory(MB)    | Process id in container |",
                     .process_cells = 5,
                     .process_cell = {27, 15, 20, 23, 25}},
};

enum smi_form smi_form(const struct smi *smi, const struct machine *machine)
{
    return smi->form != SMI_FORM_SOC ? smi->form : (enum smi_form)machine->family;
}

void smi_look(const struct smi *smi, struct machine *machine)
{
    machine_read(machine, smi->form == SMI_FORM_26 ? CARD_910B : (enum card_family)smi->form);
}

static void rule(const struct layout *l, char c, bool whole)
{
    char line[WIDTH_MAX + 3];
    memset(line, c, sizeof line);
    line[0] = line[l->width + 1] = '+';
    for (int i = 0, at = 0; !whole && i < l->cells; i++)
        line[at += l->cell[i] + 1] = '+';
    line[l->width + 2] = 0;
    puts(line);
}

static void full_line(const struct layout *l, const char *text)
{
    printf("| %-*s|\n", l->width - 1, text);
}

static void title(const struct layout *l)
{
    char text[WIDTH_MAX];
    rule(l, '-', true);
    snprintf(text, sizeof text, "npu-smi %-*s Version: %-*s", l->tool, CARD_VERSION, l->version, CARD_VERSION);
    full_line(l, text);
    rule(l, '-', false);
    printf("%s\n%s\n", l->head1, l->head2);
    rule(l, '=', false);
}

static void print_power(char out[16], const struct chip *c, enum smi_form form)
{
    if (form == SMI_FORM_310P)
        snprintf(out, 16, "NA");
    else if (c->chip > 0)
        snprintf(out, 16, "-");
    else
        snprintf(out, 16, "%.1f", c->power);
}

static void chip_rows(const struct machine *m, const struct chip *c, enum smi_form form)
{
    char power[16], bus[24], chip[32];
    unsigned long long used = card_mb(c->used), total = c->capacity >> 20;
    print_power(power, c, form);
    snprintf(bus, sizeof bus, "%04X:%02X:00.0", (unsigned)c->domain, (unsigned)c->bus);
    switch (form) {
    case SMI_FORM_310P:
        printf("| %-7d %-22s| %-15s | %-12s %-17d %-5d / %-14d|\n", c->card, m->name, "OK", power, c->temperature, 0,
               0);
        printf("| %-7d %-22d| %-15s | %-12u %-4llu / %-32llu |\n", c->chip, c->id, bus, c->busy, used, total);
        return;
    case SMI_FORM_950:
        printf("| %-6d | %-16s | %-13s | %-11s %-17d %-5d / %-13d |\n", c->card, m->name, "OK", power, c->temperature,
               0, 0);
        printf("| %-6s | %-16s | %-13s | %-11u %-4d / %-10d %-5llu / %-13llu |\n", "", "", bus, c->busy, 0, 0, used,
               total);
        return;
    case SMI_FORM_26:
        printf("| %-5d %-20s| %-13s | %-20s %-23d %-5d/ %-17d|\n", c->card, m->name, "OK", power, c->temperature, 0, 0);
        printf("| %-26d| %-13s | %-20u %-5d/ %-16d %-5llu/ %-17llu|\n", c->chip, bus, c->busy, 0, 0, used, total);
        return;
    default:
        if (form == SMI_FORM_A3)
            snprintf(chip, sizeof chip, "%-5d %-20d", c->chip, c->id);
        else
            snprintf(chip, sizeof chip, "%-26d", c->chip);
        printf("| %-5d %-20s| %-13s | %-11s %-17d %-5d/ %-14d|\n", c->card, m->name, "OK", power, c->temperature, 0, 0);
        printf("| %-26s| %-13s | %-11u %-5d/ %-10d %-5llu/ %-14llu|\n", chip, bus, c->busy, 0, 0, used, total);
    }
}

static void process_row(const struct layout *l, enum smi_form form, const struct chip *c, const struct stats_process *p)
{
    char where[32];
    if (form == SMI_FORM_950)
        snprintf(where, sizeof where, "%d", c->card);
    else
        snprintf(where, sizeof where, "%-7d %d", c->card, c->chip);
    const int *w = l->process_cell;
    printf("| %-*s| %-*d| %-*s| %-*llu|", w[0] - 1, where, w[1] - 1, p->pid, w[2] - 1, p->name, w[3] - 1,
           (unsigned long long)card_mb(p->memory));
    if (l->process_cells == 5)
        printf(" %-*s|", w[4] - 1, "NA");
    printf("\n");
}

int smi_process_table(const struct smi *smi, const struct machine *m)
{
    enum smi_form form = smi_form(smi, m);
    const struct layout *l = &layouts[form];
    struct layout wide = *l; /* the process table's first columns are one */
    if (form == SMI_FORM_950) {
        wide.cells = 3;
        memcpy(wide.cell, (int[]){27, 15, 53}, 3 * sizeof(int));
        l = &wide;
    }
    rule(l, '-', false);
    printf("%s\n", l->process_head);
    rule(l, '=', false);
    for (int card = 0; card < m->cards; card++) {
        if (smi->card >= 0 && card != smi->card)
            continue;
        size_t found = 0;
        for (int chip = 0; chip < machine_chips_of(m, card); chip++) {
            const struct chip *c = machine_chip(m, card, chip);
            for (size_t i = 0; i < c->processes; i++, found++)
                process_row(l, form, c, &m->process[c->first_process + i]);
        }
        if (!found) {
            char text[64];
            snprintf(text, sizeof text, "No running processes found in NPU %d", card);
            full_line(l, text);
        }
        rule(l, '=', false);
    }
    return 0;
}

int smi_summary(const struct smi *smi, const struct machine *m)
{
    enum smi_form form = smi_form(smi, m);
    const struct layout *l = &layouts[form];
    title(l);
    for (int card = 0; card < m->cards; card++) {
        if (smi->card >= 0 && card != smi->card)
            continue;
        for (int chip = 0; chip < machine_chips_of(m, card); chip++) {
            if (chip > 0)
                rule(l, '-', true);
            chip_rows(m, machine_chip(m, card, chip), form);
        }
        rule(l, '=', false);
    }
    return smi_process_table(smi, m);
}
