/* SPDX-License-Identifier: BSD-3-Clause */
/* What atc says: errors under their codes with advice, notes, progress. All on stdout, as the original. */
#include "tools/atc/atc.h"

#include <stdarg.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* What to do about it. */
static const struct advice {
    const char *code, *text;
} advices[] = {
    {"E10001", "Try again with a valid argument."},
    {"E10002", "Write --input_shape=\"name1:n1,c1,h1,w1;name2:n2,c2,h2,w2\" with the names of the model's inputs."},
    {"E10003", "Try again with a valid argument; atc --help lists them."},
    {"E10004", "Give the option a value."},
    {"E10007", "Give the option."},
    {"E10009", "Give only one of them, or none for fixed sizes."},
    {"E10010", "Choose one of debug, info, warning, error and null."},
    {"E10012", "Set the batch axis of that input to -1 in --input_shape, or leave out --dynamic_batch_size."},
    {"E10014", "Run atc --help to see the values."},
    {"E10016", "Use a name of the model; atc --mode=1 --om=model.onnx --framework=5 --json=model.json lists them."},
    {"E10018", "Only the batch axis may be -1 with --dynamic_batch_size."},
    {"E10019",
     "Only the axes of height and width may be -1 with --dynamic_image_size; --input_format says which they are."},
    {"E10020", "Write --dynamic_image_size=\"height1,width1;height2,width2\"."},
    {"E10031", "Set the batch axis of at least one input to -1 in --input_shape."},
    {"E10035", "Declare at least two sets of sizes."},
    {"E10036", "Declare at most a hundred sets of sizes."},
    {"E10037", "Give every set as many sizes as --input_shape has axes of -1."},
    {"E10038", "Sizes are whole numbers from 1 on."},
    {"E10039", "Declare each set of sizes once."},
    {"E10040", "Set the axes that change to -1 in --input_shape, for every input that has any."},
    {"E10041", "Check that the file is whole (onnx.checker.check_model) and that --framework fits it; data of models "
               "above 2 GB must lie beside the model."},
    {"E10045", "Give every set of --dynamic_dims one size for each axis of -1 in --input_shape."},
    {"E10047", "Leave out one of them."},
    {"E10049", "Give as many sizes as the input has dimensions."},
    {"E10052", "Correct the file of --insert_op_conf."},
    {"E10055", "Leave the option out, or do what the reason says."},
    {"E10501",
     "Replace the operator by supported ones when the model is exported, or export with another opset version; "
     "docs/ONNX.md lists what is supported."},
    {"E11017", "Give names of nodes of the model in --out_nodes, as \"node:output\"."},
    {"E13001", "Check that the path is right and may be read or written."},
    {"E13004", "Check that the folder exists, may be written and has room."},
    {"E13025", "Check the sizes of --input_shape against the model."},
    {"E16004", "Export the model again."},
    {NULL, NULL},
};

static void print_time(void)
{
    struct timeval now;
    struct tm parts;
    char text[40];
    gettimeofday(&now, NULL);
    localtime_r(&now.tv_sec, &parts);
    strftime(text, sizeof text, "%Y-%m-%d-%H:%M:%S", &parts);
    printf("[PID: %d] %s.%03d.%03d ", (int)getpid(), text, (int)(now.tv_usec / 1000), (int)(now.tv_usec % 1000));
}

int atc_error(const char *code, int exit, const char *format, ...)
{
    va_list arguments;
    printf("%s: ", code);
    print_time();
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    for (const struct advice *advice = advices; advice->code; advice++)
        if (strcmp(advice->code, code) == 0)
            printf("        Solution: %s\n", advice->text);
    return exit;
}

void atc_note(const char *format, ...)
{
    va_list arguments;
    printf("[NOTE] ");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

void atc_progress(const char *stage, int64_t done, int64_t all)
{
    static time_t last;
    time_t now = time(NULL);
    if (!last)
        last = now;
    if (now - last < 2)
        return;
    last = now;
    printf("[PROGRESS] %s: %lld of %lld\n", stage, (long long)done, (long long)all);
    fflush(stdout);
}

int atc_graph_error(int status, const char *file)
{
    switch (status) {
    case GRAPH_UNSUPPORTED:
        return atc_error("E10055", ATC_UNSUPPORTED, "The operation is not supported. Reason: %s.", graph_reason());
    case GRAPH_NO_MEMORY:
        return atc_error("E19999", ATC_INTERNAL, "There is not enough memory for %s: %s.", file, graph_reason());
    case GRAPH_FAILED:
        return atc_error("E13001", ATC_FILE, "Failed to open file %s. Reason: %s.", file, graph_reason());
    default:
        return atc_error("E10041", ATC_MODEL, "Failed to load the model from %s. Reason: %s.", file, graph_reason());
    }
}
