/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine's devices as management tools see them: cards of one or two chips, with what all processes use of them
 * (base/stats.h). npu-smi and libdcmi print and answer from it. Memory, use and processes are measured; temperature,
 * power and clocks of a software device are plausible figures that follow its use. */
#ifndef ANYNPU_DCMI_CARD_H
#define ANYNPU_DCMI_CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stats.h"

enum { CARD_CHIPS_MAX = 64, CARD_PROCESSES_MAX = 512 };

/* Families of products, which differ in the tools' layouts. CARD_SOC: that of the SoC (option ANYNPU_SOC). */
enum card_family { CARD_SOC = -1, CARD_910B, CARD_A3, CARD_310P, CARD_950 };

struct chip {
    int card, chip, id;   /* id: as the machine counts devices */
    int domain, bus;      /* PCI address dddd:bb:00.0 */
    uint64_t capacity;    /* bytes */
    uint64_t used;        /* bytes that processes have allocated */
    unsigned busy;        /* percent of the workers, last second */
    int temperature;      /* °C */
    double power;         /* W */
    int clock, clock_now; /* MHz */
    int memory_clock;     /* MHz */
    int cores;            /* AI cores */
    size_t processes, first_process;
};

struct machine {
    enum card_family family;
    char soc[32];   /* "Ascend910B3" */
    char name[32];  /* as the summary names a chip: "910B3", "Ascend910" */
    char label[40]; /* as the mapping names it: "Ascend 910B3" */
    int chips_per_card, cards;
    size_t chips;
    struct chip chip[CARD_CHIPS_MAX];
    struct stats_process process[CARD_PROCESSES_MAX];
};

/* Version that tools and the driver report. */
#define CARD_VERSION "25.5.1"

/* Looks at the machine now, as one of that family (with that family's usual SoC when the option names another's). The
 * number of devices is ANYNPU_DEVICES, or more when a process uses more. */
void machine_read(struct machine *machine, enum card_family family);

/* NULL: no such card or chip. */
const struct chip *machine_chip(const struct machine *machine, int card, int chip);

/* Chips of a card; 0: no such card. */
int machine_chips_of(const struct machine *machine, int card);

/* Percent, rounded. */
unsigned card_percent(uint64_t part, uint64_t whole);

/* MB, rounded up, so that what is allocated never shows as 0. */
uint64_t card_mb(uint64_t bytes);

#endif
