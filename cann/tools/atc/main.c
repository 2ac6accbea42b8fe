/* SPDX-License-Identifier: BSD-3-Clause */
/* atc: converts models for offline use, in the words of the original tool. */
#include <stdlib.h>
#include <string.h>

#include "graph/om.h"
#include "graph/onnx/onnx.h"
#include "tools/atc/atc.h"

/* --mode=1: an offline model, or with --framework=5 an ONNX file, as JSON. */
static int to_json(const struct arguments *arguments)
{
    const char *path = option(arguments, "om"), *json = option(arguments, "json");
    if (!*path || !*json)
        return atc_error("E10007", ATC_ARGUMENT, "--%s is required. The value must be a path.", *path ? "json" : "om");
    struct model *model = NULL;
    bool onnx = strcmp(option(arguments, "framework"), "5") == 0;
    int status = onnx ? onnx_read(path, &model) : om_open(path, &model);
    if (status)
        return atc_graph_error(status, path);
    status = show_json(model, json);
    model_free(model);
    return status;
}

static int info(const struct arguments *arguments)
{
    const char *path = option(arguments, "om");
    struct model *model = NULL;
    if (!*path)
        return atc_error("E10057", ATC_ARGUMENT, "--mode=6 and --om can only be used together");
    int status = om_open(path, &model);
    if (status)
        return atc_graph_error(status, path);
    show_info(model, path);
    model_free(model);
    return ATC_OK;
}

static int run(const struct arguments *arguments, int argc, char **argv)
{
    switch (atoi(option(arguments, "mode"))) {
    case 0:
    case 3:
        return convert(arguments, argc, argv);
    case 1:
        return to_json(arguments);
    case 6:
        return info(arguments);
    default:
        return atc_error(
            "E10055", ATC_UNSUPPORTED,
            "The operation is not supported. Reason: --mode=%s makes or reads files of Ascend chips' tools; "
            "--mode=1 writes JSON directly.",
            option(arguments, "mode"));
    }
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.help = false};
    printf("ATC start working now, please wait for a moment.\n");
    fflush(stdout);
    int status = argc > 1 ? options_parse(&arguments, argc, argv)
                          : atc_error("E10007", ATC_ARGUMENT, "--model is required. The value must be a path.");
    if (status == ATC_OK && arguments.help)
        options_help(stdout);
    else if (status == ATC_OK)
        status = run(&arguments, argc, argv);
    if (status == ATC_OK && !arguments.help)
        printf("ATC run success, welcome to the next use.\n");
    else if (status != ATC_OK)
        printf("ATC run failed, Please check the detail log, Try 'atc --help' for more information\n");
    return fflush(stdout) == 0 ? status : ATC_FILE;
}
