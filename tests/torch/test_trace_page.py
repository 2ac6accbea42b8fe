# SPDX-License-Identifier: BSD-3-Clause
"""The page of `anynpu trace` in a real browser: its program runs without an error and draws what the trace holds."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
import torch_npu
from anynpu.trace import page, summarize

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
BOTH = [torch_npu.profiler.ProfilerActivity.CPU, torch_npu.profiler.ProfilerActivity.NPU]


def browse(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    assert BROWSER
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,800", "--enable-logging=stderr",
               f"--user-data-dir={path.parent}/browser", *options, path.as_uri()]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=90, env=os.environ | {"HOME": str(path.parent)})


@pytest.mark.skipif(not BROWSER, reason="no chromium on this machine")
def test_the_page_draws(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")

    x = torch.randn(300, 300).npu()
    with torch_npu.profiler.profile(activities=BOTH) as prof:
        with torch.profiler.record_function("</script><b>'quoted\" \n\\ block"):
            (x @ x).relu().cpu()
            torch.linalg.qr(x[:20, :20])
    path = tmp_path / "page.html"
    page.write(summarize(prof._recorded), str(path))
    # a click in the middle of the timeline, and a search, by the page's own handlers
    text = path.read_text().replace("</script></html>", """
      document.getElementById("find").value = "mm"; document.getElementById("find").oninput({target: {value: "mm"}});
      for (let y = 0, found = null; y < height && !found; y += 3)
        for (let px = LEFT; px < wide && !found; px += 2) if ((found = under(px, y))) pick(found);
      zoom(600, .5);
      </script></html>""")  # fmt: skip
    path.write_text(text)
    done = browse(path, "--dump-dom")
    assert re.search(r"<title>AnyNPU trace: \d+ tracks</title>", done.stdout), done.stderr[-2000:]
    assert "Uncaught" not in done.stderr, done.stderr[-2000:]
    picked = re.search(r'<div id="picked">(.*?)</div>', done.stdout, re.S)
    assert picked and "lasts" in picked[1], picked and picked[1]
    assert "<b>" not in done.stdout
    picture = tmp_path / "page.png"
    browse(path, f"--screenshot={picture}")
    colours = image.open(picture).convert("RGB").getcolors(1 << 20)
    assert colours and len(colours) > 40
