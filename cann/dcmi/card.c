/* SPDX-License-Identifier: BSD-3-Clause */
/* See card.h. No state: each look reads the shared statistics anew. */
#include "card.h"

#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/soc.h"

enum { PCI_FIRST_BUS = 0xc1 };

static enum card_family family_of(const char *soc)
{
    if (strncmp(soc, "Ascend910_93", 12) == 0)
        return CARD_A3;
    if (strncmp(soc, "Ascend310", 9) == 0)
        return CARD_310P;
    if (strncmp(soc, "Ascend950", 9) == 0)
        return CARD_950;
    return CARD_910B;
}

static void name_chips(struct machine *m)
{
    const char *bare = strncmp(m->soc, "Ascend", 6) == 0 ? m->soc + 6 : m->soc;
    if (m->family == CARD_A3) {
        snprintf(m->name, sizeof m->name, "Ascend910");
        snprintf(m->label, sizeof m->label, "Ascend910");
    } else if (m->family == CARD_950) {
        snprintf(m->name, sizeof m->name, "%.*s", (int)strcspn(m->soc, "_"), m->soc);
        snprintf(m->label, sizeof m->label, "%s", m->name);
    } else {
        snprintf(m->name, sizeof m->name, "%s", bare);
        snprintf(m->label, sizeof m->label, "Ascend %s", bare);
    }
}

unsigned card_percent(uint64_t part, uint64_t whole)
{
    return whole ? (unsigned)((double)part * 100 / (double)whole + 0.5) : 0;
}

uint64_t card_mb(uint64_t bytes)
{
    return (bytes + (1 << 20) - 1) >> 20;
}

/* What a chip of the family draws idle and busy: W, °C, MHz. */
static const struct physics {
    double idle, load;
    int cool, warm, clock, clock_idle, memory_clock;
} physics[] = {
    [CARD_910B] = {92, 230, 38, 24, 1800, 800, 1600},
    [CARD_A3] = {160, 300, 37, 24, 1800, 800, 1600},
    [CARD_310P] = {16, 40, 42, 20, 1080, 960, 3200},
    [CARD_950] = {200, 220, 48, 24, 1650, 100, 3200},
};

static void read_chip(struct machine *m, struct chip *c, size_t *processes)
{
    c->first_process = *processes;
    c->processes = stats_read(c->id, m->process + *processes, CARD_PROCESSES_MAX - *processes);
    *processes += c->processes;
    uint64_t busy = 0;
    for (size_t i = 0; i < c->processes; i++) {
        const struct stats_process *p = &m->process[c->first_process + i];
        c->used += p->memory;
        busy += p->busy;
        if (p->capacity > c->capacity && p->capacity <= (uint64_t)1 << 44)
            c->capacity = p->capacity;
    }
    if (c->used > c->capacity)
        c->used = c->capacity;
    c->busy = (unsigned)((busy < STATS_FULL ? busy : STATS_FULL) + 50) / 100;
    const struct physics *f = &physics[m->family];
    double share = c->busy / 100.0, own = c->id * 7 % 5;
    c->power = f->idle + f->load * share + own * 0.7;
    c->temperature = f->cool + (int)(f->warm * share) + (int)own / 2;
    c->clock = f->clock;
    c->clock_now = c->busy ? f->clock : f->clock_idle;
    c->memory_clock = f->memory_clock;
}

void machine_read(struct machine *m, enum card_family family)
{
    memset(m, 0, sizeof *m);
    snprintf(m->soc, sizeof m->soc, "%s", option_text(OPTION_SOC));
    m->family = family_of(m->soc);
    if (family != CARD_SOC && family != m->family) {
        static const char *const usual[] = {"Ascend910B3", "Ascend910_9382", "Ascend310P3", "Ascend950PR_9599"};
        m->family = family;
        snprintf(m->soc, sizeof m->soc, "%s", usual[family]);
    }
    name_chips(m);
    int chips = (int)option_number(OPTION_DEVICES), used = stats_devices();
    if (used > chips && chips > 0) /* a machine without devices has none, whatever other folders say */
        chips = used;
    if (chips > CARD_CHIPS_MAX)
        chips = CARD_CHIPS_MAX;
    m->chips_per_card = m->family == CARD_A3 ? 2 : 1;
    m->chips = (size_t)chips;
    m->cards = (chips + m->chips_per_card - 1) / m->chips_per_card;
    const struct soc *soc = soc_find(m->soc);
    size_t processes = 0;
    for (int i = 0; i < chips; i++) {
        struct chip *c = &m->chip[i];
        *c = (struct chip){.card = i / m->chips_per_card,
                           .chip = i % m->chips_per_card,
                           .id = i,
                           .domain = i / 32,
                           .bus = PCI_FIRST_BUS + i % 32,
                           .capacity = (uint64_t)option_number(OPTION_MEMORY),
                           .cores = soc ? soc->cube : 0};
        read_chip(m, c, &processes);
    }
}

int machine_chips_of(const struct machine *m, int card)
{
    if (card < 0 || card >= m->cards)
        return 0;
    int rest = (int)m->chips - card * m->chips_per_card;
    return rest < m->chips_per_card ? rest : m->chips_per_card;
}

const struct chip *machine_chip(const struct machine *m, int card, int chip)
{
    return chip >= 0 && chip < machine_chips_of(m, card) ? &m->chip[card * m->chips_per_card + chip] : NULL;
}
