# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""browser.py: pages of reports in a browser without a window (see page.py). A script that is put into a copy of the page presses
keys, points and clicks, and says what it finds in a message to the page around it, whose DOM is printed. The page itself lies in
a frame, so that it can be narrower than a window."""
import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from report import check, run

ROOT = Path(__file__).resolve().parent.parent
BROWSERS = "chromium", "chromium-browser", "google-chrome"

FIRST = """<script>
window.mistakes = [];
window.addEventListener("error", (e) => mistakes.push("error: " + (e.message || e.target)), true);
window.addEventListener("unhandledrejection", (e) => mistakes.push("rejection: " + e.reason));
document.addEventListener("securitypolicyviolation", (e) => mistakes.push("policy: " + e.violatedDirective));
for (const kind of ["error", "warn"]) console[kind] = (...x) => mistakes.push(kind + ": " + x.join(" "));
</script>"""

LAST = """<script>
window.addEventListener("load", () => setTimeout(() => {
  const said = [];
  let checks = 0;
  const is = (what, holds) => {
    checks++;
    if (!holds) said.push(what);
  };
  const look = () => {
    const box = (name) => document.getElementById(name);
    const now = (name) => box(name).querySelector(".now");
    const press = (key, more) => document.activeElement.dispatchEvent(
      new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
    const seen = (name, line) => {
      const a = box(name).getBoundingClientRect(), b = line.getBoundingClientRect();
      return b.top >= a.top - 2 && b.bottom <= a.bottom + 2;
    };
    const all = [...document.querySelectorAll(".code div")];
    /* What belongs to a line, by its attributes alone. */
    const wanted = (line) => {
      const irs = line.id[0] === "s" ? all.filter((x) => x.dataset.s === line.id.slice(1)) :
        line.id[0] === "i" ? [line] : all.filter((x) => x.id === "i" + line.dataset.i);
      const numbers = new Set(irs.map((x) => x.id.slice(1)));
      const sources = line.id[0] === "s" ? [line] : all.filter((x) => irs.some((i) => x.id === "s" + i.dataset.s));
      const ptx = line.id[0] === "p" ? [line] : all.filter((x) => numbers.has(x.dataset.i));
      return new Set([...sources, ...irs, ...ptx]);
    };
    const linked = (what, line) => {
      const want = wanted(line), have = new Set(document.querySelectorAll(".linked"));
      is(what + ": " + line.id + " has " + have.size + " lines, not " + want.size, want.size === have.size && [...want].every((x) => have.has(x)));
      for (const name of ["source", "ir", "ptx"]) {
        const of = [...want].filter((x) => x.parentElement === box(name));
        is(what + ": no line of " + name + " is seen for " + line.id, !of.length || of.some((x) => seen(name, x)));
      }
    };
    box("source").focus();
    is("the source has no line", now("source"));
    const start = box("source").children;
    for (let i = 0; i < 60; i++) {
      press(i % 2 ? "j" : "ArrowDown");
      is("j and down go down, " + i, now("source") === start[Math.min(i + 1, start.length - 1)]);
      linked("keys", now("source"));
    }
    for (const key of ["k", "ArrowUp"]) {
      const at = [...start].indexOf(now("source"));
      press(key);
      is(key + " goes up", now("source") === start[at - 1]);
    }
    const dot = all.find((x) => x.parentElement === box("source") && /tl[.]dot|tl[.]store/.test(x.textContent));
    const until = (key, there) => { for (let i = 0; i < 9999 && !there(); i++) press(key); };
    press("Home");
    until("j", () => now("source") === dot);
    press("Enter");
    is("Enter does not go to the tile IR", document.activeElement === box("ir") && now("ir") && now("ir").dataset.s === dot.id.slice(1));
    linked("Enter", now("ir"));
    until("j", () => all.some((x) => x.dataset.i === now("ir").id.slice(1)));
    const ir = now("ir");
    press("Enter");
    is("Enter does not go to the PTX", document.activeElement === box("ptx") && now("ptx") && now("ptx").dataset.i === ir.id.slice(1));
    const style = getComputedStyle(document.activeElement);
    is("focus cannot be seen", style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2);
    press("Enter", { shiftKey: true });
    is("shift and Enter do not go back", document.activeElement === box("ir") && now("ir") === ir);
    press("End");
    is("End", now("ir") === box("ir").lastElementChild && seen("ir", now("ir")));
    press("Home");
    is("Home", now("ir") === box("ir").firstElementChild && seen("ir", now("ir")));
    press("PageDown");
    is("PageDown", now("ir") !== box("ir").firstElementChild && seen("ir", now("ir")));
    press("x");
    press("j", { ctrlKey: true });
    for (const name of ["source", "ir", "ptx"]) is(name + " is not in the order of Tab", box(name).tabIndex === 0);

    const lines = all.filter((x) => x.dataset.i).filter((x, i) => i % 40 === 0);
    lines.forEach((line, i) => {
      box("ptx").scrollTop = line.offsetTop - 10;
      line.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: i + 1, clientY: i + 1 }));
      is("pointing at " + line.id, now("ptx") === line);
      linked("pointing", line);
    });
    const links = [...document.querySelectorAll("main a[href^='#i']")].filter((x, i) => i % 7 === 0);
    for (const link of links) {
      link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
      const id = link.getAttribute("href").slice(1);
      is("a link to " + id, document.activeElement === box("ir") && now("ir").id === id && seen("ir", now("ir")));
    }

    const wide = document.documentElement;
    is("the page is wider than its frame: " + wide.scrollWidth, wide.scrollWidth <= wide.clientWidth);
    for (const x of document.querySelectorAll("main section, figure, svg, table, article, p"))
      if (x.getBoundingClientRect().right > innerWidth + 1) is("too wide: " + x.tagName + " " + x.textContent.slice(0, 40), false);
    const light = (colour) => {
      const part = colour.match(/[\\d.]+/g).slice(0, 3).map((x) => x / 255).map((x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
      return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
    };
    const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
    const paper = getComputedStyle(document.body).backgroundColor;
    const behind = (x) => { for (; x; x = x.parentElement) { const c = getComputedStyle(x).backgroundColor; if (!/, 0[)]/.test(c)) return c; } return paper; };
    is("light or dark", light(paper) > 0.5 === (SCHEME === "light"));
    for (const x of document.querySelectorAll("h1, h2, th, td, small, a, figcaption, .code div, .now, .linked"))
      if (contrast(getComputedStyle(x).color, behind(x)) < 4.5) is("contrast of " + x.tagName + " " + x.className, false);
    for (const [shape, text] of [[".lane", ".tile text"], [".slot", ".pipeline text"], [".buffer rect", ".map a text"]]) {
      const words = document.querySelector(text);
      for (const x of words ? document.querySelectorAll(shape) : [])
        if (contrast(getComputedStyle(words).fill, getComputedStyle(x).fill) < 4.5) is("contrast on " + shape + " " + getComputedStyle(x).fill, false);
    }
  };
  try {
    look();
  } catch (e) {
    said.push("not looked at to the end: " + e);
  }
  parent.postMessage({ checks, said: said.concat(mistakes), width: innerWidth }, "*");
}, 50));
</script>"""

AROUND = """<!DOCTYPE html><body style="margin:0"><script>
window.addEventListener("message", (e) => { document.getElementById("said").textContent = JSON.stringify(e.data); });
</script><iframe src="page.html" style="border:0;width:%dpx;height:%dpx"></iframe><pre id=said></pre>"""

PAGES = [  # example, target: loops that share, roles, several entries, no dots, scans
    ("matmul.tl", "sm_90a"), ("flash_attention.tl", "sm_80"), ("streamk.tl", "sm_90a"), ("vector_add.tl", "sm_80"), ("filter.tl", "sm_90a"),
    ("matmul_int4.tl", "sm_80"),
]


def opened(browser, work, page, width, height, scheme):
    """What the script in the page says, or None."""
    script = LAST.replace("<script>", f"<script>\nconst SCHEME = {json.dumps(scheme)};", 1)
    text = page.replace("<style>", FIRST + "\n<style>", 1)
    at = text.rindex("</body>")
    (work / "page.html").write_text(text[:at] + script + text[at:])
    (work / "around.html").write_text(AROUND % (width, height))
    p = subprocess.run(
        [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={work / 'profile'}",
         f"--window-size={max(width, 500)},{height}", f"--blink-settings=preferredColorScheme={int(scheme == 'light')}",
         "--virtual-time-budget=20000", "--dump-dom", (work / "around.html").as_uri()],
        capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": str(work)})
    said = re.search(r"<pre id=\"said\">(.+?)</pre>", p.stdout, re.S)
    return json.loads(html.unescape(said[1])) if said else None


def main(bin_):
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not browser:
        print("no chromium: pages were not opened")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for file, target in PAGES:
            page = run(bin_ / "tilec", ROOT / "examples" / file, f"--target={target}", "--report=html", "-o", "-")
            for width, height in (380, 800), (1600, 1000):
                for scheme in "light", "dark":
                    name = f"{file} {target}, {width} px, {scheme}"
                    said = opened(browser, work, page, width, height, scheme)
                    check(f"{name}: the page says nothing", said)
                    if said:
                        check(f"{name}: it is {said['width']} px wide", said["width"] == width)
                        check.passed += said["checks"] - len(said["said"])
                        for x in said["said"]:
                            check(f"{name}: {x}", False)
    print(f"{check.passed} passed, {check.failed} failed")
    return check.failed != 0
