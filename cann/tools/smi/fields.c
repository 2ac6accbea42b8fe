/* SPDX-License-Identifier: BSD-3-Clause */
/* `npu-smi info -l`, `-m` and `-t type`: lines "key : value" a card, with a block for each chip. What a software device
 * has no figure for is answered as a device answers that lacks the unit: "This device does not support querying …". */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "smi.h"

void smi_field(const char *key, const char *format, ...)
{
    va_list args;
    printf("\t%-30s : ", key);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static unsigned used_percent(const struct chip *c)
{
    return card_percent(c->used, c->capacity);
}

static bool has_hbm(const struct machine *m)
{
    return m->family != CARD_310P;
}

static void show_usages(const struct machine *m, const struct chip *c)
{
    bool hbm = has_hbm(m);
    smi_field("DDR Capacity(MB)", "%llu", hbm ? 0ULL : (unsigned long long)(c->capacity >> 20));
    smi_field("DDR Usage Rate(%)", "%u", hbm ? 0 : used_percent(c));
    smi_field("DDR Hugepages Total(page)", "0");
    smi_field("DDR Hugepages Usage Rate(%)", "0");
    if (hbm) {
        smi_field("HBM Capacity(MB)", "%llu", (unsigned long long)(c->capacity >> 20));
        smi_field("HBM Usage Rate(%)", "%u", used_percent(c));
    }
    smi_field("Aicore Usage Rate(%)", "%u", c->busy);
    smi_field("Aivector Usage Rate(%)", "%u", c->busy);
    smi_field("Aicpu Usage Rate(%)", "0");
    smi_field("Ctrlcpu Usage Rate(%)", "0");
    smi_field("DDR Bandwidth Usage Rate(%)", "0");
    if (hbm)
        smi_field("HBM Bandwidth Usage Rate(%)", "0");
    smi_field("NPU Utilization(%)", "%u", c->busy);
    if (m->family == CARD_950)
        smi_field("Aicube Usage Rate(%)", "%u", c->busy);
}

static void show_memory(const struct machine *m, const struct chip *c)
{
    if (!has_hbm(m)) {
        smi_field("DDR Capacity(MB)", "%llu", (unsigned long long)(c->capacity >> 20));
        smi_field("Clock Speed(MHz)", "%d", c->memory_clock);
        return;
    }
    smi_field("DDR Capacity(MB)", "0");
    smi_field("DDR Clock Speed(MHz)", "0");
    smi_field("HBM Capacity(MB)", "%llu", (unsigned long long)(c->capacity >> 20));
    smi_field("HBM Clock Speed(MHz)", "%d", c->memory_clock);
    smi_field("HBM Temperature(C)", "%d", c->temperature);
    smi_field("HBM Manufacturer ID", "0x57");
}

static void show_common(const struct machine *m, const struct chip *c)
{
    smi_field("Memory Usage Rate(%)", "%u", has_hbm(m) ? 0 : used_percent(c));
    if (has_hbm(m))
        smi_field("HBM Usage Rate(%)", "%u", used_percent(c));
    smi_field("Aicore Usage Rate(%)", "%u", c->busy);
    smi_field("Aicore Freq(MHZ)", "%d", c->clock);
    smi_field("Aicore curFreq(MHZ)", "%d", c->clock_now);
    smi_field("Aicore Count", "%d", c->cores);
    smi_field("Temperature(C)", "%d", c->temperature);
    if (has_hbm(m))
        smi_field("NPU Real-time Power(W)", "%.1f", c->power);
}

static void show_health(const struct machine *m, const struct chip *c)
{
    (void)m, (void)c;
    smi_field("Health Status", "OK");
    smi_field("Error Code", "NA");
    smi_field("Error Information", "NA");
}

static void show_temp(const struct machine *m, const struct chip *c)
{
    (void)m;
    smi_field("NPU Temperature (C)", "%d", c->temperature);
}

static void show_power(const struct machine *m, const struct chip *c)
{
    (void)m;
    smi_field("NPU Real-time Power(W)", "%.1f", c->power);
}

static void show_volt(const struct machine *m, const struct chip *c)
{
    (void)m;
    smi_field("Voltage(V)", "%.2f", 0.75 + 0.1 * c->busy / 100);
}

static void show_sensors(const struct machine *m, const struct chip *c)
{
    show_temp(m, c);
    show_power(m, c);
    show_volt(m, c);
}

static void show_ecc(const struct machine *m, const struct chip *c)
{
    static const char *const counts[] = {"Single Bit Error Count",
                                         "Double Bit Error Count",
                                         "Single Bit Aggregate Total Err Cnt",
                                         "Double Bit Aggregate Total Err Cnt",
                                         "Single Bit Isolated Pages Count",
                                         "Double Bit Isolated Pages Count"};
    (void)c;
    for (int hbm = 0; hbm <= has_hbm(m); hbm++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            char key[64];
            snprintf(key, sizeof key, "%s %s", hbm ? "HBM" : "DDR", counts[i]);
            printf("\t%-40s : 0\n", key);
        }
}

static void show_ecc_enable(const struct machine *m, const struct chip *c)
{
    (void)c;
    smi_field(has_hbm(m) ? "HBM ECC Enable Flag" : "DDR ECC Enable Flag", "1");
}

static void show_err_count(const struct machine *m, const struct chip *c)
{
    (void)m, (void)c;
    smi_field("Error Count", "0");
}

static void show_flash(const struct machine *m, const struct chip *c)
{
    (void)m, (void)c;
    smi_field("Flash Count", "0");
}

static void show_processes(const struct machine *m, const struct chip *c)
{
    if (c->processes == 0)
        printf("\tNo process in device.\n");
    for (size_t i = 0; i < c->processes; i++) {
        const struct stats_process *p = &m->process[c->first_process + i];
        printf("\tProcess id:%-7d Process name:%-17s Process memory(MB):%llu\n", p->pid, p->name,
               (unsigned long long)card_mb(p->memory));
    }
}

static void show_ids(const struct machine *m, const struct chip *c)
{
    (void)m;
    smi_field("Chip Physical ID", "%d", c->id);
    smi_field("Chip Logic ID", "%d", c->id);
}

static void show_cpus(const struct machine *m, const struct chip *c)
{
    (void)m, (void)c;
    smi_field("AI CPU number", "0");
    smi_field("Control CPU number", "1");
    smi_field("Data CPU number", "0");
}

static void show_time(const struct machine *m, const struct chip *c)
{
    (void)m, (void)c;
    char text[64];
    time_t now = time(NULL);
    struct tm tm;
    strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", localtime_r(&now, &tm));
    smi_field("System Time", "%s", text);
}

static void print_bus(const struct chip *c)
{
    smi_field("PCIe Bus Info", "%04X:%02X:00.0", (unsigned)c->domain, (unsigned)c->bus);
}

/* The whole card; with -c the chip. */
static void show_card_board(const struct machine *m, int card)
{
    const struct chip *c = machine_chip(m, card, 0);
    smi_field("NPU ID", "%d", card);
    smi_field("Product Name", "AnyNPU software device");
    smi_field("Model", "NA");
    smi_field("Manufacturer", "AnyNPU");
    smi_field("Serial Number", "NA");
    smi_field("Software Version", "%s", CARD_VERSION);
    smi_field("Firmware Version", "NA");
    smi_field("Compatibility", "OK");
    smi_field("Board ID", "0x00");
    smi_field("PCB ID", "NA");
    smi_field("BOM ID", "0");
    print_bus(c);
    smi_field("Slot ID", "%d", card);
    smi_field("Class ID", "NA");
    smi_field("PCI Vendor ID", "NA");
    smi_field("PCI Device ID", "NA");
    smi_field("Subsystem Vendor ID", "NA");
    smi_field("Subsystem Device ID", "NA");
    smi_field("Chip Count", "%d", machine_chips_of(m, card));
}

static void show_chip_board(const struct machine *m, const struct chip *c)
{
    smi_field("NPU ID", "%d", c->card);
    smi_field("Chip ID", "%d", c->chip);
    smi_field("Chip Type", "Ascend");
    smi_field("Chip Name", "%s",
              m->family == CARD_A3 ? m->name
              : m->soc[0]          ? m->soc + (m->family == CARD_950 ? 0 : 6)
                                   : "NA");
    if (m->family == CARD_A3)
        smi_field("NPU Name", "%s", m->soc + strlen("Ascend910_"));
    if (m->family == CARD_950)
        smi_field("NPU Name", "%s", m->soc + strcspn(m->soc, "_") + (strchr(m->soc, '_') != NULL));
    smi_field("Chip Version", "V1");
    smi_field("Board ID", "0x00");
    smi_field("PCB ID", "NA");
    smi_field("BOM ID", "0");
    smi_field("VDie ID", "NA");
    smi_field("NDie ID", "NA");
    smi_field("Chip Position ID", "%d", c->chip);
    print_bus(c);
    smi_field("Firmware Version", "NA");
}

static const struct type {
    const char *name;
    void (*show)(const struct machine *machine, const struct chip *chip);
    bool first; /* the chip's id stands above its block, not below */
} types[] = {
    {"usages", show_usages, false},
    {"memory", show_memory, false},
    {"common", show_common, true},
    {"health", show_health, false},
    {"temp", show_temp, false},
    {"power", show_power, false},
    {"volt", show_volt, false},
    {"sensors", show_sensors, false},
    {"ecc", show_ecc, false},
    {"ecc-enable", show_ecc_enable, false},
    {"err-count", show_err_count, false},
    {"flash", show_flash, false},
    {"proc-mem", show_processes, false},
    {"phyid-remap", show_ids, false},
    {"cpu-num-cfg", show_cpus, true},
    {"sys-time", show_time, false},
};

/* Other words of the official tool. i, s, c: where it takes them. */
static const struct word {
    const char *name, *where;
} words[] = {
    {"board", "i"},
    {"product", "i"},
    {"topo", "i"},
    {"aicpu-config", "is"},
    {"work-mode", "is"},
    {"p2p-enable", "is"},
    {"device-share", "is"},
    {"info-vnpu", "i"},
    {"template-info", "i"},
    {"nve-level", "is"},
    {"mac-addr", "is"},
    {"ip", "is"},
    {"license", "i"},
    {"customized-info", "isc"},
    {"i2c_check", "i"},
    {"ssh-enable", "is"},
    {"pcie-err", "ic"},
    {"mcu-monitor", "is"},
    {"boot-area", "is"},
    {"vnpu-mode", "is"},
    {"vnpu-svm", "i"},
    {"first-power-on-date", "i"},
    {"vnpu-cfg-recover", "is"},
    {"key-manage", "isc"},
    {"pkcs-enable", "is"},
    {"p2p-mem-cfg", "is"},
    {"pwm-mode", "is"},
    {"pwm-duty-ratio", "is"},
    {"boot-select", "is"},
    {"hccs", "i"},
    {"hccs-bw", "i"},
    {"spod-info", "i"},
    {"sio-info", "i"},
    {"current-fault-event", "i"},
    {"sys-log-info", "i"},
    {"tls-csr-get", "i"},
    {"tls-cert", "isc"},
    {"tls-cert-period", "isc"},
    {"roce-info", "i"},
    {"link-err", "i"},
    {"ecc-enable", "s"},
    {"cpu-num-cfg", "s"},
    {"power-state", "s"},
    {"power-limit", "s"},
    {"sys-time", "s"},
    {"flash-cache", "c"},
    {"ecc-info", "c"},
    {"sys-log", "sc"},
    {"create-vnpu", "s"},
    {"destroy-vnpu", "s"},
    {"reset", "s"},
    {"gateway", "s"},
    {"collect-log", "s"},
    {"temp-threshold", "s"},
    {"err-count", "c"},
    {"ecc", "c"},
};

static const struct type *find_type(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

bool smi_type_known(const char *type, char command)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].name, type) == 0 && strchr(words[i].where, command))
            return true;
    return command == 'i' && find_type(type);
}

/* CPUs near the devices: of a software device all that are online. */
static void online_cpus(char *out, int size)
{
    FILE *f = fopen("/sys/devices/system/cpu/online", "re");
    if (!f || !fgets(out, size, f))
        snprintf(out, (size_t)size, "NA");
    out[strcspn(out, "\n")] = 0;
    if (f)
        fclose(f);
}

static int show_topology(const struct machine *m)
{
    char cpus[256];
    online_cpus(cpus, sizeof cpus);
    printf("\t   ");
    for (size_t i = 0; i < m->chips; i++)
        printf("NPU%-8zu", i);
    printf("CPU Affinity\n");
    for (size_t i = 0; i < m->chips; i++) {
        printf("NPU%-8zu", i);
        for (size_t k = 0; k < m->chips; k++)
            printf("%-11s", i == k ? "X" : "HCCS");
        printf("%s\n", cpus);
    }
    printf("\nLegend:\n\n"
           "  X    = Self\n"
           "  SYS  = Path traversing PCIe and NUMA nodes. Nodes are connected through SMP, such as QPI, UPI.\n"
           "  PHB  = Path traversing PCIe and the PCIe host bridge of a CPU.\n"
           "  PIX  = Path traversing a single PCIe switch\n"
           "  PXB  = Path traversing multiple PCIe switches\n"
           "  HCCS = Connection traversing HCCS.\n"
           "  SIO  = Connection of two chips of one card.\n"
           "  UB   = Connection traversing the unified bus.\n"
           "  NA   = Unknown relationship.\n");
    return 0;
}

static void show_card(const struct smi *smi, const struct machine *m, const struct type *t, int card)
{
    int chips = machine_chips_of(m, card);
    smi_field("NPU ID", "%d", card);
    if (m->family != CARD_950)
        smi_field("Chip Count", "%d", chips);
    for (int i = 0; i < chips; i++) {
        const struct chip *c = machine_chip(m, card, i);
        if (smi->chip >= 0 && i != smi->chip)
            continue;
        printf("\n");
        if (t->first && m->family != CARD_950)
            smi_field("Chip ID", "%d", i);
        t->show(m, c);
        if (!t->first && m->family != CARD_950)
            smi_field("Chip ID", "%d", i);
    }
    if (t->show == show_common && m->family != CARD_950) { /* the card's controller */
        const struct chip *c = machine_chip(m, card, 0);
        printf("\n");
        smi_field("Chip Name", "mcu");
        smi_field("Temperature(C)", "%d", c->temperature - 3);
        if (m->family == CARD_310P)
            smi_field("NPU Real-time Power(W)", "%.1f", c->power);
    }
}

static int show_board(const struct smi *smi, const struct machine *m)
{
    bool first = true;
    for (int card = 0; card < m->cards; card++) {
        if (smi->card >= 0 && card != smi->card)
            continue;
        if (!first)
            printf("\n");
        first = false;
        if (smi->chip < 0)
            show_card_board(m, card);
        else
            show_chip_board(m, machine_chip(m, card, smi->chip));
    }
    return 0;
}

int smi_type(const struct smi *smi, const struct machine *m)
{
    const struct type *t = find_type(smi->type);
    struct smi chosen = *smi;
    if (smi->physical >= 0) {
        if ((size_t)smi->physical >= m->chips) {
            printf("Error parameter of -p: chip %d does not exist, there are %zu\n", smi->physical, m->chips);
            return 1;
        }
        chosen.card = m->chip[smi->physical].card;
        chosen.chip = m->chip[smi->physical].chip;
    }
    if (strcmp(smi->type, "topo") == 0)
        return show_topology(m);
    if (strcmp(smi->type, "board") == 0)
        return show_board(&chosen, m);
    if (strcmp(smi->type, "product") == 0) {
        smi_field("Product Type", "AnyNPU software device (%s)", m->soc);
        return 0;
    }
    if (!t) {
        printf("This device does not support querying %s.\n", smi->type);
        return 1;
    }
    bool first = true;
    for (int card = 0; card < m->cards; card++) {
        if (chosen.card >= 0 && card != chosen.card)
            continue;
        if (!first)
            printf("\n");
        first = false;
        show_card(&chosen, m, t, card);
    }
    return 0;
}

int smi_list(const struct smi *smi, const struct machine *m)
{
    (void)smi;
    smi_field("Total Count", "%d", m->cards);
    for (int card = 0; card < m->cards; card++) {
        printf("\n");
        smi_field("NPU ID", "%d", card);
        if (m->family == CARD_950) {
            smi_field("Product Name", "AnyNPU software device");
            smi_field("Serial Number", "NA");
        } else {
            smi_field("Chip Count", "%d", machine_chips_of(m, card));
        }
    }
    return 0;
}

/* Columns of 31; a row for each chip, and one for the card's controller. */
int smi_mapping(const struct smi *smi, const struct machine *m)
{
    (void)smi;
    bool physical = m->family == CARD_A3, slot = m->family == CARD_950;
    if (slot)
        printf("\t%-30s %-30s %-30s\n", "NPU ID", "Slot ID", "Chip Name");
    else if (physical)
        printf("\t%-30s %-30s %-30s %-30s %-30s\n", "NPU ID", "Chip ID", "Chip Logic ID", "Chip Phy-ID", "Chip Name");
    else
        printf("\t%-30s %-30s %-30s %-30s\n", "NPU ID", "Chip ID", "Chip Logic ID", "Chip Name");
    for (int card = 0; card < m->cards; card++) {
        int chips = machine_chips_of(m, card);
        for (int i = 0; i < chips; i++) {
            const struct chip *c = machine_chip(m, card, i);
            if (slot)
                printf("\t%-30d %-30d %-30s\n", card, card, m->label);
            else if (physical)
                printf("\t%-30d %-30d %-30d %-30d %-30s\n", card, i, c->id, c->id, m->label);
            else
                printf("\t%-30d %-30d %-30d %-30s\n", card, i, c->id, m->label);
        }
        if (physical)
            printf("\t%-30d %-30d %-30s %-30s %-30s\n", card, chips, "-", "-", "Mcu");
        else if (!slot)
            printf("\t%-30d %-30d %-30s %-30s\n", card, chips, "-", "Mcu");
    }
    return 0;
}

int smi_change(const struct smi *smi)
{
    if (smi->command == SMI_UPGRADE)
        printf("This device does not support upgrading firmware.\n");
    else
        printf("This device does not support %s %s.\n", smi->command == SMI_SET ? "setting" : "clearing", smi->type);
    return 1;
}
