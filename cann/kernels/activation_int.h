/* SPDX-License-Identifier: BSD-3-Clause */
/* The activation kernels that integers have, for type T; included by activation.c once for each. */
#define EXPAND1(name, type, expression) MAP1(name, type, expression)
#define EXPAND2(name, type, expression) MAP2_DENSE(name, type, expression)

EXPAND1(relu, T, x > 0 ? x : 0)
EXPAND1(clamp_min, T, x < s[0] ? s[0] : x)
EXPAND1(clamp_max, T, x > s[0] ? s[0] : x)
EXPAND1(clamp, T, (x < s[0] ? s[0] : x) > s[1] ? s[1] : (x < s[0] ? s[0] : x))
EXPAND1(threshold, T, x <= s[0] ? s[1] : x)
EXPAND2(threshold_grad, T, y <= s[0] ? 0 : x)

#undef EXPAND1
#undef EXPAND2
#undef T
