/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of npu-smi: what it means, and that no words whatever break it (random lines of known words, letters
 * and bytes; reproducible by the seed in the first argument). */
#include "tools/smi/smi.h"

#include <stdint.h>

#include "check.h"

static struct smi parse(const char *line)
{
    static char copy[512];
    char *argv[32] = {"npu-smi"}, *rest = NULL;
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    struct smi smi;
    smi_parse(&smi, argc, argv);
    return smi;
}

static void test_meanings(void)
{
    CHECK_EQ(parse("").command, SMI_HELP);
    CHECK_EQ(parse("-v").command, SMI_VERSION);
    CHECK_EQ(parse("info").command, SMI_INFO);
    CHECK_EQ(parse("info -l").command, SMI_LIST);
    CHECK_EQ(parse("info -m").command, SMI_MAPPING);
    CHECK_EQ(parse("info proc").command, SMI_PROCESSES);
    CHECK_EQ(parse("info --json").json, true);
    struct smi s = parse("info -t usage");
    CHECK_EQ(s.command, SMI_TYPE);
    CHECK_TEXT(s.type, "usages");
    CHECK_EQ(s.card, -1);
    s = parse("info -t board -i 7 -c 1");
    CHECK_EQ(s.card, 7);
    CHECK_EQ(s.chip, 1);
    s = parse("info watch -i 1 -c 0 -d 5 -s ptm");
    CHECK_EQ(s.command, SMI_WATCH);
    CHECK_EQ(s.delay, 5);
    CHECK_TEXT(s.columns, "ptm");
    CHECK_EQ(parse("info --form=a3").form, SMI_FORM_A3);
    s = parse("--query-npu=index,name --format=csv,noheader,nounits");
    CHECK_EQ(s.command, SMI_QUERY);
    CHECK_EQ(s.header || s.units, 0);
    CHECK_EQ(parse("set -t ecc-enable -i 0 -d 1").command, SMI_SET);
    CHECK_EQ(parse("clear -t ecc-info -i 0 -c 0").command, SMI_CLEAR);
    CHECK_EQ(parse("info -h").command, SMI_HELP);
}

static void test_refusals(void)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"nonsense", "Error parameter of nonsense"},
        {"info -t nonsense", "Error parameter of -t"},
        {"info -t", "Error parameter of -t"},
        {"info -i x", "Error parameter of -i"},
        {"info -i -1", "Error parameter of -i"},
        {"info -i 99999999999999999999", "Error parameter of -i"},
        {"info -i", "Error parameter of -i"},
        {"info -t usages -c 1x", "Error parameter of -c"},
        {"info watch -d 0", "Error parameter of -d"},
        {"info watch -d 101", "Error parameter of -d"},
        {"info watch -s xyz", "Error parameter of -s"},
        {"info watch -s ptaicmbnuptaicmbnu", "Error parameter of -s"},
        {"info --form=7", "Error parameter of --form"},
        {"set -t nonsense", "Error parameter of -t"},
        {"set", "Error parameter of -t"},
        {"--query-npu=x --format=xml", "Error parameter of --format"},
        {"--query-npu=x --format=noheader", "Error parameter of --format"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct smi s = parse(cases[i].line);
        CHECK_EQ(s.command, SMI_ERROR);
        CHECK_TEXT(s.message, cases[i].message);
    }
}

static uint64_t state;

static unsigned draw(unsigned below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(state >> 33) % below;
}

static void test_random(void)
{
    static const char *const words[] = {"info",
                                        "set",
                                        "clear",
                                        "-t",
                                        "-i",
                                        "-c",
                                        "-p",
                                        "-d",
                                        "-s",
                                        "-l",
                                        "-m",
                                        "watch",
                                        "proc",
                                        "--json",
                                        "--form=",
                                        "--form=a3",
                                        "--count=",
                                        "--count=3",
                                        "--query-npu=",
                                        "--query-npu=index,,name",
                                        "--query-processes=pid",
                                        "--format=",
                                        "--format=csv,",
                                        "usages",
                                        "0",
                                        "-1",
                                        "1e9",
                                        "",
                                        "%s%n",
                                        "-",
                                        "--",
                                        "-h",
                                        "-v",
                                        "upgrade",
                                        "ecc-enable",
                                        "tls-cert"};
    static char text[24][160];
    unsigned commands[SMI_ERROR + 1] = {0};
    for (int round = 0; round < 200000; round++) {
        char *argv[24] = {"npu-smi"};
        int argc = 1 + (int)draw(8);
        for (int i = 1; i < argc; i++) {
            argv[i] = text[i];
            if (i == 1 && draw(4)) {
                static const char *const firsts[] = {"info", "set", "clear", "upgrade", "-v", "-h", "--query-npu=x"};
                strcpy(text[i], firsts[draw(7)]);
            } else if (draw(8)) {
                strcpy(text[i], words[draw(sizeof words / sizeof *words)]);
            } else {
                unsigned n = draw(sizeof text[i] - 1);
                for (unsigned k = 0; k < n; k++)
                    text[i][k] = (char)(1 + draw(255));
                text[i][n] = 0;
            }
        }
        struct smi s;
        smi_parse(&s, argc, argv);
        CHECK(s.command <= SMI_ERROR && strlen(s.message) < sizeof s.message && strlen(s.columns) < sizeof s.columns);
        CHECK(s.command == SMI_ERROR ? *s.message != 0 : s.delay >= 1 && s.delay <= 100);
        commands[s.command]++;
    }
    for (int i = 0; i <= SMI_ERROR; i++)
        CHECK(commands[i] > 0); /* the words reach every command */
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    test_meanings();
    test_refusals();
    test_random();
    return check_done();
}
