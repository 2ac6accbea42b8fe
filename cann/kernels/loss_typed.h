/* SPDX-License-Identifier: BSD-3-Clause */
/* The loops of loss.c for one type T, float or double; NAME(x) gives their names, LOG, LOG1P and EXP the functions. */

static void NAME(map)(enum loss_mode mode, int64_t n, const T *restrict x, const T *restrict y, const T *restrict w,
                      T parameter, T *restrict out)
{
    const T half = (T)0.5;
    switch (mode) {
    case LOSS_SQUARE:
        for (int64_t i = 0; i < n; i++)
            out[i] = (x[i] - y[i]) * (x[i] - y[i]);
        break;
    case LOSS_ABS:
        for (int64_t i = 0; i < n; i++)
            out[i] = ABS(x[i] - y[i]);
        break;
    case LOSS_SMOOTH_L1:
        for (int64_t i = 0; i < n; i++) {
            T d = ABS(x[i] - y[i]);
            out[i] = d < parameter ? half * d * d / parameter : d - half * parameter;
        }
        break;
    case LOSS_HUBER:
        for (int64_t i = 0; i < n; i++) {
            T d = ABS(x[i] - y[i]);
            out[i] = d <= parameter ? half * d * d : parameter * (d - half * parameter);
        }
        break;
    case LOSS_BCE:
        for (int64_t i = 0; i < n; i++) {
            T a = LOG(x[i]), b = LOG1P(-x[i]);
            a = a < (T)-100 ? (T)-100 : a;
            b = b < (T)-100 ? (T)-100 : b;
            out[i] = ((y[i] - 1) * b - y[i] * a) * (w ? w[i] : (T)1);
        }
        break;
    case LOSS_MARGIN:
        for (int64_t i = 0; i < n; i++)
            out[i] = LOG(1 + EXP(-x[i] * y[i]));
        break;
    default:
        break;
    }
}

/* g: one gradient for all when step is 0. */
static void NAME(gradient)(enum loss_mode mode, int64_t n, const T *restrict x, const T *restrict y,
                           const T *restrict w, const T *restrict g, int64_t step, T parameter, T scale,
                           T *restrict out)
{
    switch (mode) {
    case LOSS_SQUARE:
        for (int64_t i = 0; i < n; i++)
            out[i] = 2 * scale * (x[i] - y[i]) * g[i * step];
        break;
    case LOSS_ABS:
        for (int64_t i = 0; i < n; i++)
            out[i] = scale * (T)((x[i] > y[i]) - (x[i] < y[i])) * g[i * step];
        break;
    case LOSS_SMOOTH_L1:
        for (int64_t i = 0; i < n; i++) {
            T d = x[i] - y[i], full = scale * g[i * step];
            out[i] = d <= -parameter ? -full : d >= parameter ? full : full * d / parameter;
        }
        break;
    case LOSS_HUBER:
        for (int64_t i = 0; i < n; i++) {
            T d = x[i] - y[i], unit = scale * g[i * step];
            out[i] = d <= -parameter ? -unit * parameter : d >= parameter ? unit * parameter : unit * d;
        }
        break;
    case LOSS_BCE:
        for (int64_t i = 0; i < n; i++) {
            T d = (1 - x[i]) * x[i];
            d = d < (T)1e-12 ? (T)1e-12 : d;
            out[i] = scale * g[i * step] * (w ? w[i] : (T)1) * (x[i] - y[i]) / d;
        }
        break;
    case LOSS_MARGIN:
        for (int64_t i = 0; i < n; i++) {
            T z = EXP(-x[i] * y[i]);
            out[i] = -y[i] * z * g[i * step] * scale / (1 + z);
        }
        break;
    default:
        break;
    }
}
