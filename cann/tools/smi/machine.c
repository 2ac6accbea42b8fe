/* SPDX-License-Identifier: BSD-3-Clause */
/* What npu-smi says to programs: everything as JSON, chosen fields as CSV or JSON. The names of the fields stay. That
 * the device is software, so that temperature, power and clocks are modelled, is one of them. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "smi.h"

static void json_text(const char *text)
{
    putchar('"');
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p == '"' || *p == '\\')
            printf("\\%c", *p);
        else if (*p < 32 || *p >= 127)
            putchar('?');
        else
            putchar(*p);
    putchar('"');
}

static void csv_text(const char *text)
{
    if (!strpbrk(text, ",\"\n")) {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

enum kind { NUMBER, DECIMAL, TEXT, FLAG };

struct value {
    enum kind kind;
    uint64_t number;
    double decimal;
    const char *text;
};

struct field {
    const char *name, *unit;
    enum kind kind;
};

enum npu_field {
    NPU_INDEX,
    NPU_CARD,
    NPU_CHIP,
    NPU_NAME,
    NPU_SOC,
    NPU_BUS,
    NPU_DRIVER,
    NPU_HEALTH,
    NPU_POWER,
    NPU_TEMPERATURE,
    NPU_CLOCK,
    NPU_BUSY,
    NPU_MEMORY_BUSY,
    NPU_TOTAL,
    NPU_USED,
    NPU_FREE,
    NPU_PROCESSES,
    NPU_SOFTWARE,
    NPU_FIELDS
};

static const struct field npu_fields[] = {
    [NPU_INDEX] = {"index", "", NUMBER},
    [NPU_CARD] = {"card", "", NUMBER},
    [NPU_CHIP] = {"chip", "", NUMBER},
    [NPU_NAME] = {"name", "", TEXT},
    [NPU_SOC] = {"soc", "", TEXT},
    [NPU_BUS] = {"bus_id", "", TEXT},
    [NPU_DRIVER] = {"driver_version", "", TEXT},
    [NPU_HEALTH] = {"health", "", TEXT},
    [NPU_POWER] = {"power.draw", "W", DECIMAL},
    [NPU_TEMPERATURE] = {"temperature", "C", NUMBER},
    [NPU_CLOCK] = {"clocks.aicore", "MHz", NUMBER},
    [NPU_BUSY] = {"utilization.aicore", "%", NUMBER},
    [NPU_MEMORY_BUSY] = {"utilization.memory", "%", NUMBER},
    [NPU_TOTAL] = {"memory.total", "MiB", NUMBER},
    [NPU_USED] = {"memory.used", "MiB", NUMBER},
    [NPU_FREE] = {"memory.free", "MiB", NUMBER},
    [NPU_PROCESSES] = {"processes", "", NUMBER},
    [NPU_SOFTWARE] = {"software", "", FLAG},
};

enum process_field { PROCESS_NPU, PROCESS_PID, PROCESS_NAME, PROCESS_MEMORY, PROCESS_BUSY, PROCESS_FIELDS };

static const struct field process_fields[] = {
    [PROCESS_NPU] = {"npu", "", NUMBER},           [PROCESS_PID] = {"pid", "", NUMBER},
    [PROCESS_NAME] = {"name", "", TEXT},           [PROCESS_MEMORY] = {"used_memory", "MiB", NUMBER},
    [PROCESS_BUSY] = {"utilization", "%", NUMBER},
};

static struct value npu_value(const struct machine *m, const struct chip *c, int field)
{
    static char bus[24];
    uint64_t total = c->capacity >> 20, used = card_mb(c->used);
    struct value v = {.kind = npu_fields[field].kind};
    switch ((enum npu_field)field) {
    case NPU_INDEX:
        v.number = (uint64_t)c->id;
        break;
    case NPU_CARD:
        v.number = (uint64_t)c->card;
        break;
    case NPU_CHIP:
        v.number = (uint64_t)c->chip;
        break;
    case NPU_NAME:
        v.text = m->name;
        break;
    case NPU_SOC:
        v.text = m->soc;
        break;
    case NPU_BUS:
        snprintf(bus, sizeof bus, "%04X:%02X:00.0", (unsigned)c->domain, (unsigned)c->bus);
        v.text = bus;
        break;
    case NPU_DRIVER:
        v.text = CARD_VERSION;
        break;
    case NPU_HEALTH:
        v.text = "OK";
        break;
    case NPU_POWER:
        v.decimal = c->power;
        break;
    case NPU_TEMPERATURE:
        v.number = (uint64_t)c->temperature;
        break;
    case NPU_CLOCK:
        v.number = (uint64_t)c->clock_now;
        break;
    case NPU_BUSY:
        v.number = c->busy;
        break;
    case NPU_MEMORY_BUSY:
        v.number = card_percent(c->used, c->capacity);
        break;
    case NPU_TOTAL:
        v.number = total;
        break;
    case NPU_USED:
        v.number = used;
        break;
    case NPU_FREE:
        v.number = total > used ? total - used : 0;
        break;
    case NPU_PROCESSES:
        v.number = c->processes;
        break;
    case NPU_SOFTWARE:
        v.number = 1;
        break;
    case NPU_FIELDS:
        break;
    }
    return v;
}

static struct value process_value(const struct chip *c, const struct stats_process *p, int field)
{
    struct value v = {.kind = process_fields[field].kind};
    switch ((enum process_field)field) {
    case PROCESS_NPU:
        v.number = (uint64_t)c->id;
        break;
    case PROCESS_PID:
        v.number = (uint64_t)p->pid;
        break;
    case PROCESS_NAME:
        v.text = p->name;
        break;
    case PROCESS_MEMORY:
        v.number = card_mb(p->memory);
        break;
    case PROCESS_BUSY:
        v.number = (p->busy + 50) / 100;
        break;
    case PROCESS_FIELDS:
        break;
    }
    return v;
}

static void print_value(const struct value *v, const char *unit, bool json)
{
    if (v->kind == TEXT)
        (json ? json_text : csv_text)(v->text);
    else if (v->kind == DECIMAL)
        printf("%.1f", v->decimal);
    else if (v->kind == FLAG)
        fputs(v->number ? "true" : "false", stdout);
    else
        printf("%" PRIu64, v->number);
    if (*unit && !json)
        printf(" %s", unit);
}

static void json_row(const struct field *fields, int count, struct value (*value)(void *, int), void *arg)
{
    printf("{");
    for (int i = 0; i < count; i++) {
        struct value v = value(arg, i);
        printf("%s\"%s\": ", i ? ", " : "", fields[i].name);
        print_value(&v, "", true);
    }
}

struct row {
    const struct machine *m;
    const struct chip *c;
    const struct stats_process *p;
};

static struct value npu_of(void *arg, int field)
{
    struct row *r = arg;
    return npu_value(r->m, r->c, field);
}

static struct value process_of(void *arg, int field)
{
    struct row *r = arg;
    return process_value(r->c, r->p, field);
}

int smi_json(const struct smi *smi, const struct machine *m)
{
    char now[64];
    time_t t = time(NULL);
    struct tm tm;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%S%z", localtime_r(&t, &tm));
    printf("{\"version\": \"%s\", \"timestamp\": \"%s\", \"note\": \"software device: memory, utilization and "
           "processes are "
           "measured; temperature, power and clocks are modelled\",\n \"devices\": [",
           CARD_VERSION, now);
    bool first = true;
    for (size_t i = 0; i < m->chips; i++) {
        struct row r = {m, &m->chip[i], NULL};
        if ((smi->card >= 0 && r.c->card != smi->card) || (smi->chip >= 0 && r.c->chip != smi->chip))
            continue;
        printf("%s\n  ", first ? "" : ",");
        first = false;
        json_row(npu_fields, NPU_PROCESSES, npu_of, &r);
        printf(", \"software\": true, \"processes\": [");
        for (size_t k = 0; k < r.c->processes; k++) {
            r.p = &m->process[r.c->first_process + k];
            printf("%s\n    ", k ? "," : "");
            json_row(process_fields, PROCESS_FIELDS, process_of, &r);
            printf("}");
        }
        printf("]}");
    }
    printf("\n]}\n");
    return 0;
}

/* The fields of "a,b c": their numbers, or -1 after saying which is unknown. */
static int parse_fields(const char *text, const struct field *fields, int count, int out[64])
{
    int n = 0;
    while (*text) {
        size_t skip = strspn(text, ", "), length = strcspn(text += skip, ", ");
        if (!length)
            break;
        int f = 0;
        while (f < count && (strlen(fields[f].name) != length || strncmp(fields[f].name, text, length) != 0))
            f++;
        if (f == count || n == 64) {
            printf("Field \"%.*s\" is not a valid field to query. See npu-smi --help-query-npu.\n",
                   (int)(length < 80 ? length : 80), text);
            return -1;
        }
        out[n++] = f;
        text += length;
    }
    if (n == 0)
        printf("No field to query. See npu-smi --help-query-npu.\n");
    return n ? n : -1;
}

static void query_row(const struct smi *smi, const struct field *fields, const int *chosen, int n,
                      struct value (*value)(void *, int), struct row *r, bool first)
{
    if (smi->json)
        printf("%s\n {", first ? "" : ",");
    for (int i = 0; i < n; i++) {
        const struct field *f = &fields[chosen[i]];
        struct value v = value(r, chosen[i]);
        fputs(i ? ", " : "", stdout);
        if (smi->json)
            printf("\"%s\": ", f->name);
        print_value(&v, smi->units ? f->unit : "", smi->json);
    }
    printf(smi->json ? "}" : "\n");
}

int smi_query(const struct smi *smi, const struct machine *m)
{
    const struct field *fields = smi->query_is_processes ? process_fields : npu_fields;
    int chosen[64],
        n = parse_fields(smi->query, fields, smi->query_is_processes ? (int)PROCESS_FIELDS : (int)NPU_FIELDS, chosen);
    if (n < 0)
        return 1;
    if (smi->json) {
        printf("[");
    } else if (smi->header) {
        for (int i = 0; i < n; i++) {
            const struct field *f = &fields[chosen[i]];
            printf(*f->unit && smi->units ? "%s%s [%s]" : "%s%s", i ? ", " : "", f->name, f->unit);
        }
        printf("\n");
    }
    bool first = true;
    for (size_t i = 0; i < m->chips; i++) {
        struct row r = {m, &m->chip[i], NULL};
        if (smi->card >= 0 && r.c->card != smi->card)
            continue;
        if (!smi->query_is_processes) {
            query_row(smi, fields, chosen, n, npu_of, &r, first);
            first = false;
        }
        for (size_t k = 0; smi->query_is_processes && k < r.c->processes; k++) {
            r.p = &m->process[r.c->first_process + k];
            query_row(smi, fields, chosen, n, process_of, &r, first);
            first = false;
        }
    }
    if (smi->json)
        printf("\n]\n");
    return 0;
}
