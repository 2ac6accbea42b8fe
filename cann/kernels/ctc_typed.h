/* SPDX-License-Identifier: BSD-3-Clause */
/* The recursions for one type, included by ctc.c with  T  and  NAME(x). */

static double NAME(forward)(const struct ctc *c, const T *probability, T *alpha)
{
    int64_t n = 2 * c->labels + 1;
    const double none = -(double)INFINITY;
    for (int64_t i = 0; i < c->all * c->states; i++)
        alpha[i] = (T)none;
    if (!c->times)
        return c->labels ? -none : 0;
    alpha[0] = probability[c->blank];
    if (c->labels)
        alpha[1] = probability[c->label[0]];
    for (int64_t t = 1; t < c->times; t++) {
        const T *before = alpha + (t - 1) * c->states, *now = probability + t * c->step;
        for (int64_t s = 0; s < n; s++) {
            double sum = log_sum((double)before[s], s ? (double)before[s - 1] : none,
                                 skips(c, s) ? (double)before[s - 2] : none);
            alpha[t * c->states + s] = (T)(sum + (double)now[state_class(c, s)]);
        }
    }
    const T *last = alpha + (c->times - 1) * c->states;
    return -log_sum((double)last[n - 1], c->labels ? (double)last[n - 2] : none, none);
}

static void NAME(gradient)(const struct ctc *c, const T *probability, const T *alpha, double nll, double g,
                           double *beta, double *sums, T *out)
{
    int64_t n = 2 * c->labels + 1;
    const double none = -(double)INFINITY;
    double *now = beta, *later = beta + n;
    for (int64_t t = c->times - 1; t >= 0; t--) {
        const T *p = probability + t * c->step, *a = alpha + t * c->states;
        for (int64_t k = 0; k < c->classes; k++)
            sums[k] = none;
        for (int64_t s = 0; s < n; s++) {
            int64_t k = state_class(c, s);
            double after = t == c->times - 1 ? (s >= n - 2 ? 0 : none)
                                             : log_sum(later[s], s + 1 < n ? later[s + 1] : none,
                                                       s + 2 < n && skips(c, s + 2) ? later[s + 2] : none);
            now[s] = after + (double)p[k];
            sums[k] = log_sum(sums[k], (double)a[s] + now[s], none);
        }
        for (int64_t k = 0; k < c->classes; k++)
            out[t * c->step + k] = (T)((exp((double)p[k]) - exp(sums[k] + nll - (double)p[k])) * g);
        double *turn = now;
        now = later;
        later = turn;
    }
}

#undef T
#undef NAME
