# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: E501
"""The page of `anynpu trace`: markup, style and the small program that draws the timeline on a canvas."""

PAGE = r"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>AnyNPU trace</title>
<meta name="viewport" content="width=device-width">
<style>
:root { color-scheme: light dark; --bg: #fff; --fg: #1c2330; --soft: #667; --line: #d9dde5; --head: #f2f4f8; }
@media (prefers-color-scheme: dark) { :root { --bg: #14181f; --fg: #e4e8ef; --soft: #98a1b0; --line: #2c3442; --head: #1c222c; } }
body { margin: 0; font: 14px/1.45 system-ui, sans-serif; background: var(--bg); color: var(--fg); }
header { padding: 12px 18px 4px; } h1 { font-size: 19px; margin: 0; } header p { margin: 2px 0 0; color: var(--soft); }
#figures { display: flex; flex-wrap: wrap; gap: 8px 32px; padding: 4px 18px; } h2 { font-size: 14px; margin: 8px 0 2px; }
table { border-collapse: collapse; font-size: 12.5px; } td, th { padding: 1px 9px 1px 0; text-align: right; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; } th { color: var(--soft); font-weight: 500; border-bottom: 1px solid var(--line); }
#bar { display: flex; gap: 10px; align-items: center; padding: 6px 18px; border-top: 1px solid var(--line); background: var(--head); flex-wrap: wrap; }
#bar input { font: inherit; width: 200px; } #bar span { color: var(--soft); font-size: 12.5px; }
#view { position: relative; } canvas { display: block; width: 100%; cursor: grab; outline: none; }
#tip { position: fixed; pointer-events: none; background: var(--head); border: 1px solid var(--line); border-radius: 4px; padding: 4px 8px;
  font-size: 12.5px; max-width: 480px; display: none; white-space: pre-line; z-index: 2; }
#picked { padding: 8px 18px; min-height: 40px; font-size: 13px; white-space: pre-line; border-top: 1px solid var(--line); }
</style>
<header><h1>AnyNPU trace</h1><p>%FACTS%</p></header>
<div id="figures">%FIGURES%</div>
<div id="bar"><input id="find" placeholder="find an operator" aria-label="find"><button id="all">whole</button>
<span id="said">wheel: zoom · drag: move · double click: zoom to an event · W A S D</span></div>
<div id="view"><canvas id="canvas" tabindex="0"></canvas></div><div id="picked">Click an event.</div><div id="tip"></div>
<script>
"use strict";
const D = %DATA%;
const canvas = document.getElementById("canvas"), pen = canvas.getContext("2d"), tip = document.getElementById("tip");
const LEFT = 170, RULER = 22, ROW = 17, GAP = 5, DEEP = 12;
let last = 1, from = 0, to = 1, wanted = "", picked = null, wide = 0;
const rows = [];                       // {track, top, height}
let height = RULER;
for (const [i, t] of D.tracks.entries()) {
  const deep = t.depth.length ? Math.min(DEEP, t.depth.reduce((a, b) => Math.max(a, b), 0) + 1) : 1;
  const first = i === 0 || D.tracks[i - 1].group !== t.group;
  height += first ? 18 : 0;
  rows.push({track: t, top: height, height: deep * ROW, first});
  height += deep * ROW + GAP;
  t.longest = 0;                        // longest event: how far back a search must look
  for (let k = 0; k < t.start.length; k++) {
    t.longest = Math.max(t.longest, t.length[k]);
    last = Math.max(last, t.start[k] + t.length[k]);
  }
  t.marks = new Set(t.mark || []);
}
to = last;
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
function hue(text) { let h = 7; for (let i = 0; i < text.length; i++) h = (h * 31 + text.charCodeAt(i)) % 360; return h; }
const shades = D.names.map(n => hue(n));
function colour(t, k) {
  if (t.kind === "sum") return {computing: "#2f8f5b", communication: "#c9772b", overlapped: "#7a4fc0"}[t.name];
  if (t.marks.has(k)) return "#c93c3c";
  if (t.class && t.class[k] === 1) return "#3f7fc4";
  if (t.class && t.class[k] === 2) return "#6fa3d6";
  if (t.class && t.class[k] === 3) return "#c9772b";
  return `hsl(${shades[t.text[k]]} ${t.kind === "task" ? 58 : 38}% ${dark ? 42 : 62}%)`;
}
function time(ns) {
  const a = Math.abs(ns);
  return a >= 1e9 ? (ns / 1e9).toFixed(3) + " s" : a >= 1e6 ? (ns / 1e6).toFixed(3) + " ms" : (ns / 1e3).toFixed(3) + " µs";
}
function firstAfter(list, value) {
  let low = 0, high = list.length;
  while (low < high) { const mid = (low + high) >> 1; if (list[mid] < value) low = mid + 1; else high = mid; }
  return low;
}
const x = ns => LEFT + (ns - from) / (to - from) * (wide - LEFT);
const ns = px => from + (px - LEFT) / (wide - LEFT) * (to - from);
const level = (t, k) => t.depth.length ? Math.min(t.depth[k], DEEP - 1) : 0;
function draw() {
  const ratio = devicePixelRatio || 1;
  wide = canvas.clientWidth;
  canvas.width = wide * ratio; canvas.height = height * ratio; canvas.style.height = height + "px";
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = "11px system-ui, sans-serif"; pen.textBaseline = "middle";
  const style = getComputedStyle(document.documentElement);
  const fg = style.getPropertyValue("--fg"), soft = style.getPropertyValue("--soft"), line = style.getPropertyValue("--line");
  pen.clearRect(0, 0, wide, height);
  const step = 10 ** Math.floor(Math.log10((to - from) / 6 || 1)), unit = [1, 2, 5, 10].find(u => (to - from) / (step * u) < 10) * step;
  pen.fillStyle = soft; pen.strokeStyle = line; pen.beginPath();
  for (let at = Math.ceil(from / unit) * unit; at < to; at += unit) {
    pen.moveTo(x(at) + .5, RULER); pen.lineTo(x(at) + .5, height); pen.fillText(time(at), x(at) + 3, RULER / 2);
  }
  pen.stroke();
  for (const r of rows) {
    const t = r.track;
    if (r.first) { pen.fillStyle = fg; pen.font = "600 12px system-ui, sans-serif"; pen.fillText(t.group, 8, r.top - 9); pen.font = "11px system-ui, sans-serif"; }
    pen.fillStyle = soft; pen.fillText(t.name, 16, r.top + ROW / 2, LEFT - 22);
    const edge = new Float64Array(DEEP).fill(-1);
    pen.save(); pen.beginPath(); pen.rect(LEFT, r.top, wide - LEFT, r.height); pen.clip();
    for (let k = firstAfter(t.start, from - t.longest); k < t.start.length && t.start[k] < to; k++) {
      if (t.start[k] + t.length[k] < from) continue;
      const deep = level(t, k), left = Math.max(x(t.start[k]), LEFT - 2), right = Math.min(x(t.start[k] + t.length[k]), wide + 2);
      const name = D.names[t.text[k]], hit = wanted && name.toLowerCase().includes(wanted);
      if (right < edge[deep] + .6 && !hit) continue;           // smaller than a pixel, on top of the last
      edge[deep] = right;
      const y = r.top + deep * ROW, w = Math.max(right - left, .8);
      pen.globalAlpha = wanted && !hit ? .18 : 1;
      pen.fillStyle = colour(t, k); pen.fillRect(left, y, w, ROW - 2);
      if (picked && picked.track === t && picked.k === k) { pen.strokeStyle = fg; pen.lineWidth = 1.5; pen.strokeRect(left + .5, y + .5, w - 1, ROW - 3); pen.lineWidth = 1; }
      if (w > 26) { pen.fillStyle = "#fff"; if (!dark && t.kind !== "sum") pen.fillStyle = "#10151f"; pen.fillText(name.slice(0, Math.floor((w - 5) / 6.3)), left + 3, y + ROW / 2 - .5); }
    }
    pen.restore();
  }
  pen.globalAlpha = 1;
  if (picked) arrow(fg);
}
function arrow(fg) {
  const ends = [];
  const one = (t, k) => { const l = t.link[k]; if (l && l[0] >= 0) ends.push([D.tracks[l[0]], l[1], t, k]); };
  if (picked.track.link.length) one(picked.track, picked.k);
  else if (picked.track.kind === "host")
    for (const t of D.tracks) if (t.link.length)
      for (let k = 0; k < t.link.length && ends.length < 200; k++)
        if (D.tracks[t.link[k][0]] === picked.track && t.link[k][1] === picked.k) one(t, k);
  pen.strokeStyle = fg; pen.globalAlpha = .7;
  for (const [a, i, b, j] of ends) {
    const ra = rows[D.tracks.indexOf(a)], rb = rows[D.tracks.indexOf(b)];
    const xa = x(a.start[i]), ya = ra.top + level(a, i) * ROW + ROW - 2, xb = x(b.start[j]), yb = rb.top;
    if (Math.max(xa, xb) < LEFT) continue;
    pen.beginPath(); pen.moveTo(xa, ya); pen.bezierCurveTo(xa, (ya + yb) / 2, xb, (ya + yb) / 2, xb, yb); pen.stroke();
    pen.beginPath(); pen.moveTo(xb - 3, yb - 5); pen.lineTo(xb, yb); pen.lineTo(xb + 3, yb - 5); pen.stroke();
  }
  pen.globalAlpha = 1;
}
function under(px, py) {
  if (px < LEFT) return null;
  for (const r of rows) {
    if (py < r.top || py >= r.top + r.height) continue;
    const t = r.track, deep = Math.floor((py - r.top) / ROW), at = ns(px), slack = (to - from) / (wide - LEFT) * 2;
    let best = null;
    for (let k = firstAfter(t.start, at - t.longest - slack); k < t.start.length && t.start[k] <= at + slack; k++)
      if (level(t, k) === deep && t.start[k] + t.length[k] >= at - slack) best = {track: t, k};
    return best;
  }
  return null;
}
function words(e) {
  const t = e.track, k = e.k, link = t.link[k];
  let text = `${D.names[t.text[k]]}\n${t.group} · ${t.name}\nbegins ${time(t.start[k])}, lasts ${time(t.length[k])}`;
  if (D.names[t.note[k]]) text += "\n" + D.names[t.note[k]];
  if (link && link[0] >= 0) { const o = D.tracks[link[0]]; text += `\nlaunched by ${D.names[o.text[link[1]]]}, ${time(t.start[k] - o.start[link[1]])} before`; }
  return text;
}
function limit() {
  const span = Math.min(Math.max(to - from, 50), last * 1.05);
  from = Math.max(Math.min(from, last - span * .02), -span * .02); to = from + span;
}
function zoom(px, factor) { const at = ns(Math.max(px, LEFT)); from = at - (at - from) * factor; to = at + (to - at) * factor; limit(); draw(); }
let drag = null;
canvas.addEventListener("wheel", e => { e.preventDefault();
  if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) { const d = e.deltaX / (wide - LEFT) * (to - from); from += d; to += d; limit(); draw(); }
  else zoom(e.offsetX, e.deltaY > 0 ? 1.2 : 1 / 1.2); }, {passive: false});
canvas.addEventListener("pointerdown", e => { drag = {x: e.offsetX, from, to, moved: false}; canvas.setPointerCapture(e.pointerId); });
canvas.addEventListener("pointermove", e => {
  if (drag) {
    const d = (drag.x - e.offsetX) / (wide - LEFT) * (drag.to - drag.from);
    drag.moved = drag.moved || Math.abs(drag.x - e.offsetX) > 3;
    if (drag.moved) { from = drag.from + d; to = drag.to + d; limit(); draw(); }
    return;
  }
  const found = under(e.offsetX, e.offsetY);
  tip.style.display = found ? "block" : "none";
  if (found) { tip.textContent = words(found); tip.style.left = Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px"; tip.style.top = e.clientY + 16 + "px"; }
});
canvas.addEventListener("pointerup", e => { if (drag && !drag.moved) pick(under(e.offsetX, e.offsetY)); drag = null; });
canvas.addEventListener("pointerleave", () => tip.style.display = "none");
canvas.addEventListener("dblclick", e => { const f = under(e.offsetX, e.offsetY); if (f) show(f); });
function pick(found) { picked = found; document.getElementById("picked").textContent = found ? words(found) : "Click an event."; draw(); }
function show(f) { const b = f.track.start[f.k], l = f.track.length[f.k] || 1000; from = b - l; to = b + l * 2; limit(); pick(f); }
document.getElementById("all").onclick = () => { from = -last * .01; to = last * 1.01; draw(); };
document.getElementById("find").oninput = e => { wanted = e.target.value.toLowerCase(); draw(); };
addEventListener("keydown", e => {
  if (e.target.tagName === "INPUT") return;
  const move = (to - from) * .15, middle = (LEFT + wide) / 2;
  if (e.key === "w") zoom(middle, 1 / 1.3); else if (e.key === "s") zoom(middle, 1.3);
  else if (e.key === "a" || e.key === "d") { const d = e.key === "a" ? -move : move; from += d; to += d; limit(); draw(); }
});
addEventListener("resize", draw);
if (D.kept < D.all) document.getElementById("said").textContent += ` · the ${D.kept.toLocaleString()} longest of ${D.all.toLocaleString()} events`;
from = -last * .01; to = last * 1.01;
draw();
document.title = `AnyNPU trace: ${rows.length} tracks`;
</script></html>
"""
