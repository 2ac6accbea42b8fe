/* SPDX-License-Identifier: BSD-3-Clause */
/* libdcmi.so: the device management interface over card.h. Callers ask many small questions in a row, so a look at the
 * machine serves for FRESH_NS. What a software device has no figure for (fans, DVPP, traffic of links) has no function
 * here, or answers "not supported". One lock. */
#define _GNU_SOURCE
#include "dcmi/dcmi_interface_api.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/futex.h"
#include "card.h"

#define FRESH_NS     INT64_C(20000000)
#define DCMI_VERSION "25.5.1"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct machine machine;
static int64_t looked;

/* Under lock. */
static const struct machine *look(void)
{
    int64_t now = clock_ns();
    if (!looked || now - looked > FRESH_NS) {
        machine_read(&machine, CARD_SOC);
        looked = now;
    }
    return &machine;
}

/* A copy of the chip, with lists of its processes; DCMI_ERR_CODE_DEVICE_NOT_EXIST when there is none. */
static int get_chip(int card, int device, struct chip *out)
{
    pthread_mutex_lock(&lock);
    const struct chip *c = machine_chip(look(), card, device);
    if (c)
        *out = *c;
    pthread_mutex_unlock(&lock);
    return c ? DCMI_OK : DCMI_ERR_CODE_DEVICE_NOT_EXIST;
}

#define CHIP(out)                                                                                                      \
    struct chip c;                                                                                                     \
    if (!(out))                                                                                                        \
        return DCMI_ERR_CODE_INVALID_PARAMETER;                                                                        \
    int status = get_chip(card_id, device_id, &c);                                                                     \
    if (status)                                                                                                        \
    return status

static enum card_family family(void)
{
    pthread_mutex_lock(&lock);
    enum card_family f = look()->family;
    pthread_mutex_unlock(&lock);
    return f;
}

static int give_text(char *out, size_t size, const char *text)
{
    if (!out || size == 0)
        return DCMI_ERR_CODE_INVALID_PARAMETER;
    if (strlen(text) >= size)
        return DCMI_ERR_CODE_INVALID_PARAMETER;
    memcpy(out, text, strlen(text) + 1);
    return DCMI_OK;
}

int dcmi_init(void)
{
    pthread_mutex_lock(&lock);
    size_t chips = look()->chips;
    pthread_mutex_unlock(&lock);
    return chips ? DCMI_OK : DCMI_ERR_CODE_DEVICE_NOT_EXIST;
}

int dcmi_get_dcmi_version(char *dcmi_ver, unsigned int len)
{
    return give_text(dcmi_ver, len, DCMI_VERSION);
}

int dcmi_get_driver_version(char *driver_ver, unsigned int len)
{
    return give_text(driver_ver, len, CARD_VERSION);
}

int dcmi_get_driver_health(unsigned int *health)
{
    if (!health)
        return DCMI_ERR_CODE_INVALID_PARAMETER;
    *health = 0;
    return DCMI_OK;
}

int dcmi_get_card_num_list(int *card_num, int *card_list, int list_len)
{
    if (!card_num || !card_list || list_len <= 0)
        return DCMI_ERR_CODE_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    int cards = look()->cards;
    pthread_mutex_unlock(&lock);
    *card_num = cards < list_len ? cards : list_len;
    for (int i = 0; i < *card_num; i++)
        card_list[i] = i;
    return DCMI_OK;
}

int dcmi_get_card_list(int *card_num, int *card_list, int list_len)
{
    return dcmi_get_card_num_list(card_num, card_list, list_len);
}

int dcmi_get_device_num_in_card(int card_id, int *device_num)
{
    if (!device_num)
        return DCMI_ERR_CODE_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    *device_num = machine_chips_of(look(), card_id);
    pthread_mutex_unlock(&lock);
    return *device_num ? DCMI_OK : DCMI_ERR_CODE_DEVICE_NOT_EXIST;
}

int dcmi_get_device_id_in_card(int card_id, int *device_id_max, int *mcu_id, int *cpu_id)
{
    if (!mcu_id || !cpu_id)
        return DCMI_ERR_CODE_INVALID_PARAMETER;
    *mcu_id = *cpu_id = -1;
    return dcmi_get_device_num_in_card(card_id, device_id_max);
}

int dcmi_get_device_logic_id(int *device_logic_id, int card_id, int device_id)
{
    CHIP(device_logic_id);
    *device_logic_id = c.id;
    return DCMI_OK;
}

static int find(unsigned int id, struct chip *out)
{
    pthread_mutex_lock(&lock);
    const struct machine *m = look();
    bool there = id < m->chips;
    if (there)
        *out = m->chip[id];
    pthread_mutex_unlock(&lock);
    return there ? DCMI_OK : DCMI_ERR_CODE_DEVICE_NOT_EXIST;
}

int dcmi_get_device_logicid_from_phyid(unsigned int phyid, unsigned int *logicid)
{
    struct chip c;
    if (!logicid)
        return DCMI_ERR_CODE_INVALID_PARAMETER;
    int status = find(phyid, &c);
    if (!status)
        *logicid = phyid;
    return status;
}

int dcmi_get_device_phyid_from_logicid(unsigned int logicid, unsigned int *phyid)
{
    return dcmi_get_device_logicid_from_phyid(logicid, phyid);
}

int dcmi_get_card_id_device_id_from_logicid(int *card_id, int *device_id, unsigned int device_logic_id)
{
    struct chip c;
    if (!card_id || !device_id)
        return DCMI_ERR_CODE_INVALID_PARAMETER;
    int status = find(device_logic_id, &c);
    if (status)
        return status;
    *card_id = c.card;
    *device_id = c.chip;
    return DCMI_OK;
}

int dcmi_get_card_id_device_id_from_phyid(int *card_id, int *device_id, unsigned int device_phy_id)
{
    return dcmi_get_card_id_device_id_from_logicid(card_id, device_id, device_phy_id);
}

int dcmi_get_device_type(int card_id, int device_id, enum dcmi_unit_type *device_type)
{
    CHIP(device_type);
    *device_type = NPU_TYPE;
    return DCMI_OK;
}

int dcmi_get_product_type(int card_id, int device_id, char *product_type_str, int buf_size)
{
    CHIP(product_type_str);
    return give_text(product_type_str, buf_size > 0 ? (size_t)buf_size : 0, "AnyNPU software device");
}

int dcmi_get_device_health(int card_id, int device_id, unsigned int *health)
{
    CHIP(health);
    *health = 0;
    return DCMI_OK;
}

int dcmi_get_device_errorcode_v2(int card_id, int device_id, int *error_count, unsigned int *error_code_list,
                                 unsigned int list_len)
{
    CHIP(error_count);
    if (!error_code_list || list_len == 0)
        return DCMI_ERR_CODE_INVALID_PARAMETER;
    *error_count = 0;
    return DCMI_OK;
}

static void give_name(unsigned char out[MAX_CHIP_NAME_LEN], const char *text)
{
    memset(out, 0, MAX_CHIP_NAME_LEN);
    memcpy(out, text, strnlen(text, MAX_CHIP_NAME_LEN - 1));
}

int dcmi_get_device_chip_info_v2(int card_id, int device_id, struct dcmi_chip_info_v2 *chip_info)
{
    CHIP(chip_info);
    pthread_mutex_lock(&lock);
    const struct machine *m = look();
    give_name(chip_info->chip_type, "Ascend");
    give_name(chip_info->chip_name, m->name);
    give_name(chip_info->chip_ver, "V1");
    give_name(chip_info->npu_name, m->family == CARD_A3 || m->family == CARD_950 ? m->name : "");
    pthread_mutex_unlock(&lock);
    chip_info->aicore_cnt = (unsigned int)c.cores;
    return DCMI_OK;
}

int dcmi_get_device_chip_info(int card_id, int device_id, struct dcmi_chip_info *chip_info)
{
    struct dcmi_chip_info_v2 v2;
    if (!chip_info)
        return DCMI_ERR_CODE_INVALID_PARAMETER;
    int status = dcmi_get_device_chip_info_v2(card_id, device_id, &v2);
    if (!status)
        memcpy(chip_info, &v2, sizeof *chip_info);
    return status;
}

int dcmi_get_device_pcie_info_v2(int card_id, int device_id, struct dcmi_pcie_info_all *pcie_info)
{
    CHIP(pcie_info);
    memset(pcie_info, 0, sizeof *pcie_info);
    pcie_info->domain = c.domain;
    pcie_info->bdf_busid = (unsigned int)c.bus;
    return DCMI_OK;
}

int dcmi_get_device_pcie_info(int card_id, int device_id, struct dcmi_pcie_info *pcie_info)
{
    CHIP(pcie_info);
    memset(pcie_info, 0, sizeof *pcie_info);
    pcie_info->bdf_busid = (unsigned int)c.bus;
    return DCMI_OK;
}

int dcmi_get_device_board_info(int card_id, int device_id, struct dcmi_board_info *board_info)
{
    CHIP(board_info);
    *board_info = (struct dcmi_board_info){.slot_id = (unsigned int)c.card};
    return DCMI_OK;
}

int dcmi_get_device_board_id(int card_id, int device_id, unsigned int *board_id)
{
    CHIP(board_id);
    *board_id = 0;
    return DCMI_OK;
}

int dcmi_get_device_aicore_info(int card_id, int device_id, struct dcmi_aicore_info *aicore_info)
{
    CHIP(aicore_info);
    aicore_info->freq = (unsigned int)c.clock;
    aicore_info->cur_freq = (unsigned int)c.clock_now;
    return DCMI_OK;
}

int dcmi_get_device_hbm_info(int card_id, int device_id, struct dcmi_hbm_info *hbm_info)
{
    CHIP(hbm_info);
    if (family() == CARD_310P)
        return DCMI_ERR_CODE_NOT_SUPPORT;
    *hbm_info = (struct dcmi_hbm_info){.memory_size = c.capacity >> 20,
                                       .freq = (unsigned int)c.memory_clock,
                                       .memory_usage = card_mb(c.used),
                                       .temp = c.temperature};
    return DCMI_OK;
}

int dcmi_get_hbm_info(int card_id, int device_id, struct dcmi_hbm_info *hbm_info)
{
    return dcmi_get_device_hbm_info(card_id, device_id, hbm_info);
}

/* DDR: only the family without HBM has it. */
int dcmi_get_device_memory_info_v3(int card_id, int device_id, struct dcmi_get_memory_info_stru *memory_info)
{
    CHIP(memory_info);
    memset(memory_info, 0, sizeof *memory_info);
    if (family() == CARD_310P) {
        memory_info->memory_size = c.capacity >> 20;
        memory_info->memory_available = memory_info->memory_size - card_mb(c.used);
        memory_info->freq = (unsigned int)c.memory_clock;
        memory_info->utiliza = card_percent(c.used, c.capacity);
    }
    return DCMI_OK;
}

int dcmi_get_device_ecc_info(int card_id, int device_id, enum dcmi_device_type input_type,
                             struct dcmi_ecc_info *device_ecc_info)
{
    CHIP(device_ecc_info);
    if (input_type != (family() == CARD_310P ? DCMI_DEVICE_TYPE_DDR : DCMI_DEVICE_TYPE_HBM))
        return DCMI_ERR_CODE_NOT_SUPPORT;
    *device_ecc_info = (struct dcmi_ecc_info){.enable_flag = 1};
    return DCMI_OK;
}

int dcmi_get_device_temperature(int card_id, int device_id, int *temperature)
{
    CHIP(temperature);
    *temperature = c.temperature;
    return DCMI_OK;
}

int dcmi_get_device_power_info(int card_id, int device_id, int *power)
{
    CHIP(power);
    *power = (int)(c.power * 10 + 0.5);
    return DCMI_OK;
}

int dcmi_mcu_get_power_info(int card_id, int *power)
{
    return dcmi_get_device_power_info(card_id, 0, power);
}

int dcmi_get_device_voltage(int card_id, int device_id, unsigned int *voltage)
{
    CHIP(voltage);
    *voltage = 75 + c.busy / 10;
    return DCMI_OK;
}

int dcmi_get_device_frequency(int card_id, int device_id, enum dcmi_freq_type input_type, unsigned int *frequency)
{
    CHIP(frequency);
    switch ((int)input_type) {
    case DCMI_FREQ_AICORE_CURRENT_:
    case DCMI_FREQ_VECTORCORE_CURRENT:
        *frequency = (unsigned int)c.clock_now;
        return DCMI_OK;
    case DCMI_FREQ_AICORE_MAX:
        *frequency = (unsigned int)c.clock;
        return DCMI_OK;
    case DCMI_FREQ_HBM:
    case DCMI_FREQ_DDR:
        if ((family() == CARD_310P) != (input_type == DCMI_FREQ_DDR))
            return DCMI_ERR_CODE_NOT_SUPPORT;
        *frequency = (unsigned int)c.memory_clock;
        return DCMI_OK;
    case DCMI_FREQ_CTRLCPU:
        return DCMI_ERR_CODE_NOT_SUPPORT;
    default:
        return DCMI_ERR_CODE_INVALID_PARAMETER;
    }
}

int dcmi_get_device_utilization_rate(int card_id, int device_id, int input_type, unsigned int *utilization_rate)
{
    CHIP(utilization_rate);
    bool ddr = family() == CARD_310P;
    switch (input_type) {
    case DCMI_UTILIZATION_RATE_AICORE:
    case DCMI_UTILIZATION_RATE_VECTORCORE:
    case DCMI_UTILIZATION_RATE_NPU:
        *utilization_rate = c.busy;
        return DCMI_OK;
    case DCMI_UTILIZATION_RATE_DDR:
        *utilization_rate = ddr ? card_percent(c.used, c.capacity) : 0;
        return DCMI_OK;
    case DCMI_UTILIZATION_RATE_HBM:
        if (ddr)
            return DCMI_ERR_CODE_NOT_SUPPORT;
        *utilization_rate = card_percent(c.used, c.capacity);
        return DCMI_OK;
    case DCMI_UTILIZATION_RATE_AICPU: /* there are none to be busy */
    case DCMI_UTILIZATION_RATE_CTRLCPU:
        *utilization_rate = 0;
        return DCMI_OK;
    case DCMI_UTILIZATION_RATE_DDR_BANDWIDTH:
    case DCMI_UTILIZATION_RATE_HBM_BANDWIDTH:
        return DCMI_ERR_CODE_NOT_SUPPORT;
    default:
        return DCMI_ERR_CODE_INVALID_PARAMETER;
    }
}

int dcmi_get_device_resource_info(int card_id, int device_id, struct dcmi_proc_mem_info *proc_info, int *proc_num)
{
    if (!proc_info || !proc_num)
        return DCMI_ERR_CODE_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    const struct machine *m = look();
    const struct chip *c = machine_chip(m, card_id, device_id);
    int n = 0;
    for (size_t i = 0; c && i < c->processes && n < MAX_PROC_NUM_IN_DEVICE; i++, n++) {
        const struct stats_process *p = &m->process[c->first_process + i];
        proc_info[n] = (struct dcmi_proc_mem_info){p->pid, (unsigned long)p->memory};
    }
    pthread_mutex_unlock(&lock);
    *proc_num = n;
    return c ? DCMI_OK : DCMI_ERR_CODE_DEVICE_NOT_EXIST;
}

int dcmi_get_device_fan_count(int card_id, int device_id, int *count)
{
    CHIP(count);
    *count = 0;
    return DCMI_OK;
}

/* All CPUs are near a device that computes on them. */
int dcmi_get_affinity_cpu_info_by_device_id(int card_id, int device_id, char *affinity_cpu, int *length)
{
    CHIP(affinity_cpu);
    if (!length)
        return DCMI_ERR_CODE_INVALID_PARAMETER;
    char text[TOPO_INFO_MAX_LENTH] = "";
    FILE *f = fopen("/sys/devices/system/cpu/online", "re");
    bool good = f && fgets(text, sizeof text, f);
    if (f)
        fclose(f);
    if (!good)
        return DCMI_ERR_CODE_INNER_ERR;
    text[strcspn(text, "\n")] = 0;
    *length = (int)strlen(text) + 1;
    memcpy(affinity_cpu, text, (size_t)*length);
    return DCMI_OK;
}

int dcmi_get_topo_info_by_device_id(int card_id1, int device_id1, int card_id2, int device_id2, int *topo_type)
{
    struct chip a, b;
    if (!topo_type)
        return DCMI_ERR_CODE_INVALID_PARAMETER;
    if (get_chip(card_id1, device_id1, &a) || get_chip(card_id2, device_id2, &b))
        return DCMI_ERR_CODE_DEVICE_NOT_EXIST;
    *topo_type = a.id == b.id ? DCMI_TOPO_TYPE_SELF : DCMI_TOPO_TYPE_HCCS;
    return DCMI_OK;
}
