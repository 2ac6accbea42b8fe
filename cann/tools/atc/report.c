/* SPDX-License-Identifier: BSD-3-Clause */
/* Which nodes have no operator: all are told at once, and stand in the report file with what can be done about each. */
#include <errno.h>
#include <string.h>

#include "graph/operator.h"
#include "graph/operators/op.h"
#include "tools/atc/atc.h"

/* What users of operators that many meet can do. */
static const struct way {
    const char *op, *text;
} ways[] = {
    {"Dropout", "export the model in evaluation mode"},
    {"Optional", "take options out of the model before it is exported"},
    {"SequenceConstruct", "use Concat, Stack or Split in place of sequences"},
    {"SequenceEmpty", "use Concat, Stack or Split in place of sequences"},
    {"SplitToSequence", "use Split"},
    {"StringNormalizer", "prepare texts outside of the model"},
    {"StringSplit", "prepare texts outside of the model"},
    {"StringConcat", "prepare texts outside of the model"},
    {"RegexFullMatch", "prepare texts outside of the model"},
    {"TfIdfVectorizer", "prepare texts outside of the model"},
    {"ImageDecoder", "decode images outside of the model"},
    {"ATen", "export with operator_export_type=ONNX: this is PyTorch's own operator"},
    {NULL, NULL},
};

struct report {
    FILE *file; /* NULL: nodes are told, else written */
    int32_t unsupported, nodes;
};

static void write_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++)
        if ((unsigned char)*text < 0x20)
            fprintf(file, "\\u%04x", (unsigned)(unsigned char)*text);
        else
            fprintf(file, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', file);
}

/* Why, and what would replace it. */
static void explain(const struct node *node, char *text, size_t size)
{
    const struct operator_row *near = NULL;
    operator_find(node->domain, node->op, node->version, &near);
    for (const struct way *way = ways; way->op; way++)
        if (strcmp(way->op, node->op) == 0) {
            snprintf(text, size, "%s", way->text);
            return;
        }
    if (near && near->until)
        snprintf(text, size, "versions %d to %d of it are supported: export with opset_version=%d", near->since,
                 near->until, near->until);
    else if (near)
        snprintf(text, size, "it is supported from version %d on: export with opset_version=%d or later", near->since,
                 near->since);
    else if (*node->domain)
        snprintf(text, size,
                 "it is no operator of ONNX itself: export without the extension, or as a function of ONNX "
                 "operators in the model");
    else
        snprintf(text, size, "replace it by supported operators (docs/ONNX.md) when the model is exported");
}

static void write_node(const struct report *report, const struct node *node, const char *domain, const char *text)
{
    fprintf(report->file, "%s\n    {\"op_name\": ", report->unsupported ? "," : "");
    write_text(report->file, node->name);
    fprintf(report->file, ", \"op_type\": ");
    write_text(report->file, node->op);
    fprintf(report->file, ", \"domain\": ");
    write_text(report->file, domain);
    fprintf(report->file, ", \"version\": %d, \"reason\": ", node->version);
    write_text(report->file, text);
    fprintf(report->file, "}");
}

static void check_graph(struct report *report, const struct graph *graph)
{
    for (int32_t n = 0; n < graph->n_nodes; n++) {
        const struct node *node = &graph->nodes[n];
        const char *domain = *node->domain ? node->domain : "ai.onnx";
        char text[256];
        report->nodes++;
        for (int32_t i = 0; i < node->n_attributes; i++)
            if (node->attributes[i].kind == ATTRIBUTE_GRAPH || node->attributes[i].kind == ATTRIBUTE_GRAPHS)
                for (size_t g = 0; g < node->attributes[i].count; g++)
                    check_graph(report, node->attributes[i].graphs[g]);
        if (node->row)
            continue;
        explain(node, text, sizeof text);
        if (report->file)
            write_node(report, node, domain, text);
        else
            atc_error("E10501", ATC_UNSUPPORTED, "IR for Op [%s] with optype [%s::%d::%s] is not registered: %s.",
                      node->name, domain, node->version, node->op, text);
        report->unsupported++;
    }
}

int report_check(const struct arguments *arguments, const struct model *model, int32_t *unsupported)
{
    const char *path = option(arguments, "check_report");
    struct report told = {.file = NULL}, report = {.file = NULL};
    check_graph(&told, &model->main);
    *unsupported = told.unsupported;
    if (!told.unsupported && !option_given(arguments, "check_report") && strcmp(option(arguments, "mode"), "3") != 0)
        return ATC_OK;
    if (!(report.file = fopen(path, "w")))
        return atc_error("E13004", ATC_FILE, "Failed to write file %s. Reason: %s.", path, strerror(errno));
    fprintf(report.file, "{\n  \"model\": ");
    write_text(report.file, option(arguments, "model"));
    fprintf(report.file, ",\n  \"unsupported\": [");
    check_graph(&report, &model->main);
    fprintf(report.file, "%s],\n  \"nodes\": %d,\n  \"result\": \"%s\"\n}\n", told.unsupported ? "\n  " : "",
            told.nodes, told.unsupported ? "failed" : "success");
    if (fclose(report.file))
        return atc_error("E13004", ATC_FILE, "Failed to write file %s. Reason: %s.", path, strerror(errno));
    return ATC_OK;
}

int report_types(const struct model *model, const struct tensor *table)
{
    int status = ATC_OK;
    for (int32_t n = 0; n < model->main.n_nodes; n++) {
        const struct node *node = &model->main.nodes[n];
        int failed = op_check(node, table);
        if (failed == GRAPH_UNSUPPORTED)
            status = atc_error("E10501", ATC_UNSUPPORTED, "Op [%s] with optype [%s::%d::%s] is not supported: %s.",
                               node->name, *node->domain ? node->domain : "ai.onnx", node->version, node->op,
                               graph_reason());
        else if (failed)
            return atc_graph_error(failed, node->name);
    }
    return status;
}
