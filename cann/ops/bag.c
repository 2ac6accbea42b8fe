/* SPDX-License-Identifier: BSD-3-Clause */
/* Bags of embeddings: bag k takes the indices from offsets[k] to the next offset (kernels/bag.h). The step looks at
 * indices and offsets before anything is read through them. offset2bag tells the bag of each index, bagSize how many
 * rows counted, maxIndices the row each largest element comes from; the last may be empty or of another size when the
 * mode is no maximum: it is cleared then. */
#include "ops/bag.h"

#include "kernels/bag.h"

struct bag_job {
    const struct bag_kernels *kernels;
    struct bag bag;
    aclDataType type;
    int64_t rows, indices, bags;
    bool last; /* the last offset is the end */
    const struct view *table, *index, *offsets, *factor;
    struct view *out, *bag_of, *size, *largest;
};

static const int64_t *integers(const struct view *v)
{
    return (const int64_t *)v->data;
}

static int64_t end_of(const struct bag_job *job, int64_t k)
{
    return k + 1 < job->bags || job->last ? integers(job->offsets)[k + 1] : job->indices;
}

static void bag_piece(void *arg, int64_t begin, int64_t end)
{
    const struct bag_job *job = arg;
    int64_t step = job->type == ACL_DOUBLE ? 8 : 4;
    for (int64_t k = begin; k < end; k++) {
        int64_t from = integers(job->offsets)[k], to = end_of(job, k);
        int64_t counted = job->kernels->reduce(
            &job->bag, job->type, job->table->data, integers(job->index) + from,
            job->factor ? job->factor->data + from * step : NULL, to - from, job->out->data + k * job->bag.width * step,
            job->largest ? (int64_t *)job->largest->data + k * job->bag.width : NULL);
        ((int64_t *)job->size->data)[k] = counted;
        for (int64_t i = from; job->bag_of && i < to; i++)
            ((int64_t *)job->bag_of->data)[i] = k;
    }
}

static int run_bags(void *arg)
{
    struct bag_job *job = arg;
    for (int64_t i = 0; i < job->indices; i++)
        if (integers(job->index)[i] < 0 || integers(job->index)[i] >= job->rows)
            return fail(ACL_ERROR_INVALID_PARAM, "embedding_bag: index %ld is out of range, the table has %ld rows",
                        (long)integers(job->index)[i], (long)job->rows);
    for (int64_t k = 0; k < job->bags; k++) {
        int64_t from = integers(job->offsets)[k], to = end_of(job, k);
        if (from < 0 || to < from || to > job->indices || (k == 0 && from != 0))
            return fail(ACL_ERROR_INVALID_PARAM,
                        "embedding_bag: offsets must begin with 0 and ascend to at most %ld, but bag %ld is %ld to %ld",
                        (long)job->indices, (long)k, (long)from, (long)to);
    }
    parallel(job->bags, 8192 / (job->bag.width + 1) + 1, bag_piece, job);
    return ACLNN_SUCCESS;
}

int prepare_embedding_bag(struct plan *plan, const struct op_row *row, const union op_value *arg)
{
    static const aclDataType floats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};
    static const aclDataType whole[] = {ACL_INT64, ACL_INT32, ACL_INT16, ACL_INT8, ACL_UINT8};
    struct view *table = plan_view(plan, arg[0].tensor), *index = plan_view(plan, arg[1].tensor),
                *offsets = plan_view(plan, arg[2].tensor), *out = plan_view(plan, arg[9].tensor),
                *bag_of = plan_view(plan, arg[10].tensor), *size = plan_view(plan, arg[11].tensor),
                *largest = plan_view(plan, arg[12].tensor);
    struct bag_job *job = plan_alloc(plan, sizeof *job);
    int64_t mode = arg[4].i;
    (void)row;
    TRY(plan_check_dtype(plan, 0, floats, 4));
    TRY(plan_check_dtype(plan, 1, whole, 5));
    TRY(plan_check_dtype(plan, 2, whole, 5));
    TRY(plan_check_dtype(plan, 6, &table->dtype, 1));
    TRY(plan_check_dtype(plan, 9, &table->dtype, 1));
    for (int p = 10; p <= 12; p++)
        TRY(plan_check_dtype(plan, p, whole, 2));
    if (table->rank != 2 || index->rank != 1 || offsets->rank != 1 || mode < 0 || mode > 2)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID,
                         "Expected a table of 2 dimensions, indices and offsets of 1, and mode 0, 1 or 2, but got %d, "
                         "%d, %d and %ld.",
                         table->rank, index->rank, offsets->rank, (long)mode);
    if (arg[6].tensor && mode != BAG_SUM)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "perSampleWeights go with mode 0 (sum) only.");
    bool last = arg[7].i;
    int64_t bags = offsets->dim[0] - last;
    if (bags < 0)
        return plan_fail(plan, ACLNN_ERR_PARAM_INVALID, "includeLastOffset needs at least one offset.");
    TRY(plan_check_shape(plan, 9, 2, (int64_t[]){bags, table->dim[1]}));
    TRY(plan_check_shape(plan, 11, 1, &bags));
    if (arg[6].tensor)
        TRY(plan_check_shape(plan, 6, 1, index->dim));
    *job = (struct bag_job){.kernels = ISA_PICK(bag_kernels),
                            .bag = {(enum bag_mode)mode, table->dim[1], arg[8].i},
                            .type = table->dtype == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT,
                            .rows = table->dim[0],
                            .indices = index->dim[0],
                            .bags = bags,
                            .last = last};
    if (job->bag.padding < 0)
        job->bag.padding = -1;
    job->table = plan_contiguous(plan, table, job->type);
    job->index = plan_contiguous(plan, index, ACL_INT64);
    job->offsets = plan_contiguous(plan, offsets, ACL_INT64);
    if (arg[6].tensor)
        job->factor = plan_contiguous(plan, plan_view(plan, arg[6].tensor), job->type);
    const uint64_t zero[2] = {0};
    bool finds = mode == BAG_MAX && largest->rank == 2 && largest->dim[0] == bags && largest->dim[1] == table->dim[1];
    bool tells = bag_of->rank == 1 && bag_of->dim[0] == index->dim[0];
    if (view_count(largest) && !finds)
        plan_fill(plan, largest, zero);
    if (view_count(bag_of) && !tells)
        plan_fill(plan, bag_of, zero);
    if (!bags)
        return ACLNN_SUCCESS;
    job->out = plan_output(plan, out, job->type);
    job->size = plan_output(plan, size, ACL_INT64);
    job->bag_of = tells ? plan_output(plan, bag_of, ACL_INT64) : NULL;
    job->largest = finds ? plan_output(plan, largest, ACL_INT64) : NULL;
    plan_step(plan, run_bags, job, (uint64_t)(index->dim[0] * table->dim[1] + bags * table->dim[1]));
    plan_finish(plan, job->out, out);
    plan_finish(plan, job->size, size);
    if (tells)
        plan_finish(plan, job->bag_of, bag_of);
    if (finds)
        plan_finish(plan, job->largest, largest);
    return ACLNN_SUCCESS;
}
