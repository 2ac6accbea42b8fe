# SPDX-License-Identifier: BSD-3-Clause
"""Mixed precision as training uses it: the cast lists, accumulation, clipping, overflow, and the accuracy it reaches."""

import pytest
import torch
import torch.nn.functional as F

# The operators of the official package's lists (its 2.13.0 wheel, read from its dispatcher).
OFFICIAL = """
    _convolution _convolution.deprecated _scaled_dot_product_flash_attention _thnn_fused_gru_cell _thnn_fused_lstm_cell
    acos addbmm addcdiv addcmul addmm addmv addr asin atan2 baddbmm bilinear binary_cross_entropy
    binary_cross_entropy_with_logits bmm cdist chain_matmul conv1d conv2d conv3d conv_tbc conv_transpose1d
    conv_transpose2d.input conv_transpose3d.input convolution cosh cosine_embedding_loss cosine_similarity cross
    cudnn_convolution cudnn_convolution_transpose cumprod cumsum dist dot einsum erfinv exp expm1 frobenius_norm.dim
    grid_sampler group_norm gru_cell hinge_embedding_loss huber_loss index_put kl_div l1_loss layer_norm
    linalg_matrix_norm linalg_matrix_norm.str_ord linalg_multi_dot linalg_vector_norm linear log log10 log1p log2
    log_softmax.int logsumexp lstm_cell margin_ranking_loss matmul mm mse_loss multi_margin_loss multilabel_margin_loss
    mv native_layer_norm nll_loss nll_loss2d norm.Scalar norm.ScalarOpt_dim nuclear_norm nuclear_norm.dim pdist
    poisson_nll_loss pow.Scalar pow.Tensor_Scalar pow.Tensor_Tensor prelu prod prod.dim_int reciprocal renorm
    rnn_relu_cell rnn_tanh_cell rsqrt scaled_dot_product_attention scatter_add sinh smooth_l1_loss soft_margin_loss
    softmax.int softplus sum sum.dim_IntList tan tensordot triplet_margin_loss
""".split()


def test_the_lists_are_the_official_ones():
    names = torch._C._dispatch_get_all_op_names()
    ours = {n for n in names if torch._C._dispatch_has_kernel_for_dispatch_key(n, "AutocastPrivateUse1")}
    assert ours == {"aten::" + name for name in OFFICIAL}


@pytest.mark.parametrize("low", [torch.float16, torch.bfloat16])
def test_what_each_list_does(low):
    a, h = torch.rand(4, 4, device="npu"), torch.rand(4, 4, device="npu", dtype=low)
    image, kernel = torch.rand(1, 2, 5, 5, device="npu"), torch.rand(3, 2, 3, 3, device="npu")
    first = torch.zeros(4, dtype=torch.long, device="npu")
    with torch.autocast("npu", dtype=low):
        for y in (
            a @ a,
            torch.mm(a, a),
            F.linear(a, a),
            F.conv2d(image, kernel),
            torch.bmm(a[None], a[None]),
            torch.einsum("ij,jk->ik", a, a),
            F.prelu(a, a[0, :1]),
            F.scaled_dot_product_attention(a[None], a[None], a[None]),
        ):
            assert y.dtype == low
        for y in (
            h.exp(),
            h.log(),
            h.pow(2),
            h.rsqrt(),
            F.softplus(h),
            F.layer_norm(h, (4,)),
            F.mse_loss(h, h),
            F.softmax(h, 0),
            h.sum(),
            h.cumsum(0),
            h.prod(0),
            h.norm(),
            torch.logsumexp(h, 0),
            F.nll_loss(h, first),
            F.cross_entropy(h, first),
        ):
            assert y.dtype == torch.float32
        assert h.sum(dtype=low).dtype == low and h.softmax(0, dtype=torch.float64).dtype == torch.float64
        for y in (torch.addcmul(h, h, a), torch.atan2(a, h), torch.dot(h[0], a[0])):
            assert y.dtype == torch.float32
        for y in (
            h + h,
            h.relu(),
            h.tanh(),
            F.gelu(h),
            h.t(),
            F.rms_norm(h, (4,)),
            F.interpolate(image.to(low), (7, 7)),
            F.max_pool2d(image.to(low), 2),
        ):
            assert y.dtype == low  # in no list: as the input is
        assert torch.cat([h, a]).dtype == torch.float32 and (h.double() @ h.double()).dtype == torch.float64
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            F.binary_cross_entropy(h, h)


def test_nesting_cache_and_threads():
    import threading

    net, x = torch.nn.Linear(4, 4).npu(), torch.ones(2, 4, device="npu")
    product = lambda: F.linear(x, x)
    with torch.autocast("npu", dtype=torch.bfloat16):
        with torch.autocast("npu", dtype=torch.float16):
            assert product().dtype == torch.float16
            with torch.autocast("npu", enabled=False):
                assert product().dtype == torch.float32 and not torch.is_autocast_enabled("npu")
            assert product().dtype == torch.float16
        assert product().dtype == torch.bfloat16 and torch.npu.get_autocast_dtype() == torch.bfloat16
        other = []
        thread = threading.Thread(target=lambda: other.append(torch.is_autocast_enabled("npu")))
        thread.start()
        thread.join()
        assert other == [False]  # the state is the thread's own
    assert torch.npu.get_autocast_dtype() == torch.float16
    # Cast weights are kept until the outermost context ends: a change made meanwhile is seen after it, or without the cache.
    for cached in (True, False):
        with torch.no_grad():
            net.weight.fill_(1)
            net.bias.zero_()
        with torch.autocast("npu", cache_enabled=cached):
            assert net(x)[0, 0].item() == 4
            net.weight.data.fill_(2)
            assert net(x)[0, 0].item() == (4 if cached else 8)
        with torch.autocast("npu"):
            assert net(x)[0, 0].item() == 8
    # Only NPU tensors are touched by autocast for the NPU, and the CPU's own does not touch them.
    with torch.autocast("npu"):
        assert (x.cpu() @ x.cpu().t()).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (x @ x.t()).dtype == torch.float32


def test_wrong_dtype_and_device_are_named():
    message = "only supports dtypes of torch.float16, torch.bfloat16, torch.float32.? currently"
    with pytest.warns(UserWarning, match=message), torch.autocast("npu", dtype=torch.int32):
        assert not torch.is_autocast_enabled("npu")
    with pytest.raises((RuntimeError, ValueError), match="npuu"), torch.autocast("npuu"):
        pass
    with torch.autocast("npu", dtype=torch.float32):
        assert (torch.ones(2, 2, device="npu") @ torch.ones(2, 2, device="npu")).dtype == torch.float32


def parameter(*values):
    return torch.nn.Parameter(torch.tensor(values, device="npu"))


def test_accumulated_gradients_and_two_optimizers():
    a, b = parameter(1.0, 1.0), parameter(1.0, 1.0)
    first, second = torch.optim.SGD([a], lr=1.0), torch.optim.SGD([b], lr=1.0)
    scaler = torch.amp.GradScaler("npu", init_scale=1024.0, growth_interval=1)
    for _ in range(4):
        scaler.scale((a.sum() + b.sum()) / 4).backward()
    assert a.grad.tolist() == [1024, 1024]
    b.grad[0] = float("nan")  # only its own optimizer skips
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert a.tolist() == [0, 0] and b.tolist() == [1, 1] and scaler.get_scale() == 512


def test_clipping_after_unscale_is_the_unscaled_clipping():
    torch.manual_seed(0)
    x = torch.randn(16, 8)

    def step(scaled):
        torch.manual_seed(1)
        net = torch.nn.Linear(8, 1).npu()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
        scaler = torch.amp.GradScaler("npu", init_scale=2.0**14, enabled=scaled)
        scaler.scale(net(x.npu()).square().mean() * 50).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()
        return net.weight.detach().cpu(), norm.cpu()

    for scaled, plain in zip(step(True), step(False), strict=True):
        torch.testing.assert_close(scaled, plain)


def test_scale_backs_off_until_steps_succeed_and_grows_again():
    p = parameter(1.0)
    optimizer = torch.optim.SGD([p], lr=0.0)
    scaler = torch.npu.amp.GradScaler(init_scale=2.0**18, growth_interval=3)
    scales = []
    for _ in range(9):
        optimizer.zero_grad()
        with torch.autocast("npu", dtype=torch.float16):
            loss = (p.half() * 1.0).sum()
        scaler.scale(loss).backward()  # half gradients overflow above 65504
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [2.0**17, 2.0**16, 2.0**15, 2.0**15, 2.0**15, 2.0**16, 2.0**15, 2.0**15, 2.0**15]


def test_misused_scaler_says_what_is_wrong():
    p = parameter(1.0)
    optimizer = torch.optim.SGD([p], lr=0.1)
    scaler = torch.amp.GradScaler("npu")
    with pytest.raises((AssertionError, RuntimeError), match="_scale"):
        scaler.step(optimizer)  # before scale
    scaler.scale(p.sum()).backward()
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called since the last update\(\)"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) is being called after step\(\)"):
        scaler.unscale_(optimizer)
    scaler.update()
    half = torch.nn.Parameter(torch.ones(2, device="npu", dtype=torch.float16))
    half_optimizer = torch.optim.SGD([half], lr=0.1)
    scaler.scale(half.sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.unscale_(half_optimizer)
    with pytest.raises((AssertionError, ValueError), match="backoff|< 1.0|factor"):
        torch.npu.amp.GradScaler(backoff_factor=2.0)
    with pytest.raises(RuntimeError, match="[Cc]losure"):
        scaler.step(optimizer, closure=lambda: None)


def test_saturation_follows_the_variable(output):
    code = """
import torch, torch_npu
p = torch.nn.Parameter(torch.ones(2, device="npu")); o = torch.optim.SGD([p], lr=1.0)
s = torch.npu.amp.GradScaler(init_scale=4.0)
s.scale((p * float("inf")).sum()).backward(); s.step(o); s.update()
print(torch_npu.npu.utils.is_support_inf_nan(), s.get_scale(), end=" ")
print(torch.tensor([12.0], device="npu", dtype=torch.float16).exp().item())
"""
    skipped = "Gradient overflow. Skipping step\n"
    assert output(code) == skipped + "True 2.0 inf"
    assert output(code, INF_NAN_MODE_ENABLE="1") == skipped + "True 2.0 inf"
    assert output(code, INF_NAN_MODE_ENABLE="0", INF_NAN_MODE_FORCE_DISABLE="1") == skipped + "False 2.0 65504.0"
    assert output(code, INF_NAN_MODE_FORCE_DISABLE="1") == skipped + "False 2.0 65504.0"


def test_saturation_needs_to_be_meant(run):
    done = run("import torch, torch_npu; torch.ones(2).npu()", INF_NAN_MODE_ENABLE="0")
    assert done.returncode and "please export INF_NAN_MODE_FORCE_DISABLE=1" in done.stderr
    done = run("import torch_npu; torch_npu.npu.utils.is_support_inf_nan()", INF_NAN_MODE_ENABLE="0")
    assert done.returncode and "INF_NAN_MODE_ENABLE shouldn't be set to 0" in done.stderr


SATURATED = """
import torch, torch_npu
npu = torch_npu.npu
print(npu.get_npu_overflow_flag(), npu.utils.npu_check_overflow(torch.ones(2).npu()))
h = torch.float16
print(torch.exp(torch.tensor([12, 1], dtype=h).npu())[0].item(), torch.sqrt(torch.tensor([-1.0], dtype=h).npu()).item())
print(npu.get_npu_overflow_flag(), npu.utils.npu_check_overflow(1.0), npu.get_npu_overflow_flag())
for t in (torch.float32, torch.bfloat16, torch.float64):
    big = torch.finfo(t).max
    x = torch.full((3, 4), big, dtype=t).npu().t()
    print((x * 2).unique().item() == big, (x * -2).amax().item() == -big, (x - x + (0 * x) / 0).abs().sum().item())
y = torch.ones(2, 3, dtype=h).npu(); y[:, 1] = 300; y.mul_(y * 300)
print(y.tolist(), npu.get_npu_overflow_flag()); npu.clear_npu_overflow_flag(); print(npu.get_npu_overflow_flag())
inf = torch.tensor([float("inf"), 1]).npu()
print(inf.clone().tolist(), inf.half().tolist(), torch.full((1,), float("inf"), device="npu").item())
npu.clear_npu_overflow_flag()
z = torch.tensor([1e30 + 1e30j]).npu(); print((z * z).tolist(), npu.get_npu_overflow_flag())
with torch.npu.stream(torch.npu.Stream()):
    npu.clear_npu_overflow_flag(); torch.ones(2).npu() / 0; print(npu.get_npu_overflow_flag())
print(torch_npu.npu_alloc_float_status(inf).tolist())
"""


def test_saturation(output):
    lines = output(SATURATED, INF_NAN_MODE_ENABLE="0", INF_NAN_MODE_FORCE_DISABLE="1").splitlines()
    assert lines[:3] == ["False False", "65504.0 0.0", "True True False"]
    assert lines[3:6] == ["True True 0.0"] * 3
    assert lines[6:8] == ["[[300.0, 65504.0, 300.0], [300.0, 65504.0, 300.0]] True", "False"]
    assert lines[8] == "[inf, 1.0] [65504.0, 1.0] inf"
    assert lines[9].endswith("True") and "inf" not in lines[9] and "nan" not in lines[9]
    assert lines[10:] == ["True", "[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]"]


def test_scaler_backs_off_where_results_saturate(output):
    code = """
import torch, torch_npu
for scaler in (torch.npu.amp.GradScaler(init_scale=2.0**16, growth_interval=1), torch.amp.GradScaler("npu", init_scale=2.0**16)):
    p = torch.nn.Parameter(torch.ones(4, device="npu")); o = torch.optim.SGD([p], lr=1e-4)
    found, scales = [], []
    for step in range(9):
        o.zero_grad()
        with torch.autocast("npu", dtype=torch.float16):
            loss = (torch.nn.functional.linear(p, torch.full((4, 4), 8.0, device="npu"))).sum()
        before = p.detach().clone()
        scaler.scale(loss).backward(); scaler.step(o); scaler.update()
        found.append(torch.equal(p, before)); scales.append(scaler.get_scale())
    print(found, scales, p.grad.isfinite().all().item())
"""
    lines = output(code, INF_NAN_MODE_ENABLE="0", INF_NAN_MODE_FORCE_DISABLE="1").splitlines()
    assert "Gradient overflow. Skipping step" in lines
    for line in (line for line in lines if line.startswith("[")):
        assert line.startswith("[True") and ", False" in line and line.endswith("True"), line
        scales = eval(line[line.index("] [") + 2 : line.rindex("]") + 1])
        assert scales[0] == 2.0**15 and min(scales) < 2.0**15, line


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    data = load_digits()
    x, y = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16, torch.tensor(data.target)
    return x[:1500].npu(), y[:1500].npu(), x[1500:].npu(), y[1500:].npu()


def accuracy(digits, dtype):
    """Test accuracy of a CNN after six epochs; `dtype` None is float32."""
    x, y, test_x, test_y = digits
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(512, 10),
    ).npu()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    scaler = torch.amp.GradScaler("npu", enabled=dtype == torch.float16)
    order = torch.Generator().manual_seed(1)
    for _ in range(6):
        for batch in torch.randperm(1500, generator=order).split(64):
            batch = batch.npu()
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("npu", dtype=dtype or torch.float16, enabled=dtype is not None):
                loss = F.cross_entropy(net(x[batch]), y[batch])
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    net.eval()
    with torch.no_grad(), torch.autocast("npu", dtype=dtype or torch.float16, enabled=dtype is not None):
        return (net(test_x).argmax(1) == test_y).float().mean().item()


def test_half_precision_learns_the_digits_as_well_as_float32(digits):
    float32 = accuracy(digits, None)
    assert float32 > 0.92
    for dtype in (torch.float16, torch.bfloat16):
        assert accuracy(digits, dtype) > float32 - 0.015
