/* SPDX-License-Identifier: BSD-3-Clause */
/* The one table of atc's options: parsed, checked, explained and documented from here. Three uses: honoured; noted (it
 * changes nothing here, and says why, when it is given another value than the plain one); refused. */
#include "tools/atc/atc.h"

#include <string.h>

#define NO_TUNING "kernels of this device are not tuned for a model: there is nothing to choose"
#define NO_CHIP   "the device is a computer's CPU, which has no such part"
#define NO_CACHE  "operators need no compilation here: nothing is cached"

const struct option atc_options[] = {
    /* general */
    {"help", USE_HONOURED, "", NULL, "Shows this text (also -h)"},
    {"mode", USE_HONOURED, "0", "0|1|3|5|6|30",
     "0: convert; 1: offline or ONNX model to JSON; 3: check the operators only; 6: show an offline model's facts"},
    {"raw_ge_options", USE_REFUSED, "", NULL, "there is no graph engine below that would understand them"},
    {"raw_ge_options_ignore_unsupported", USE_NOTED, "", NULL, "it belongs to --raw_ge_options"},
    /* input */
    {"model", USE_HONOURED, "", NULL, "The ONNX file; data in further files is looked for in its folder"},
    {"framework", USE_HONOURED, "", NULL, "5: ONNX. Caffe (0), MindSpore (1) and TensorFlow (3) are not supported"},
    {"weight", USE_REFUSED, "", NULL, "it belongs to Caffe models, which are not supported"},
    {"om", USE_HONOURED, "", NULL, "The model to show, with --mode=1 or 6"},
    {"input_format", USE_HONOURED, "", "NCHW|NHWC|ND|NCDHW|NDHWC",
     "Where height and width stand, for --dynamic_image_size and AIPP; ND is taken as NCHW"},
    {"input_shape", USE_HONOURED, "", NULL,
     "\"name:1,3,224,224;other:-1,8\": sizes of inputs; -1 (open), 1~8 (from, to) or a number"},
    {"input_shape_range", USE_HONOURED, "", NULL, "The older form of ranges: \"name:[1~8,3,-1]\""},
    {"dynamic_batch_size", USE_HONOURED, "", NULL, "\"1,2,4\": what -1 may be on the first axis"},
    {"dynamic_image_size", USE_HONOURED, "", NULL, "\"224,224;448,448\": what -1 may be as height and width"},
    {"dynamic_dims", USE_HONOURED, "", NULL, "\"1,16;8,64\": what the axes of -1 may be, in their order"},
    {"singleop", USE_REFUSED, "", NULL, "single operators need no conversion here: call their aclnn functions"},
    /* output */
    {"output", USE_HONOURED, "", NULL, "The offline model; .om is appended where it is missing"},
    {"output_type", USE_HONOURED, "", NULL, "FP32, FP16, UINT8, INT8: type of all outputs; or \"node:0:FP16;…\""},
    {"check_report", USE_HONOURED, "check_result.json", NULL, "Where --mode=3, and a conversion that fails, report"},
    {"json", USE_HONOURED, "", NULL, "Where --mode=1 writes"},
    {"host_env_os", USE_NOTED, "linux", NULL, "an offline model runs wherever this toolkit does"},
    {"host_env_cpu", USE_NOTED, "", NULL, "an offline model runs wherever this toolkit does"},
    /* target */
    {"soc_version", USE_HONOURED, "", NULL, "Such as Ascend910B3: kept in the model; the computation is the same"},
    {"core_type", USE_NOTED, "AiCore", "AiCore|VectorCore", NO_CHIP},
    {"aicore_num", USE_NOTED, "", NULL, NO_CHIP},
    {"virtual_type", USE_NOTED, "0", "0|1", NO_CHIP},
    /* functions */
    {"out_nodes", USE_HONOURED, "", NULL, "\"node:0;other:1\": what the model returns instead of its own outputs"},
    {"input_fp16_nodes", USE_HONOURED, "", NULL, "\"name;other\": inputs that are given as float16"},
    {"insert_op_conf", USE_HONOURED, "", NULL, "A file that describes what is done to images (AIPP)"},
    {"external_weight", USE_NOTED, "0", "0|1|2",
     "weights stay in the model's file, which is mapped and shared as it is"},
    {"op_name_map", USE_REFUSED, "", NULL, "it maps operators of Caffe and TensorFlow, which are not supported"},
    {"is_input_adjust_hw_layout", USE_NOTED, "false", NULL, "tensors have no layouts of a chip here"},
    {"is_output_adjust_hw_layout", USE_NOTED, "false", NULL, "tensors have no layouts of a chip here"},
    /* tuning of models */
    {"disable_reuse_memory", USE_NOTED, "0", "0|1", "memory is planned when the model is loaded, always with reuse"},
    {"fusion_switch_file", USE_HONOURED, "", NULL,
     "A JSON file that turns fusions off: {\"Switch\": {\"GraphFusion\": "
     "{\"ALL\": \"off\"}}}, or by name instead of ALL"},
    {"enable_scope_fusion_passes", USE_NOTED, "", NULL, "scopes are TensorFlow's"},
    {"enable_single_stream", USE_NOTED, "false", NULL, "a model runs in the stream that it is given, always"},
    {"ac_parallel_enable", USE_NOTED, "0", "0|1", NO_CHIP},
    {"tiling_schedule_optimize", USE_NOTED, "0", "0|1", NO_CHIP},
    {"quant_dumpable", USE_NOTED, "0", "0|1", "nothing is quantised by the conversion"},
    {"buffer_optimize", USE_NOTED, "l2_optimize", "l1_optimize|l2_optimize|off_optimize", NO_CHIP},
    {"enable_small_channel", USE_NOTED, "0", "0|1", NO_CHIP},
    {"mdl_bank_path", USE_NOTED, "", NULL, NO_TUNING},
    {"compression_optimize_conf", USE_REFUSED, "", NULL,
     "weights are not quantised by the conversion: export a quantised model"},
    {"enable_attr_compression", USE_NOTED, "", NULL, "attributes take little room in this format"},
    {"sparsity", USE_NOTED, "0", "0|1", "products are not computed sparsely; the results are the same"},
    {"topo_sorting_mode", USE_NOTED, "", NULL, "nodes run in the order of the model's file"},
    {"multi_stream_parallel_mode", USE_NOTED, "", NULL, "a model runs in the stream that it is given, always"},
    {"hccl_sub_comm_config", USE_REFUSED, "", NULL, "models do not communicate: one runs on one device"},
    {"h2d_overlapped_with_compute", USE_NOTED, "", NULL, "host and device share their memory here"},
    {"cluster_config", USE_REFUSED, "", NULL, "a model is not cut for several devices"},
    {"oo_level", USE_HONOURED, "O3", "O0|O1|O2|O3", "O0, O1: nothing is fused; O2, O3: everything"},
    {"oo_constant_folding", USE_HONOURED, "true", "true|false", "Computes what does not depend on inputs"},
    {"oo_dead_code_elimination", USE_HONOURED, "true", "true|false", "Drops nodes that nothing uses"},
    /* tuning of operators */
    {"precision_mode", USE_HONOURED, "force_fp16",
     "force_fp16|force_fp32|allow_fp32_to_fp16|must_keep_origin_dtype|allow_mix_precision|allow_mix_precision_fp16|"
     "allow_mix_precision_bf16|cube_fp16in_fp32out|cube_hif8|mixed_hif8",
     "force_fp16: computes in float16 where it can, as on a chip; allow_mix_precision: products and convolutions "
     "alone; "
     "must_keep_origin_dtype and the others: as the model says"},
    {"precision_mode_v2", USE_HONOURED, "fp16",
     "fp16|origin|cube_fp16in_fp32out|mixed_float16|mixed_bfloat16|cube_hif8|mixed_hif8",
     "As --precision_mode, in newer words"},
    {"op_precision_mode", USE_NOTED, "", NULL, "operators compute with full precision, always"},
    {"allow_hf32", USE_NOTED, "", NULL, "float32 is computed with full precision, always"},
    {"modify_mixlist", USE_NOTED, "", NULL, "the lists of --precision_mode=allow_mix_precision are fixed here"},
    {"op_select_implmode", USE_NOTED, "high_performance", NULL, "operators compute with full precision, always"},
    {"optypelist_for_implmode", USE_NOTED, "", NULL, "operators compute with full precision, always"},
    {"keep_dtype", USE_NOTED, "", NULL, "--precision_mode decides for the whole model here"},
    {"customize_dtypes", USE_NOTED, "", NULL, "--precision_mode decides for the whole model here"},
    {"is_weight_clip", USE_NOTED, "1", "0|1", "weights that leave float16's range become infinite, as a cast has it"},
    {"jit_compile", USE_NOTED, "1", NULL, NO_CACHE},
    {"op_bank_path", USE_NOTED, "", NULL, NO_TUNING},
    {"optimization_switch", USE_NOTED, "", NULL, "--fusion_switch_file turns fusions off here"},
    {"static_model_ops_lower_limit", USE_NOTED, "", NULL, "models are planned as a whole for every set of sizes"},
    {"shape_generalized_build_mode", USE_NOTED, "", NULL, "models are planned as a whole for every set of sizes"},
    /* debugging */
    {"log", USE_HONOURED, "null", "debug|info|warning|error|null", "How much the toolkit's log tells"},
    {"display_model_info", USE_HONOURED, "0", "0|1", "1: shows the converted model's facts, as --mode=6 does"},
    {"dump_mode", USE_NOTED, "0", "0|1", "--mode=1 shows types and sizes always"},
    {"op_debug_level", USE_NOTED, "0", "0|1|2|3|4", NO_CACHE},
    {"op_debug_config", USE_NOTED, "", NULL, NO_CACHE},
    {"debug_dir", USE_NOTED, "", NULL, NO_CACHE},
    {"op_compiler_cache_mode", USE_NOTED, "enable", "enable|force|disable", NO_CACHE},
    {"op_compiler_cache_dir", USE_NOTED, "", NULL, NO_CACHE},
    {"atomic_clean_policy", USE_NOTED, "0", "0|1", NO_CHIP},
    {"status_check", USE_NOTED, "0", "0|1", NO_CHIP},
    {"deterministic", USE_NOTED, "1", "0|1", "results are the same from run to run, always"},
    {"deterministic_level", USE_NOTED, "0", "0|1|2", "results are the same from run to run, always"},
    {"export_compile_stat", USE_NOTED, "1", "0|1|2", "what was fused is printed"},
    {NULL, USE_HONOURED, NULL, NULL, NULL},
};
_Static_assert(sizeof atc_options / sizeof *atc_options <= OPTIONS_MAX, "arguments have room for all");

static int find(const char *name, size_t length)
{
    for (int i = 0; atc_options[i].name; i++)
        if (strlen(atc_options[i].name) == length && strncmp(atc_options[i].name, name, length) == 0)
            return i;
    return -1;
}

const char *option(const struct arguments *arguments, const char *name)
{
    int i = find(name, strlen(name));
    return arguments->value[i] ? arguments->value[i] : atc_options[i].plain;
}

bool option_given(const struct arguments *arguments, const char *name)
{
    return arguments->value[find(name, strlen(name))] != NULL;
}

static bool word_of(const char *words, const char *value)
{
    size_t length = strlen(value);
    for (const char *word = words; word; word = strchr(word, '|') ? strchr(word, '|') + 1 : NULL)
        if (strncmp(word, value, length) == 0 && (word[length] == '|' || word[length] == 0))
            return true;
    return false;
}

/* The option whose name is nearest, for a misspelt one: edit distance up to a third of the name. */
static const char *nearest(const char *name, size_t length)
{
    const char *best = NULL;
    size_t least = length / 3 + 1, row[64];
    if (length >= sizeof row / sizeof *row)
        return NULL;
    for (const struct option *o = atc_options; o->name; o++) {
        size_t size = strlen(o->name), before, keep;
        for (size_t j = 0; j <= length; j++)
            row[j] = j;
        for (size_t i = 1; i <= size; i++) {
            before = row[0];
            row[0] = i;
            for (size_t j = 1; j <= length; j++) {
                keep = row[j];
                size_t change = before + (o->name[i - 1] != name[j - 1]), add = row[j - 1] + 1, drop = row[j] + 1;
                row[j] = change < add ? (change < drop ? change : drop) : (add < drop ? add : drop);
                before = keep;
            }
        }
        if (row[length] < least) {
            least = row[length];
            best = o->name;
        }
    }
    return best;
}

static int check_value(const struct option *o, const char *value)
{
    if (strcmp(o->name, "log") == 0 && !word_of(o->words, value))
        return atc_error("E10010", ATC_ARGUMENT, "Value %s for parameter --log is invalid.", value);
    if (*value && o->words && !word_of(o->words, value))
        return atc_error("E10003", ATC_ARGUMENT,
                         "Value %s for parameter --%s is invalid. Reason: it must be one of %s.", value, o->name,
                         o->words);
    if (o->use == USE_HONOURED || strcmp(value, o->plain) == 0)
        return ATC_OK;
    if (o->use == USE_REFUSED)
        return atc_error("E10055", ATC_UNSUPPORTED, "The operation is not supported. Reason: --%s: %s.", o->name,
                         o->help);
    atc_note("--%s=%s changes nothing here: %s.", o->name, value, o->help);
    return ATC_OK;
}

/* "--name=value", "--name value", or "-h". */
int options_parse(struct arguments *arguments, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *text = argv[i];
        if (strcmp(text, "-h") == 0 || strcmp(text, "--h") == 0 || strcmp(text, "--help") == 0) {
            arguments->help = true;
            return ATC_OK;
        }
        if (text[0] != '-')
            return atc_error("E10054", ATC_ARGUMENT,
                             "\"%s\" is no option. A value with blanks or ; must stand in quotation marks (\"\").",
                             text);
        text += text[1] == '-' ? 2 : 1;
        size_t length = strcspn(text, "=");
        int k = find(text, length);
        if (k < 0) {
            const char *guess = nearest(text, length);
            return atc_error("E10014", ATC_ARGUMENT, "--%.*s is no option of atc.%s%s%s", (int)length, text,
                             guess ? " Is --" : "", guess ? guess : "", guess ? " meant?" : "");
        }
        const char *value = text[length] == '=' ? text + length + 1 : i + 1 < argc ? argv[++i] : "";
        if (!*value)
            return atc_error("E10004", ATC_ARGUMENT, "Value for --%s is empty.", atc_options[k].name);
        arguments->value[k] = value;
        int status = check_value(&atc_options[k], value);
        if (status)
            return status;
    }
    return ATC_OK;
}

void options_help(FILE *out)
{
    static const char *const titles[] = {"Options", "Accepted, and of no effect here", "Refused"};
    fprintf(out, "usage: atc --model=m.onnx --framework=5 --output=m --soc_version=Ascend910B3 "
                 "[--input_shape=\"x:1,3,224,224\"] …\n"
                 "Converts ONNX models to offline models (.om) and shows both.\n");
    for (int use = USE_HONOURED; use <= USE_REFUSED; use++) {
        fprintf(out, "\n%s:\n", titles[use]);
        for (const struct option *o = atc_options; o->name; o++)
            if (o->use == (enum option_use)use) {
                fprintf(out, "  --%-30s %s", o->name, o->help);
                if (o->words)
                    fprintf(out, " [%s]", o->words);
                if (*o->plain && use == USE_HONOURED)
                    fprintf(out, " (%s)", o->plain);
                fputc('\n', out);
            }
    }
    fprintf(out,
            "\nExit status: 0 done; 1 the command line is wrong; 2 a file cannot be read or written; 3 the model is\n"
            "wrong; 4 it asks for what is not supported; 5 something failed inside.\n");
}
