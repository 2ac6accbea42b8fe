/* SPDX-License-Identifier: BSD-3-Clause */
/* A conversion, from the ONNX file to the offline model: read, check, set sizes and types, infer, fold, fuse, write.
 * What is known before anything runs is computed on the device by the operators that run it later. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acl/acl.h"
#include "base/soc.h"
#include "graph/om.h"
#include "graph/onnx/onnx.h"
#include "graph/passes/passes.h"
#include "tools/atc/atc.h"

enum { FOLD_BYTES = 64 << 20, SIZES_BYTES = 1 << 20 };

/* ---- the command line as a whole ---- */
static int check_framework(const struct arguments *arguments)
{
    static const struct {
        const char *number, *name, *way;
    } others[] = {
        {"0", "Caffe", "convert the model to ONNX first, for instance with caffe2onnx"},
        {"1", "MindSpore", "export it to ONNX: mindspore.export(…, file_format=\"ONNX\")"},
        {"3", "TensorFlow", "convert it to ONNX first: python -m tf2onnx.convert --saved-model … --output m.onnx"},
    };
    const char *framework = option(arguments, "framework");
    if (!*framework)
        return atc_error("E10007", ATC_ARGUMENT, "--framework is required. The value must be 5 (ONNX).");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(framework, others[i].number) == 0)
            return atc_error(
                "E10055", ATC_UNSUPPORTED,
                "The operation is not supported. Reason: --framework=%s: models of %s are not supported; %s, "
                "then use --framework=5.",
                framework, others[i].name, others[i].way);
    if (strcmp(framework, "5") != 0)
        return atc_error("E10003", ATC_ARGUMENT,
                         "Value %s for parameter --framework is invalid. Reason: it must be 5 (ONNX); 0 (Caffe), 1 "
                         "(MindSpore) and 3 (TensorFlow) are known and not supported.",
                         framework);
    return ATC_OK;
}

static int check_arguments(const struct arguments *arguments)
{
    static const char *const required[] = {"model", "output", "soc_version"};
    bool only_check = strcmp(option(arguments, "mode"), "3") == 0;
    if (!*option(arguments, "model"))
        return atc_error("E10007", ATC_ARGUMENT, "--model is required. The value must be a path.");
    int status = check_framework(arguments);
    for (size_t i = 0; !status && !only_check && i < sizeof required / sizeof *required; i++)
        if (!*option(arguments, required[i]))
            status = atc_error("E10007", ATC_ARGUMENT, "--%s is required. The value must be %s.", required[i],
                               i == 2 ? "such as Ascend910B3" : "a path");
    if (!status && option_given(arguments, "precision_mode") && option_given(arguments, "precision_mode_v2"))
        status = atc_error("E10056", ATC_ARGUMENT,
                           "Cannot configure both parameters precision_mode and precision_mode_v2 simultaneously.");
    const char *soc = option(arguments, "soc_version"), *output = option(arguments, "output");
    if (!status && *soc && strncmp(soc, "Ascend", 6) != 0)
        status =
            atc_error("E10001", ATC_ARGUMENT,
                      "Value %s for parameter --soc_version is invalid. Reason: names of chips begin with Ascend, such "
                      "as Ascend910B3 or Ascend310P3.",
                      soc);
    if (!status && *output && output[strlen(output) - 1] == '/')
        status =
            atc_error("E10022", ATC_ARGUMENT, "Path %s for parameter --output does not include the file name.", output);
    if (!status && *soc && !soc_find(soc))
        atc_note("--soc_version=%s is not known here; the model is converted all the same.", soc);
    return status;
}

static void set_log(const struct arguments *arguments)
{
    static const char *const levels[] = {"debug", "info", "warning", "error", "null"};
    for (int i = 0; i < 5; i++)
        if (option_given(arguments, "log") && strcmp(option(arguments, "log"), levels[i]) == 0) {
            setenv("ASCEND_GLOBAL_LOG_LEVEL", (const char[]){(char)('0' + i), 0}, 1);
            if (i < 4)
                setenv("ASCEND_SLOG_PRINT_TO_STDOUT", "1", 1);
        }
}

/* ---- steps ---- */
static int told(int status, const char *path)
{
    if (status == GRAPH_INVALID)
        return atc_error("E13025", ATC_MODEL, "Input tensor is invalid. Reason: %s.", graph_reason());
    return status ? atc_graph_error(status, path) : ATC_OK;
}

/* The declared sizes, or the ends of the ranges, must fit the model, each set for itself. */
static int check_sizes(const struct model *model, const char *path, struct fold *fold)
{
    int32_t sets = model->gears.count ? model->gears.count : 2;
    int64_t *sizes = calloc((size_t)model->n_symbols + 1, sizeof *sizes);
    int status = sizes ? ATC_OK : ATC_INTERNAL;
    for (int32_t i = 0; !status && i < sets; i++) {
        for (int32_t k = 0; k < model->n_symbols; k++) {
            const struct dim_range *range = &model->symbols[k];
            int64_t high = range->high < 0 ? range->low + 1 : range->high;
            sizes[k] = model->gears.count ? model->gears.sizes[i * model->gears.symbols + k] : i ? high : range->low;
        }
        struct tensor *table = table_sized(model, sizes);
        int failed = table ? graph_infer(&model->main, table, fold) : graph_fail(GRAPH_NO_MEMORY, "no memory");
        if (!failed)
            status = report_types(model, table);
        free(table);
        if (failed && !model->gears.count) { /* sizes that are open need not all fit: said, not refused */
            atc_note("With the %s sizes of the ranges the model does not compute: %s.", i ? "largest" : "smallest",
                     graph_reason());
            failed = 0;
        }
        status = status ? status : told(failed, path);
        atc_progress("checking declared sizes", i + 1, sets);
    }
    free(sizes);
    return status;
}

/* The file that turns fusions off; NULL when there is none. */
static int read_switches(const struct arguments *arguments, char **text)
{
    const char *path = option(arguments, "fusion_switch_file");
    size_t room = 0;
    if (!*path)
        return ATC_OK;
    FILE *file = fopen(path, "r");
    bool read = file && getdelim(text, &room, 0, file) > 0;
    if (file)
        fclose(file);
    return read ? ATC_OK
                : atc_error("E13001", ATC_FILE, "Failed to open file %s. Reason: it cannot be read or is empty.", path);
}

static bool switched_off(const char *text, const char *name)
{
    char key[96];
    snprintf(key, sizeof key, "\"%s\"", name);
    const char *at = text ? strstr(text, key) : NULL;
    at = at ? at + strlen(key) + strspn(at + strlen(key), " \t\r\n:") : NULL;
    return at && strncmp(at, "\"off\"", 5) == 0;
}

static int fuse(const struct arguments *arguments, struct model *model)
{
    int status = ATC_OK;
    const char *level = option(arguments, "oo_level");
    if (strcmp(level, "O0") == 0 || strcmp(level, "O1") == 0)
        return ATC_OK;
    char *switches = NULL;
    status = read_switches(arguments, &switches);
    for (const struct fusion *fusion = pass_fusions; fusion->name && !status; fusion++) {
        int32_t made = 0;
        if (switched_off(switches, "ALL") || switched_off(switches, fusion->name))
            continue;
        if (fusion->apply(model, &made))
            status = atc_graph_error(GRAPH_FAILED, fusion->name);
        else if (made)
            printf("%s: %d × %s\n", fusion->name, made, fusion->what);
        if (!status && made && pass_dead(model))
            status = ATC_INTERNAL;
    }
    free(switches);
    return status;
}

static int set_precision(const struct arguments *arguments, struct model *model)
{
    static const struct {
        const char *word;
        aclDataType dtype;
        bool heavy;
    } modes[] = {
        {"force_fp16", ACL_FLOAT16, false},         {"fp16", ACL_FLOAT16, false},
        {"allow_mix_precision", ACL_FLOAT16, true}, {"allow_mix_precision_fp16", ACL_FLOAT16, true},
        {"mixed_float16", ACL_FLOAT16, true},       {"allow_mix_precision_bf16", ACL_BF16, true},
        {"mixed_bfloat16", ACL_BF16, true},
    };
    const char *mode =
        option(arguments, option_given(arguments, "precision_mode_v2") ? "precision_mode_v2" : "precision_mode");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i].word, mode) == 0)
            return pass_precision(model, modes[i].dtype, modes[i].heavy) ? ATC_INTERNAL : ATC_OK;
    if (strstr(mode, "hif8") || strncmp(mode, "cube", 4) == 0)
        atc_note("Precision %s is a chip's: the model computes in its own types.", mode);
    return ATC_OK;
}

/* Types, folding and branches again and again, until nothing more is learned. */
static int simplify(const struct arguments *arguments, struct model *model, const char *path, struct fold *fold)
{
    bool folding = strcmp(option(arguments, "oo_constant_folding"), "true") == 0;
    bool dead = strcmp(option(arguments, "oo_dead_code_elimination"), "true") == 0;
    for (int32_t before = -1, made = 0; before != model->main.n_nodes || made;) {
        before = model->main.n_nodes;
        made = 0;
        int status = pass_types(model, folding ? fold : NULL, atc_progress);
        if (!status && folding)
            status = pass_branches(model);
        if (!status && folding)
            status = pass_shapes(model, &made);
        if (!status && dead)
            status = pass_dead(model);
        if (status)
            return told(status, path);
    }
    return ATC_OK;
}

static int check_types(const struct model *model)
{
    struct tensor *table = table_new(model);
    int status = table ? report_types(model, table) : ATC_INTERNAL;
    free(table);
    return status;
}

static int transform(const struct arguments *arguments, struct model *model, const char *path, struct fold *fold,
                     struct fold *sizes)
{
    int status = ends_out_nodes(arguments, model);
    if (!status)
        status = shape_apply(arguments, model);
    if (!status)
        status = simplify(arguments, model, path, fold);
    if (!status)
        status = fuse(arguments, model);
    if (!status)
        status = told(pass_types(model, NULL, NULL), path);
    if (!status)
        status = set_precision(arguments, model);
    if (!status)
        status = told(pass_types(model, fold, NULL), path);
    if (!status)
        status = ends_types(arguments, model);
    if (!status)
        status = aipp_apply(arguments, model);
    if (!status)
        status = told(pass_types(model, NULL, NULL), path);
    if (!status)
        status = check_types(model);
    if (!status && model->n_symbols)
        status = check_sizes(model, path, sizes);
    return status;
}

static int write_model(const struct arguments *arguments, struct model *model, int argc, char **argv)
{
    const char *output = option(arguments, "output");
    size_t length = strlen(output), all = 1;
    char *path = NULL, *command;
    for (int i = 0; i < argc; i++)
        all += strlen(argv[i]) + 1;
    command = model_alloc(model, all);
    if (!command ||
        asprintf(&path, "%s%s", output, length > 3 && strcmp(output + length - 3, ".om") == 0 ? "" : ".om") < 0)
        return ATC_INTERNAL;
    for (int i = 0; i < argc; i++)
        strcat(strcat(command, i ? " " : ""), argv[i]);
    model->command = command;
    model->soc = option(arguments, "soc_version");
    int status = om_write(model, path);
    if (status == GRAPH_FAILED)
        status = atc_error("E13004", ATC_FILE, "Failed to write file %s. Reason: %s.", path, graph_reason());
    else if (status)
        status = told(status, path);
    else if (strcmp(option(arguments, "display_model_info"), "1") == 0)
        show_info(model, path);
    free(path);
    return status;
}

static int convert_model(const struct arguments *arguments, struct model *model, int argc, char **argv)
{
    const char *path = option(arguments, "model");
    int32_t unsupported = 0;
    int status = report_check(arguments, model, &unsupported);
    if (unsupported)
        return ATC_UNSUPPORTED;
    if (status || strcmp(option(arguments, "mode"), "3") == 0)
        return status;
    struct fold *fold = fold_new(NULL, FOLD_BYTES), *sizes = fold_new(NULL, SIZES_BYTES);
    status = fold && sizes ? transform(arguments, model, path, fold, sizes) : ATC_INTERNAL;
    if (!status)
        status = write_model(arguments, model, argc, argv);
    fold_free(sizes);
    fold_free(fold); /* whose results are constants of the model until here */
    return status;
}

int convert(const struct arguments *arguments, int argc, char **argv)
{
    struct model *model = NULL;
    const char *path = option(arguments, "model");
    int status = check_arguments(arguments);
    if (status)
        return status;
    set_log(arguments);
    status = onnx_read(path, &model);
    if (status)
        return atc_graph_error(status, path);
    if (aclInit(NULL) || aclrtSetDevice(0))
        status = atc_error("E19999", ATC_INTERNAL, "The device cannot be used: %s.", aclGetRecentErrMsg());
    else
        status = convert_model(arguments, model, argc, argv);
    if (status == ATC_INTERNAL)
        atc_error("E19999", ATC_INTERNAL, "Something failed inside: %s.", graph_reason());
    model_free(model);
    aclrtResetDevice(0);
    aclFinalize();
    return status;
}
