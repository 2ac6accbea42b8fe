/* SPDX-License-Identifier: BSD-3-Clause */
/* DCMI, the device management interface below npu-smi: the functions that monitors and device plugins call. Devices are
 * named by card and chip. 0, or one of the codes below. */
#ifndef __DCMI_INTERFACE_API_H__
#define __DCMI_INTERFACE_API_H__

#ifdef __cplusplus
extern "C" {
#endif

#define DCMI_OK                          0
#define DCMI_ERR_CODE_INVALID_PARAMETER  (-8001)
#define DCMI_ERR_CODE_OPER_NOT_PERMITTED (-8002)
#define DCMI_ERR_CODE_INNER_ERR          (-8005)
#define DCMI_ERR_CODE_TIME_OUT           (-8006)
#define DCMI_ERR_CODE_INVALID_DEVICE_ID  (-8007)
#define DCMI_ERR_CODE_DEVICE_NOT_EXIST   (-8008)
#define DCMI_ERR_CODE_NOT_SUPPORT        (-8255)

#define MAX_CHIP_NAME_LEN      32
#define MAX_CARD_NUM           64
#define MAX_PROC_NUM_IN_DEVICE 64
#define TOPO_INFO_MAX_LENTH    32

enum dcmi_unit_type { NPU_TYPE = 0, MCU_TYPE = 1, CPU_TYPE = 2, INVALID_TYPE = 0xFF };

enum dcmi_device_type { DCMI_DEVICE_TYPE_DDR, DCMI_DEVICE_TYPE_SRAM, DCMI_DEVICE_TYPE_HBM, DCMI_DEVICE_TYPE_NPU };

enum dcmi_freq_type {
    DCMI_FREQ_DDR = 1,
    DCMI_FREQ_CTRLCPU = 2,
    DCMI_FREQ_HBM = 6,
    DCMI_FREQ_AICORE_CURRENT_ = 7,
    DCMI_FREQ_AICORE_MAX = 9,
    DCMI_FREQ_VECTORCORE_CURRENT = 12
};

/* What dcmi_get_device_utilization_rate() is asked for. */
enum dcmi_utilization_type {
    DCMI_UTILIZATION_RATE_DDR = 1,
    DCMI_UTILIZATION_RATE_AICORE = 2,
    DCMI_UTILIZATION_RATE_AICPU = 3,
    DCMI_UTILIZATION_RATE_CTRLCPU = 4,
    DCMI_UTILIZATION_RATE_DDR_BANDWIDTH = 5,
    DCMI_UTILIZATION_RATE_HBM = 6,
    DCMI_UTILIZATION_RATE_HBM_BANDWIDTH = 10,
    DCMI_UTILIZATION_RATE_VECTORCORE = 12,
    DCMI_UTILIZATION_RATE_NPU = 13
};

enum dcmi_topo_type {
    DCMI_TOPO_TYPE_SELF = 0,
    DCMI_TOPO_TYPE_SYS,
    DCMI_TOPO_TYPE_PHB,
    DCMI_TOPO_TYPE_HCCS,
    DCMI_TOPO_TYPE_PXB,
    DCMI_TOPO_TYPE_PIX,
    DCMI_TOPO_TYPE_BUTT = 6,
    DCMI_TOPO_TYOE_MAX
};

struct dcmi_chip_info {
    unsigned char chip_type[MAX_CHIP_NAME_LEN];
    unsigned char chip_name[MAX_CHIP_NAME_LEN];
    unsigned char chip_ver[MAX_CHIP_NAME_LEN];
    unsigned int aicore_cnt;
};

struct dcmi_chip_info_v2 {
    unsigned char chip_type[MAX_CHIP_NAME_LEN];
    unsigned char chip_name[MAX_CHIP_NAME_LEN];
    unsigned char chip_ver[MAX_CHIP_NAME_LEN];
    unsigned int aicore_cnt;
    unsigned char npu_name[MAX_CHIP_NAME_LEN];
};

struct dcmi_pcie_info {
    unsigned int deviceid;
    unsigned int venderid;
    unsigned int subvenderid;
    unsigned int subdeviceid;
    unsigned int bdf_deviceid;
    unsigned int bdf_busid;
    unsigned int bdf_funcid;
};

struct dcmi_pcie_info_all {
    unsigned int venderid;
    unsigned int subvenderid;
    unsigned int deviceid;
    unsigned int subdeviceid;
    int domain;
    unsigned int bdf_busid;
    unsigned int bdf_deviceid;
    unsigned int bdf_funcid;
    unsigned char reserve[32];
};

struct dcmi_board_info {
    unsigned int board_id;
    unsigned int pcb_id;
    unsigned int bom_id;
    unsigned int slot_id;
};

struct dcmi_hbm_info { /* MB, MHz, MB, degrees Celsius, percent */
    unsigned long long memory_size;
    unsigned int freq;
    unsigned long long memory_usage;
    int temp;
    unsigned int bandwith_util_rate;
};

struct dcmi_get_memory_info_stru { /* MB, MHz, percent */
    unsigned long long memory_size;
    unsigned long long memory_available;
    unsigned int freq;
    unsigned long hugepagesize;
    unsigned long hugepages_total;
    unsigned long hugepages_free;
    unsigned int utiliza;
    unsigned char reserve[60];
};

struct dcmi_ecc_info {
    int enable_flag;
    unsigned int single_bit_error_cnt;
    unsigned int double_bit_error_cnt;
    unsigned int total_single_bit_error_cnt;
    unsigned int total_double_bit_error_cnt;
    unsigned int single_bit_isolated_pages_cnt;
    unsigned int double_bit_isolated_pages_cnt;
};

struct dcmi_aicore_info { /* MHz */
    unsigned int freq;
    unsigned int cur_freq;
};

struct dcmi_proc_mem_info { /* bytes */
    int proc_id;
    unsigned long proc_mem_usage;
};

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

int dcmi_init(void);
int dcmi_get_dcmi_version(char *dcmi_ver, unsigned int len);
int dcmi_get_driver_version(char *driver_ver, unsigned int len);
int dcmi_get_driver_health(unsigned int *health);

int dcmi_get_card_num_list(int *card_num, int *card_list, int list_len);
int dcmi_get_card_list(int *card_num, int *card_list, int list_len);
int dcmi_get_device_num_in_card(int card_id, int *device_num);
int dcmi_get_device_id_in_card(int card_id, int *device_id_max, int *mcu_id, int *cpu_id);
int dcmi_get_device_logic_id(int *device_logic_id, int card_id, int device_id);
int dcmi_get_device_logicid_from_phyid(unsigned int phyid, unsigned int *logicid);
int dcmi_get_device_phyid_from_logicid(unsigned int logicid, unsigned int *phyid);
int dcmi_get_card_id_device_id_from_logicid(int *card_id, int *device_id, unsigned int device_logic_id);
int dcmi_get_card_id_device_id_from_phyid(int *card_id, int *device_id, unsigned int device_phy_id);

int dcmi_get_device_type(int card_id, int device_id, enum dcmi_unit_type *device_type);
int dcmi_get_product_type(int card_id, int device_id, char *product_type_str, int buf_size);
int dcmi_get_device_health(int card_id, int device_id, unsigned int *health);
int dcmi_get_device_errorcode_v2(int card_id, int device_id, int *error_count, unsigned int *error_code_list,
                                 unsigned int list_len);
int dcmi_get_device_chip_info(int card_id, int device_id, struct dcmi_chip_info *chip_info);
int dcmi_get_device_chip_info_v2(int card_id, int device_id, struct dcmi_chip_info_v2 *chip_info);
int dcmi_get_device_pcie_info(int card_id, int device_id, struct dcmi_pcie_info *pcie_info);
int dcmi_get_device_pcie_info_v2(int card_id, int device_id, struct dcmi_pcie_info_all *pcie_info);
int dcmi_get_device_board_info(int card_id, int device_id, struct dcmi_board_info *board_info);
int dcmi_get_device_board_id(int card_id, int device_id, unsigned int *board_id);
int dcmi_get_device_aicore_info(int card_id, int device_id, struct dcmi_aicore_info *aicore_info);

int dcmi_get_device_hbm_info(int card_id, int device_id, struct dcmi_hbm_info *hbm_info);
int dcmi_get_hbm_info(int card_id, int device_id, struct dcmi_hbm_info *hbm_info);
int dcmi_get_device_memory_info_v3(int card_id, int device_id, struct dcmi_get_memory_info_stru *memory_info);
int dcmi_get_device_ecc_info(int card_id, int device_id, enum dcmi_device_type input_type,
                             struct dcmi_ecc_info *device_ecc_info);
int dcmi_get_device_temperature(int card_id, int device_id, int *temperature);
int dcmi_get_device_power_info(int card_id, int device_id, int *power);         /* 0.1 W */
int dcmi_mcu_get_power_info(int card_id, int *power);                           /* 0.1 W */
int dcmi_get_device_voltage(int card_id, int device_id, unsigned int *voltage); /* 0.01 V */
int dcmi_get_device_frequency(int card_id, int device_id, enum dcmi_freq_type input_type, unsigned int *frequency);
int dcmi_get_device_utilization_rate(int card_id, int device_id, int input_type, unsigned int *utilization_rate);
int dcmi_get_device_resource_info(int card_id, int device_id, struct dcmi_proc_mem_info *proc_info, int *proc_num);
int dcmi_get_device_fan_count(int card_id, int device_id, int *count);

int dcmi_get_affinity_cpu_info_by_device_id(int card_id, int device_id, char *affinity_cpu, int *length);
int dcmi_get_topo_info_by_device_id(int card_id1, int device_id1, int card_id2, int device_id2, int *topo_type);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif
