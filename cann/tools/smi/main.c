/* SPDX-License-Identifier: BSD-3-Clause */
/* npu-smi: what the machine's NPUs are doing, in the layouts of the official tool and in JSON and CSV. Only shows:
 * a software device has nothing to set. */
#include <string.h>

#include "smi.h"

int smi_help(const struct smi *smi, FILE *out)
{
    const char *topic = smi->topic ? smi->topic : "";
    if (strcmp(topic, "info") == 0)
        fprintf(out, "Usage: npu-smi info [Options...]\n\n"
                     "Options:\n"
                     "       -l             Query all cards\n"
                     "       -m             Query the mapping of cards, chips and devices\n"
                     "       -t type        Query information of a type, of all cards or of one:\n"
                     "                      board, flash, memory, usages, sensors, temp, power, volt, common, health,\n"
                     "                      product, ecc, ecc-enable, err-count, proc-mem, phyid-remap, topo, …\n"
                     "       -i %%d          Card ID\n"
                     "       -c %%d          Chip ID\n"
                     "       -p %%d          Chip Physical ID\n"
                     "       watch          Show all cards again and again (npu-smi info watch -h)\n"
                     "       proc           Query the processes of all cards\n"
                     "       --form=F       Layout: 910b, a3, 310p, 950 or 26; the SoC's (ANYNPU_SOC) without it\n"
                     "       --json         As JSON\n"
                     "       -h, --help     This text\n");
    else if (strcmp(topic, "watch") == 0)
        fprintf(out, "Usage: npu-smi info watch [Options...]\n\n"
                     "Options:\n"
                     "       -i %%d          Card ID\n"
                     "       -c %%d          Chip ID\n"
                     "       -d %%d          Seconds between two looks, 1 to 100; 1 without it\n"
                     "       -s letters     p power, t temperature, a AI cores, i AI CPUs, c control CPUs, m memory,\n"
                     "                      b memory bandwidth, n the NPU, u cube units; ptaicmb without it\n"
                     "       --count=N      Ends after N looks\n"
                     "       -h, --help     This text\n");
    else if (strcmp(topic, "query") == 0)
        fprintf(out, "Usage: npu-smi --query-npu=FIELD,… --format=csv[,noheader][,nounits] [-i card]\n"
                     "       npu-smi --query-processes=FIELD,… --format=csv[,noheader][,nounits] [-i card]\n\n"
                     "Fields of an NPU: index, card, chip, name, soc, bus_id, driver_version, health, power.draw,\n"
                     "       temperature, clocks.aicore, utilization.aicore, utilization.memory, memory.total,\n"
                     "       memory.used, memory.free, processes, software\n"
                     "Fields of a process: npu, pid, name, used_memory, utilization\n");
    else if (strcmp(topic, "set") == 0 || strcmp(topic, "clear") == 0 || strcmp(topic, "upgrade") == 0)
        fprintf(out, "Usage: npu-smi %s -t type -i id [-c chip] [-d value]\n\nA software device has nothing to %s.\n",
                topic, topic);
    else
        fprintf(out, "Usage: npu-smi <command> [Options...]\n\n"
                     "Commands:\n"
                     "       info           Show information of the devices\n"
                     "       set            Set information of a device (refused: a software device)\n"
                     "       clear          Clear information of a device (refused: a software device)\n"
                     "       upgrade        Upgrade the firmware (refused: a software device)\n\n"
                     "       --query-npu=…  Chosen fields, as CSV or JSON (npu-smi --help-query-npu)\n"
                     "       --json         Everything, as JSON\n\n"
                     "Options:\n"
                     "       -h, --help     This text, or that of a command\n"
                     "       -v             The version\n");
    return 0;
}

static int run(const struct smi *smi)
{
    static struct machine machine;
    switch (smi->command) {
    case SMI_HELP:
        return smi_help(smi, stdout);
    case SMI_VERSION:
        printf("npu-smi version: %s\n", CARD_VERSION);
        return 0;
    case SMI_ERROR:
        printf("%s\n", smi->message); /* as the original: on stdout */
        return 1;
    case SMI_SET:
    case SMI_CLEAR:
    case SMI_UPGRADE:
        return smi_change(smi);
    default:
        break;
    }
    smi_look(smi, &machine);
    if (machine.chips == 0) {
        printf("There is no NPU card on this server.\n");
        return 1;
    }
    if (smi->card >= machine.cards) {
        printf("Error parameter of -i: card %d does not exist, there are %d\n", smi->card, machine.cards);
        return 1;
    }
    if (smi->chip >= machine.chips_per_card) {
        printf("Error parameter of -c: a card has %d chip%s\n", machine.chips_per_card,
               machine.chips_per_card == 1 ? "" : "s");
        return 1;
    }
    if (smi->json && smi->command != SMI_QUERY)
        return smi_json(smi, &machine);
    switch (smi->command) {
    case SMI_LIST:
        return smi_list(smi, &machine);
    case SMI_MAPPING:
        return smi_mapping(smi, &machine);
    case SMI_WATCH:
        return smi_watch(smi);
    case SMI_PROCESSES:
        return smi_process_table(smi, &machine);
    case SMI_TYPE:
        return smi_type(smi, &machine);
    case SMI_QUERY:
        return smi_query(smi, &machine);
    default:
        return smi_summary(smi, &machine);
    }
}

int main(int argc, char **argv)
{
    struct smi smi;
    smi_parse(&smi, argc, argv);
    int status = run(&smi);
    return fflush(stdout) == 0 ? status : 1;
}
