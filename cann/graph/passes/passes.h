/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes: what a conversion changes in a model. Each takes a model that model_check has passed and leaves one that it
 * would pass. Nodes and values are only added to the tables; what is not used any more goes with pass_dead. All return
 * a graph_status. Used by atc, one thread. */
#ifndef ANYNPU_GRAPH_PASSES_PASSES_H
#define ANYNPU_GRAPH_PASSES_PASSES_H

#include "graph/operator.h"

/* Infers the types of all values and writes them into the model (dims that differ from call to call stay symbols). With
 * `fold`, what does not depend on inputs is computed and becomes constants. progress may be NULL. */
typedef void (*pass_progress)(const char *stage, int64_t done, int64_t all);
int pass_types(struct model *model, struct fold *fold, pass_progress progress);

/* Drops nodes whose results nothing uses, of the main graph and of subgraphs, and data of constants that nobody uses.
 */
int pass_dead(struct model *model);

/* Replaces an If whose condition is known by the branch that is taken. */
int pass_branches(struct model *model);

/* Shape arithmetic where some sizes are open (after pass_types; *made: how much became known). */
int pass_shapes(struct model *model, int32_t *made);

/* Replaces groups of nodes by one that does the same: names of the fusions, and how often each was made. */
struct fusion {
    const char *name; /* "ConvBatchnormFusionPass" … */
    const char *what;
    int (*apply)(struct model *model, int32_t *made);
};
extern const struct fusion pass_fusions[]; /* ends with a name NULL */

/* Computes in a narrow float type (ACL_FLOAT16, ACL_BF16) where operators can; inputs and outputs stay. heavy_only:
 * products and convolutions alone. */
int pass_precision(struct model *model, aclDataType narrow, bool heavy_only);

/* An input or output of another type than the model's: with a Cast. */
int pass_input_dtype(struct model *model, int32_t input, aclDataType dtype);
int pass_output_dtype(struct model *model, int32_t output, aclDataType dtype);

#endif
