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
    PAIR("polygamma", "polygamma.out", run_pointwise, &polygamma, MATH),
    PAIR("nextafter", "nextafter.out", run_nextafter, &nextafter_, TAKES_FLOAT | OPERANDS(2)),
    {"nextafter_", run_nextafter, &nextafter_, TAKES_FLOAT | OPERANDS(2), true},
};
ATEN_FAMILY(special_family, rows);
