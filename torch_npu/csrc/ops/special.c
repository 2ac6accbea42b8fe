/* SPDX-License-Identifier: BSD-3-Clause */
/* Special functions. CANN has no names for these: the software NPU's own operators compute them, on others they run on
 * the CPU. */
#include "elementwise.h"

#define ONE(name, op)                                                                                                  \
    {name, run_pointwise, &(struct aclnn)ACLNN("anynpu_" op, "TT"), MATH, true},                                       \
    {                                                                                                                  \
        name ".out", run_pointwise, &(struct aclnn)ACLNN("anynpu_" op, "TT"), MATH, true                               \
    }
#define TWO(name, op, types)                                                                                           \
    {name, run_pointwise, &(struct aclnn)ACLNN("anynpu_" op, "TTT"), types | OPERANDS(2), true},                       \
    {                                                                                                                  \
        name ".out", run_pointwise, &(struct aclnn)ACLNN("anynpu_" op, "TTT"), types | OPERANDS(2), true               \
    }

/* The neighbour of a 16-bit float is not that of the float which computes it. */
static int run_nextafter(struct call *c, const struct aten_row *row)
{
    aclDataType type = arg_tensor(c, 0)->dtype;
    if ((type != ACL_FLOAT && type != ACL_DOUBLE) || arg_tensor(c, 1)->dtype != type)
        return CALL_FALLBACK;
    return run_pointwise(c, row);
}

/* p (p - 1) / 4 log π + the sum over j < p of lgamma(self - j / 2) */
static int run_mvlgamma(struct call *c, const struct aten_row *row)
{
    static struct aclnn adds = ACLNN("aclnnAdds", "TSST"), add = ACLNN("aclnnAdd", "TTST");
    const struct npu_tensor *self = arg_tensor(c, 0);
    int64_t p = arg_int(c, 1, 1);
    aclDataType type = result_type(row->code, self->dtype);
    if (!takes_type(row->code, self->dtype) || p < 1 || p > 64 || self->device < 0)
        return CALL_FALLBACK;
    struct npu_scalar one = {.kind = SCALAR_INT, .i = 1, .d = {1}},
                      shift = {.kind = SCALAR_FLOAT, .d = {(double)(p * (p - 1)) / 4 * 1.1447298858494001741}};
    struct npu_tensor *out = result_pointwise(c, 0, type, self->rank, self->size, &self, 1);
    aclDataType wide = type == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    struct npu_tensor *sum = temp(c, wide, self->rank, self->size), *part = temp(c, wide, self->rank, self->size);
    const struct npu_tensor *x = cast(c, self, wide);
    if (call_failed(c) || !tensor_numel(self))
        return call_failed(c) ? CALL_ERROR : CALL_OK;
    for (int64_t j = 0; j < p; j++) {
        struct npu_scalar half = {.kind = SCALAR_FLOAT, .d = {-0.5 * (double)j}};
        launch(c, &adds, (union aclnn_value[]){{.t = x}, {.s = &half}, {.s = &one}, {.t = part}});
        launch(c, row->aclnn, (union aclnn_value[]){{.t = part}, {.t = j ? part : sum}});
        if (j)
            launch(c, &add, (union aclnn_value[]){{.t = sum}, {.t = part}, {.s = &one}, {.t = sum}});
    }
    return launch(c, &adds, (union aclnn_value[]){{.t = sum}, {.s = &shift}, {.s = &one}, {.t = out}});
}

static struct aclnn lgamma_ = ACLNN("aclnnLgamma", "TT");
static struct aclnn polygamma = ACLNN("anynpu_Polygamma", "iTT");
static struct aclnn nextafter_ = ACLNN("anynpu_Nextafter", "TTT");

static const struct aten_row rows[] = {
    ONE("special_i0e", "I0e"),
    ONE("special_i1", "I1"),
    ONE("special_i1e", "I1e"),
    ONE("special_bessel_j0", "J0"),
    ONE("special_bessel_j1", "J1"),
    ONE("special_bessel_y0", "Y0"),
    ONE("special_bessel_y1", "Y1"),
    ONE("special_modified_bessel_i0", "I0"),
    ONE("special_modified_bessel_i1", "I1"),
    ONE("special_modified_bessel_k0", "K0"),
    ONE("special_scaled_modified_bessel_k0", "K0e"),
    ONE("special_modified_bessel_k1", "K1"),
    ONE("special_scaled_modified_bessel_k1", "K1e"),
    ONE("special_spherical_bessel_j0", "SphericalJ0"),
    ONE("special_airy_ai", "Airy"),
    ONE("special_erfcx", "Erfcx"),
    ONE("special_log_ndtr", "LogNdtr"),
    ONE("special_entr", "Entr"),
    UNARY("i0", ACLNN("anynpu_I0", "TT"), MATH),
    TWO("special_zeta", "Zeta", MATH),
    TWO("special_chebyshev_polynomial_t", "ChebyshevT", MATH),
    TWO("special_chebyshev_polynomial_u", "ChebyshevU", MATH),
    TWO("special_chebyshev_polynomial_v", "ChebyshevV", MATH),
    TWO("special_chebyshev_polynomial_w", "ChebyshevW", MATH),
    TWO("special_shifted_chebyshev_polynomial_t", "ShiftedT", MATH),
    TWO("special_shifted_chebyshev_polynomial_u", "ShiftedU", MATH),
    TWO("special_shifted_chebyshev_polynomial_v", "ShiftedV", MATH),
    TWO("special_shifted_chebyshev_polynomial_w", "ShiftedW", MATH),
    TWO("special_hermite_polynomial_h", "HermiteH", MATH),
    TWO("special_hermite_polynomial_he", "HermiteHe", MATH),
    TWO("special_laguerre_polynomial_l", "Laguerre", MATH),
    TWO("special_legendre_polynomial_p", "Legendre", MATH),
    TWO("igamma", "Igamma", TAKES_FLOAT),
    {"igamma_", run_pointwise, &(struct aclnn)ACLNN("anynpu_Igamma", "TTT"), TAKES_FLOAT | OPERANDS(2), true},
    TWO("igammac", "Igammac", TAKES_FLOAT),
    {"igammac_", run_pointwise, &(struct aclnn)ACLNN("anynpu_Igammac", "TTT"), TAKES_FLOAT | OPERANDS(2), true},
    PAIR("mvlgamma", "mvlgamma.out", run_mvlgamma, &lgamma_, MATH),
    {"mvlgamma_", run_mvlgamma, &lgamma_, TAKES_FLOAT, true},
    PAIR("polygamma", "polygamma.out", run_pointwise, &polygamma, MATH),
    PAIR("nextafter", "nextafter.out", run_nextafter, &nextafter_, TAKES_FLOAT | OPERANDS(2)),
    {"nextafter_", run_nextafter, &nextafter_, TAKES_FLOAT | OPERANDS(2), true},
};
ATEN_FAMILY(special_family, rows);
