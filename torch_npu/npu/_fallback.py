# SPDX-License-Identifier: BSD-3-Clause
"""Which operators ran on the CPU, how often, over how many bytes, for how long, and what could stand in their place.

    print(torch.npu.fallback_report())

ANYNPU_FALLBACK_REPORT=1 prints the same table at exit.
"""

import atexit
import os
import sys
from typing import NamedTuple

import torch_npu._C as _C

from .. import _variables
from ._lazy import _is_in_bad_fork

# Operator (without its overload) → what is worth trying instead. Only where results stay the same or the difference is said.
_INSTEAD = {
    "_cdist_forward": "torch.cdist(…, compute_mode='use_mm_for_euclid_dist'): matrix products, less exact for near points",
    "_cdist_backward": "torch.cdist(…, compute_mode='use_mm_for_euclid_dist'): matrix products, less exact for near points",
    "_ctc_loss": "compute the loss on .cpu() log-probabilities once a step, so that one copy is made, not one a call",
    "_ctc_loss_backward": "see aten::_ctc_loss",
    "_cummax_helper": "a running maximum alone: torch.logcumsumexp(x * k) / k for large k, or a loop of torch.maximum",
    "_cummin_helper": "see aten::_cummax_helper with negated values",
    "_embedding_bag": "torch.nn.functional.embedding, then sum, mean or amax over the bag",
    "_embedding_bag_backward": "see aten::_embedding_bag",
    "_fft_c2c": "a fixed length: a matrix product with the DFT matrix (torch.fft.fft(torch.eye(n)))",
    "_fft_r2c": "see aten::_fft_c2c",
    "_fft_c2r": "see aten::_fft_c2c",
    "_linalg_det": "torch.linalg.slogdet in a loss; for 2×2 and 3×3 the written-out formula",
    "_linalg_eigh": "torch.lobpcg for a few eigenvalues (matrix products)",
    "_linalg_solve_ex": "many right sides of one matrix: torch.linalg.inv once, then matrix products",
    "_linalg_svd": "torch.svd_lowrank for a few singular values (matrix products)",
    "linalg_inv_ex": "a matrix that stays: invert it once, outside of the loop",
    "linalg_cholesky_ex": "a matrix that stays: factor it once, outside of the loop",
    "linalg_qr": "torch.linalg.householder_product of kept reflectors; orthogonal weights: make them on the CPU once",
    "linalg_matrix_exp": "a truncated Taylor series with scaling and squaring: matrix products",
    "grid_sampler_3d": "two torch.nn.functional.grid_sample in 2-D where one axis is not resampled",
    "histogram": "torch.bucketize, then torch.bincount",
    "median": "torch.sort, then the middle element; torch.quantile interpolates, median does not",
    "mode": "torch.unique(return_counts=True), then argmax of the counts",
    "nonzero_static": "torch.nonzero",
    "searchsorted": "torch.bucketize where the boundaries are one row",
    "kthvalue": "torch.topk(k, largest=False), then its last value",
    "lgamma": "torch.special.gammaln is the same operator; for large x Stirling's series",
    "igamma": "no operator of the NPU: keep such losses on the CPU, one copy a step",
    "to_sparse": "dense tensors with a mask",
    "_sparse_mm": "dense matmul of the masked matrix",
    "multi_margin_loss": "torch.clamp(margin - x[target] + x, min=0) written out",
    "unique_dim": "torch.unique of a hash of the rows (x @ random vector)",
    "_unique2": "torch.sort, then a comparison of neighbours",
    "geqrf": "see aten::linalg_qr",
    "triangular_solve": "torch.linalg.inv of the triangle once, then matrix products",
    "_cholesky_solve_helper": "see aten::linalg_cholesky_ex",
}


class FallbackRow(NamedTuple):
    """An operator that ran on the CPU."""

    name: str
    """"aten::name.overload"."""
    count: int
    bytes: int
    """Of the tensors that it was given and returned."""
    time_us: float
    """In its CPU kernel."""
    share: float
    """Of the time since the start or the last reset: 0 to 1."""
    suggestion: str
    """What could be written instead; "" where nothing better is known."""


class FallbackReport(list[FallbackRow]):
    """The rows, those that took longest first; as text a table."""

    elapsed: float = 0.0
    """Seconds since the start or the last reset."""

    def __str__(self) -> str:
        if not self:
            return "torch_npu: no operator ran on the CPU"
        total = sum(row.count for row in self)
        share = 100 * sum(row.share for row in self)
        lines = [
            f"torch_npu: {len(self)} operators ran on the CPU, {total} calls in all, {share:.1f} % of {self.elapsed:.1f} s",
            f"{'calls':>9} {'MB':>10} {'ms':>10} {'time':>7}  operator",
        ]
        for row in self:
            lines.append(
                f"{row.count:>9} {row.bytes / 1e6:>10.3f} {row.time_us / 1e3:>10.3f} {100 * row.share:>6.2f}%  {row.name}"
            )
            if row.suggestion:
                lines.append(f"{'':>40}  instead: {row.suggestion}")
        return "\n".join(lines)


def _suggestion(name: str) -> str:
    bare = name.removeprefix("aten::").partition(".")[0]
    return _INSTEAD.get(bare) or _INSTEAD.get(bare.removesuffix("_"), "")


def fallback_report() -> FallbackReport:
    """Operators that had no kernel of the NPU and ran on the CPU in this process, since the start or the last
    torch.npu.utils.reset_cpu_fallback_count(). Never opens the device. The sum of the shares can exceed the true one where
    several threads fall back at once.
    """
    uses, elapsed = _C._npu_fallback_report()
    rows = [
        FallbackRow(name, times, size, ns / 1e3, ns / elapsed if elapsed else 0.0, _suggestion(name))
        for name, (times, size, ns) in uses.items()
    ]
    report = FallbackReport(sorted(rows, key=lambda row: (-row.time_us, row.name)))
    report.elapsed = elapsed / 1e9
    return report


def _print_at_exit(process: int) -> None:
    if os.getpid() == process and not _is_in_bad_fork():
        report = fallback_report()
        if report:
            print(report, file=sys.stderr)


if _variables.on("ANYNPU_FALLBACK_REPORT"):
    atexit.register(_print_at_exit, os.getpid())
