/* SPDX-License-Identifier: BSD-3-Clause */
/* atc: converts ONNX models to offline models. What its files share. One run, one thread. */
#ifndef ANYNPU_TOOLS_ATC_ATC_H
#define ANYNPU_TOOLS_ATC_ATC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "graph/operator.h"

/* What scripts get. */
enum atc_exit {
    ATC_OK = 0,
    ATC_ARGUMENT = 1,    /* the command line is wrong */
    ATC_FILE = 2,        /* a file cannot be read or written */
    ATC_MODEL = 3,       /* the model is wrong */
    ATC_UNSUPPORTED = 4, /* it asks for what is not supported */
    ATC_INTERNAL = 5,
};

/* ---- options.c ---- */
enum option_use { USE_HONOURED, USE_NOTED, USE_REFUSED };

struct option {
    const char *name;
    enum option_use use;
    const char *plain; /* the default; a noted or refused option with this value is accepted without a word */
    const char *words; /* values it may have, parted by |; NULL: any */
    const char *help;  /* what it does; of noted and refused ones: why it does nothing, what to do */
};
enum { OPTIONS_MAX = 96 };
extern const struct option atc_options[]; /* ends with a name NULL */

struct arguments {
    const char *value[OPTIONS_MAX]; /* as given; NULL: not given */
    bool help;
};

/* Fills in arguments; an atc_exit, messages are out. */
int options_parse(struct arguments *arguments, int argc, char **argv);
/* As given, else the default; never NULL. */
const char *option(const struct arguments *arguments, const char *name);
bool option_given(const struct arguments *arguments, const char *name);
void options_help(FILE *out);

/* ---- message.c ---- */
/* Prints "E10001: [PID: …] time text" and the code's advice; returns exit. */
int atc_error(const char *code, int exit, const char *format, ...) __attribute__((format(printf, 3, 4)));
void atc_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* At most every two seconds, and only when it takes that long: a stage and how much of it is done. */
void atc_progress(const char *stage, int64_t done, int64_t all);
/* The code and exit that a failure of graph/ stands for. */
int atc_graph_error(int status, const char *file);

/* ---- shape.c ---- */
/* --input_shape, --input_shape_range, --dynamic_…: the inputs' types, symbols and gears. */
int shape_apply(const struct arguments *arguments, struct model *model);

/* ---- ends.c: what enters and leaves ---- */
int ends_out_nodes(const struct arguments *arguments, struct model *model);
int ends_types(const struct arguments *arguments, struct model *model);

/* ---- aipp.c ---- */
int aipp_apply(const struct arguments *arguments, struct model *model);

/* ---- convert.c ---- */
int convert(const struct arguments *arguments, int argc, char **argv);

/* ---- report.c ---- */
/* Nodes whose operator refuses the types or shapes that the table says: all are told. */
int report_types(const struct model *model, const struct tensor *table);
/* The nodes without an operator: told one by one, and in the file of --check_report. An atc_exit of the writing. */
int report_check(const struct arguments *arguments, const struct model *model, int32_t *unsupported);

/* ---- show.c: --mode=1 and --mode=6 ---- */
int show_json(const struct model *model, const char *path);
void show_info(const struct model *model, const char *path);

#endif
