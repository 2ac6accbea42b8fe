/* SPDX-License-Identifier: BSD-3-Clause */
/* npu-smi: what the command line asked for, and the parts that print it. Everything is printed from one look at the
 * machine (dcmi/card.h). A part returns the exit status. */
#ifndef ANYNPU_TOOLS_SMI_H
#define ANYNPU_TOOLS_SMI_H

#include <stdbool.h>
#include <stdio.h>

#include "dcmi/card.h"

enum smi_command {
    SMI_HELP,
    SMI_VERSION,
    SMI_INFO,
    SMI_LIST,
    SMI_MAPPING,
    SMI_WATCH,
    SMI_PROCESSES,
    SMI_TYPE,
    SMI_QUERY,
    SMI_SET,
    SMI_CLEAR,
    SMI_UPGRADE,
    SMI_ERROR, /* message[] says what */
};

/* The layout of the tables; SMI_FORM_SOC: that of the SoC. */
enum smi_form { SMI_FORM_SOC = -1, SMI_FORM_910B, SMI_FORM_A3, SMI_FORM_310P, SMI_FORM_950, SMI_FORM_26 };

struct smi {
    enum smi_command command;
    enum smi_form form;
    const char *topic;        /* info, set, …: whose help is wanted */
    const char *type;         /* of -t */
    int card, chip, physical; /* -1: not given */
    int delay, count;         /* watch; count 0: for ever */
    char columns[16];         /* watch -s, "" : the usual ones */
    bool json, header, units;
    const char *query; /* of --query-npu or --query-processes */
    bool query_is_processes;
    char message[256];
};

/* Never fails: an error is a command too. Pure; the fuzzer calls it. */
void smi_parse(struct smi *smi, int argc, char *const *argv);

int smi_summary(const struct smi *smi, const struct machine *machine);
int smi_process_table(const struct smi *smi, const struct machine *machine);
int smi_list(const struct smi *smi, const struct machine *machine);
int smi_mapping(const struct smi *smi, const struct machine *machine);
int smi_type(const struct smi *smi, const struct machine *machine);
int smi_change(const struct smi *smi);
int smi_watch(const struct smi *smi);
int smi_json(const struct smi *smi, const struct machine *machine);
int smi_query(const struct smi *smi, const struct machine *machine);
int smi_help(const struct smi *smi, FILE *out);

/* Whether -t knows the word, for info ('i'), set ('s') or clear ('c'). */
bool smi_type_known(const char *type, char command);

/* Looks at the machine, as the layout asked for has it. */
void smi_look(const struct smi *smi, struct machine *machine);

/* The layout to use. */
enum smi_form smi_form(const struct smi *smi, const struct machine *machine);

/* One "key : value" line as the tool prints it. */
void smi_field(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
