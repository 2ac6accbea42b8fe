/* SPDX-License-Identifier: BSD-3-Clause */
/* Options: values of each type, malformed ones, and the table as documentation. */
#include "child.h"

#include "base/cpu.h"
#include "base/host.h"
#include "base/options.h"

static void good(void)
{
    CHECK_EQ(option_number(OPTION_DEVICES), 8);
    CHECK_EQ(option_number(OPTION_MEMORY), INT64_C(3) << 30);
    CHECK_EQ(option_number(OPTION_KEEP), 1000);
    CHECK_EQ(option_number(OPTION_CPU), 1);
    CHECK_EQ(option_number(OPTION_BLOCKING), 1);
    CHECK_TEXT(option_text(OPTION_FAULT), "malloc:3,oom:2g");
    CHECK(option_is_set(OPTION_DEVICES));
    CHECK(!option_is_set(OPTION_JITTER));
    CHECK_EQ(option_number(OPTION_JITTER), 0);
    CHECK_EQ(option_number(OPTION_INLINE_US), -1);
    CHECK(cpu_isa() <= CPU_V3);
    CHECK_EQ(cpu_count(), 3);
}

static void bad(void)
{
    CHECK_EQ(option_number(OPTION_DEVICES), 2);
    CHECK_EQ(option_number(OPTION_DEVICES), 2); /* told once */
    CHECK_EQ(option_number(OPTION_MEMORY), INT64_C(64) << 30);
    CHECK_EQ(option_number(OPTION_CPU), -1);
    CHECK_EQ(option_number(OPTION_BLOCKING), 0);
    CHECK_EQ(option_number(OPTION_JITTER), 0);
    CHECK_TEXT(option_text(OPTION_FAULT), "");
    CHECK_TEXT(option_text(OPTION_VERSION), "9.1.0");
}

static void print(void)
{
    option_print(stdout);
}

static void values(void)
{
    option_print_values(stdout);
}

static void names(void)
{
    option_check_names(stdout);
    option_check_names(stdout); /* told once */
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {{"good", good},     {"bad", bad},     {"print", print},
                                        {"values", values}, {"names", names}, {NULL, NULL}};
    child_main(argc, argv, parts);
    CHECK_CHILD("good", "ANYNPU_DEVICES=8\nANYNPU_MEMORY=3G\nANYNPU_KEEP=1000\nANYNPU_CPU=v3\nANYNPU_BLOCKING=1\n"
                        "ANYNPU_FAULT=malloc:3,oom:2g\nANYNPU_JITTER=\nOMP_NUM_THREADS=3");
    CHECK_TEXT(child_output, "");
    CHECK(!strstr(child_output, "WARNING"));
    CHECK_CHILD("bad", "ANYNPU_DEVICES=65\nANYNPU_MEMORY=64x\nANYNPU_CPU=avx\nANYNPU_BLOCKING=yes\nANYNPU_JITTER=-5\n"
                       "ANYNPU_FAULT=malloc\nANYNPU_VERSION=nine");
    CHECK_TEXT(child_output, "ANYNPU_DEVICES=65 is not valid: expected a number from 0 to 64. Using the default, 2.\n");
    CHECK_TEXT(child_output, "ANYNPU_CPU=avx is not valid: expected base|v3|v4. Ignored.\n");
    CHECK_TEXT(child_output, "ANYNPU_BLOCKING=yes is not valid: expected 0 or 1.");
    CHECK_TEXT(child_output, "ANYNPU_FAULT=malloc is not valid: expected malloc:N");
    CHECK_TEXT(child_output, "ANYNPU_MEMORY=64x is not valid: expected bytes from");
    CHECK(strstr(strstr(child_output, "ANYNPU_DEVICES") + 1, "ANYNPU_DEVICES") == NULL);
    CHECK_CHILD("print", "");
    for (int i = 0; i < OPTION_COUNT; i++)
        CHECK_TEXT(child_output, option_row((enum option)i)->name);
    CHECK_CHILD("values", "ANYNPU_DEVICES=65\nANYNPU_SPIN_US=7");
    CHECK_TEXT(child_output, "ANYNPU_DEVICES\t2\t0…64\tNumber of devices. Unless");
    CHECK_TEXT(child_output, "\t7\t1\n");
    CHECK_CHILD("names", "ANYNPU_DEVICES=2\nANYNPU_DEVICE=3\nANYNPU_FALLBACK_REPORTS=1\nANYNPU_FALLBACK_REPORT=1");
    CHECK_TEXT(child_output, "ANYNPU_DEVICE is not an option; did you mean ANYNPU_DEVICES?\n");
    CHECK_TEXT(child_output, "did you mean ANYNPU_FALLBACK_REPORT?\n");
    CHECK(strstr(child_output, "ANYNPU_DEVICES is not") == NULL);
    CHECK(strstr(strstr(child_output, "ANYNPU_DEVICE is") + 1, "ANYNPU_DEVICE is") == NULL);
    CHECK(host_available() > 0);
    CHECK(cpu_count() >= 1);
    return check_done();
}
