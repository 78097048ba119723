// Does in a real browser what a user does, against a running `fullpipe ui`:
// node test/browser.mjs URL-WITH-TOKEN [FOLDER-FOR-SCREENSHOTS] [lab|sim]
// Fails where something is missing, where the console shows an error, or where the page leaves its origin.

import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";

const NETWORK = "metro-40m-cbs64k";
const RUN_LASTS_MS = 240_000;
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const [address, folder = "screenshots", where = "lab"] = process.argv.slice(2);
if (!address) {
  console.error("usage: node test/browser.mjs URL-WITH-TOKEN [FOLDER] [lab|sim]");
  process.exit(2);
}
const origin = new URL(address).origin;
const complaints = [];
await mkdir(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
let failed = false;
try {
  await everything();
} catch (failure) {
  failed = true;
  console.error(failure);
  for (const [place, page] of browser.contexts().flatMap((context) => context.pages()).entries()) {
    await shot(page, `failed-${place}`);
  }
} finally {
  await browser.close();
}
for (const complaint of complaints) {
  console.error(`complaint: ${complaint}`);
}
process.exit(failed || complaints.length > 0 ? 1 : 0);

async function everything() {
  const first = await browser.newContext(screen({ acceptDownloads: true }));
  const page = await opened(first, address);
  await planned(page);
  const run = await started(page);
  const second = await browser.newContext({
    ...screen(),
    storageState: await first.storageState(),
  });
  const other = await opened(second, `${origin}/#/watch/${run}`);
  if (where === "lab") {
    await live(page);
  }
  await sameInBoth(page, other);
  await reloaded(page, run);
  const result = await ended(page);
  await reads(page, result);
  await explored(page, result);
  const again = await byKeyboard(other);
  await listed(page);
  await compared(page, result, again);
  await edited(page);
  await everywhere(await first.storageState(), run, result, again);
}

function screen(more = {}) {
  return { viewport: { width: 1280, height: 800 }, colorScheme: "light", ...more };
}

async function opened(context, url) {
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  page.on("pageerror", (error) => complaints.push(`exception: ${error.message}`));
  page.on("console", (message) => {
    // The browser itself reports an order or a network that is refused while it is typed.
    if (message.type() === "error" && !message.text().includes("status of 422")) {
      complaints.push(`console: ${message.text()}`);
    }
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== "blob:" && url.protocol !== "data:") {
      complaints.push(`request to ${request.url()}`);
    }
  });
  await page.addInitScript(() =>
    document.addEventListener("securitypolicyviolation", (event) =>
      console.error(`policy violated: ${event.violatedDirective} by ${event.blockedURI}`),
    ),
  );
  await page.goto(url);
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  return page;
}

async function go(page, place, heading) {
  await page.goto(`${origin}/#/${place}`);
  await page.getByRole("heading", { level: 1, name: heading }).waitFor();
}

async function shot(page, name) {
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

function demand(holds, sentence) {
  if (!holds) {
    throw new Error(`missing: ${sentence}`);
  }
  console.log(`ok: ${sentence}`);
}

async function planned(page) {
  await go(page, "run", "Run");
  const target = where === "lab" ? "Lab network" : "Simulation";
  await page.getByRole("radio", { name: target }).check({ force: true });
  await page.getByLabel("Network", { exact: true }).selectOption(NETWORK);
  await page.getByRole("radio", { name: /^test/ }).check();
  await page.getByLabel("Search among the options").fill("cir bottleneck");
  await page.locator("#option-cir").fill("nonsense");
  await page.getByRole("alert").waitFor();
  demand(true, "a wrong rate is refused while it is typed");
  await page.locator("#option-cir").fill("40M");
  await page.getByLabel("Search among the options").fill("");
  await page.getByLabel("site").fill("<script>alert(1)</script>");
  const command = page.locator(".order code");
  await command.filter({ hasText: "cir" }).waitFor();
  demand(/^fullpipe .*\btest\b/.test(await command.textContent()), "the command is shown");
  await shot(page, "run");
}

async function started(page) {
  await page.getByRole("button", { name: "Start the run" }).click();
  await page.waitForURL(/#\/watch\/.+/);
  const id = new URL(page.url()).hash.split("/")[2];
  await page.locator(".live").waitFor();
  demand(id, "a started run is watched");
  return id;
}

/** Looks for twelve seconds when the first panel is drawn anew, once TCP runs: bursts have no curve. */
async function live(page) {
  await page.locator(".trials .bar").first().waitFor({ timeout: RUN_LASTS_MS });
  const gap_ms = await page.evaluate(async () => {
    const gaps = [];
    let [before, since] = ["", performance.now()];
    const end = since + 12_000;
    while (performance.now() < end) {
      const now = document.querySelector(".chart canvas")?.toDataURL() ?? "";
      if (now !== before) {
        gaps.push(performance.now() - since);
        [before, since] = [now, performance.now()];
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)];
  });
  const told = `${Math.round(gap_ms)} ms from one picture to the next`;
  demand(gap_ms <= 220, `curves move at least five times a second (${told})`);
  await shot(page, "watch-live");
}

function trials(page) {
  return page.locator(".trials > li").count();
}

async function sameInBoth(page, other) {
  await other.locator(".trials > li").first().waitFor();
  const [here, there] = [await trials(page), await trials(other)];
  demand(Math.abs(here - there) <= 1, `both browsers show the same run (${here}, ${there} trials)`);
}

async function reloaded(page, run) {
  const before = await trials(page);
  await page.reload();
  await page.locator(".trials > li").first().waitFor();
  demand(page.url().endsWith(`#/watch/${run}`), "a reload stays with the run");
  demand((await trials(page)) >= before, "a reload forgets no trial");
}

async function ended(page) {
  const open = page.getByRole("link", { name: "Open the result" });
  await open.waitFor({ timeout: RUN_LASTS_MS });
  demand(await page.locator(".banner strong").textContent(), "an ended run shows its verdict");
  demand((await page.locator(".bar").count()) >= 4, "trials are drawn as bars");
  await shot(page, "watch-ended");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "PDF" }).click(),
  ]);
  const head = (await readFile(await download.path())).subarray(0, 5).toString();
  demand(head === "%PDF-", "the PDF is a PDF");
  await open.click();
  await page.waitForURL(/#\/results\/.+/);
  return new URL(page.url()).hash.split("/")[2];
}

async function reads(page, result) {
  await page.locator("table").first().waitFor();
  for (const caption of ["Window walk", "TCP throughput"]) {
    const table = page.locator("table", { hasText: caption });
    demand(await table.locator("tbody tr").count(), `a step is a table: ${caption}`);
  }
  demand((await page.locator("figure img").count()) >= 8, "what was measured is drawn");
  const bands = await page.getByText("SIMULATION", { exact: true }).count();
  demand(bands === (where === "sim" ? 1 : 0), "a result says whether it was simulated");
  await walked(page);
  demand(await page.getByText("<script>alert(1)</script>").count(), "a label is text");
  await shot(page, "result");
  for (const file of [
    "certificate.html",
    "certificate.md",
    "junit.xml",
    "series.csv",
    "result.json",
  ]) {
    const answer = await page.request.get(`${origin}/api/v1/results/${result}/${file}`);
    demand(answer.ok(), `${file} can be fetched`);
  }
}

/** What share of its ideal each window carried is what the row itself says that it carried. */
async function walked(page) {
  const rows = page.locator("table", { hasText: "Window walk" }).locator("tbody tr");
  const numbers = await rows.evaluateAll((all) =>
    all.map((row) => {
      const [beside, share] = [...row.cells].slice(-2).map((cell) => cell.textContent);
      return [...beside.split(" of "), share].map(Number.parseFloat);
    }),
  );
  demand(
    numbers.length >= 2 &&
      numbers.every(([carried, ideal, share]) => Math.abs(share - (100 * carried) / ideal) < 0.2),
    `the window walk is shown as shares of what its windows allow (${numbers.length} rows)`,
  );
}

async function explored(page, result) {
  await go(page, `explore/${result}`, "Explore");
  await page.locator(".chart canvas").first().waitFor();
  const curves = page.locator(".chart-key li");
  await curves.first().waitFor();
  const before = await curves.count();
  await page.locator(".tree details").nth(1).locator("summary").click();
  await page.locator(".tree details").nth(1).getByRole("checkbox").first().check();
  await curves.nth(before).waitFor();
  const panel = page.locator(".chart-box").first();
  await panel.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.locator(".chart-key b").first().waitFor();
  demand(await page.locator(".chart-time").count(), "the cursor moves by keys and shows values");
  await shot(page, "explore");
  await dragged(page, panel);
  demand(page.url().includes("from="), "dragging zooms");
  await shot(page, "explore-zoomed");
  await page.getByRole("button", { name: "Reset" }).click();
  await page.waitForURL((url) => !url.hash.includes("from="));
  for (const [name, head] of [
    ["CSV", "t_s,"],
    ["PNG", "\u0089PNG"],
  ]) {
    const button = page.getByRole("button", { name, exact: true });
    const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
    const file = await readFile(await download.path());
    demand(file.subarray(0, 4).toString("latin1") === head, `the curves can be had as ${name}`);
  }
}

async function dragged(page, panel) {
  const box = await panel.locator(".u-over").boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * 0.3, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.45, y, { steps: 4 });
  await page.mouse.move(box.x + box.width * 0.6, y, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL(/from=/);
}

/** A whole run without a pointer: from the skip link to the open result. */
async function byKeyboard(page) {
  await page.goto(`${origin}/#/results`);
  await page.reload();
  await page.getByRole("heading", { level: 1, name: "Results" }).waitFor();
  await tabTo(page, (focus) => focus.text === "Run" && focus.tag === "A");
  await page.keyboard.press("Enter");
  await page.getByRole("radio", { name: "Simulation" }).waitFor({ state: "attached" });
  await tabTo(page, (focus) => focus.name === "where");
  for (let times = 0; times < 3 && (await focused(page)).value !== "sim"; times += 1) {
    await page.keyboard.press("ArrowRight");
  }
  demand((await focused(page)).value === "sim", "the target is chosen by arrow keys");
  await page.locator(".order .primary:enabled").waitFor();
  await tabTo(page, (focus) => focus.text === "Start the run");
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/watch\/.+/);
  await page.getByRole("link", { name: "Open the result" }).waitFor({ timeout: RUN_LASTS_MS });
  await tabTo(page, (focus) => focus.text === "Open the result");
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/results\/.+/);
  await page.locator("table").first().waitFor();
  demand(true, "a run is planned, started and read by keyboard only");
  return new URL(page.url()).hash.split("/")[2];
}

async function tabTo(page, is) {
  for (let times = 0; times < 150; times += 1) {
    await page.keyboard.press("Tab");
    if (is(await focused(page))) {
      return;
    }
  }
  throw new Error("missing: an element that can be reached by the tabulator key");
}

function focused(page) {
  return page.evaluate(() => {
    const at = document.activeElement;
    return { tag: at?.tagName, text: at?.textContent?.trim(), name: at?.name, value: at?.value };
  });
}

async function listed(page) {
  await go(page, "results", "Results");
  const rows = page.locator("tbody tr");
  await rows.first().waitFor();
  const all = await rows.count();
  demand(all >= 2, "both runs are listed");
  await page.getByLabel("site").fill("<script>alert(1)</script>");
  await page.waitForFunction(
    (before) => document.querySelectorAll("tbody tr").length < before,
    all,
  );
  demand(true, "a filter leaves what it names");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.waitForFunction(
    (before) => document.querySelectorAll("tbody tr").length >= before,
    all,
  );
  await shot(page, "results");
}

async function compared(page, first, second) {
  await go(page, `compare/${first}/${second}`, "Compare");
  await page.locator("tbody tr").first().waitFor({ state: "attached" });
  demand(
    /of \d+ figures differ/.test(await page.locator(".banner p").textContent()),
    "two results are compared",
  );
  await shot(page, "compare");
  await go(page, `explore/${second}?with=${first}`, "Explore");
  await page.locator(".chart-key li", { hasText: "second run" }).first().waitFor();
  demand(true, "a second run is laid over the first");
  await shot(page, "explore-overlay");
}

async function edited(page) {
  await go(page, `lab/${NETWORK}`, "Lab");
  const editor = page.getByLabel("The file");
  await editor.waitFor();
  const text = await editor.inputValue();
  await shot(page, "lab");
  await editor.fill(text.replace("cir: 40M", "cir: fast"));
  await page
    .getByRole("alert")
    .filter({ hasText: /Line \d+, column \d+/ })
    .waitFor();
  await shot(page, "lab-wrong");
  await editor.fill(text.replace("cir: 40M", "cir: 20M"));
  await page.getByText("CIR 20 Mbit/s").first().waitFor();
  await page.getByRole("button", { name: "Test across this network" }).click();
  await page.getByRole("heading", { level: 1, name: "Run" }).waitFor();
  demand(
    (await page.getByLabel("Network", { exact: true }).inputValue()) === "",
    "an edited network is tested across",
  );
}

/** Every page in dark colours and on a phone: a picture each, and nothing wider than the screen. */
async function everywhere(storageState, run, result, again) {
  const places = [
    ["run", "run", "Run"],
    ["watch", `watch/${run}`, "Watch"],
    ["results", "results", "Results"],
    ["result", `results/${result}`, /./],
    ["explore", `explore/${result}`, "Explore"],
    ["compare", `compare/${result}/${again}`, "Compare"],
    ["lab", `lab/${NETWORK}`, "Lab"],
  ];
  const screens = [
    ["dark", screen({ colorScheme: "dark", storageState })],
    [
      "phone",
      screen({
        viewport: { width: 380, height: 800 },
        isMobile: true,
        hasTouch: true,
        storageState,
      }),
    ],
  ];
  for (const [name, settings] of screens) {
    const context = await browser.newContext(settings);
    for (const [file, place, heading] of places) {
      const page = await opened(context, `${origin}/#/${place}`);
      await page.getByRole("heading", { level: 1, name: heading }).first().waitFor();
      await page.locator(".waiting").first().waitFor({ state: "detached" });
      await page.waitForTimeout(600);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      const seen = settings.viewport.width;
      demand(wide <= seen, `${file} fits its screen, ${name} (${wide} of ${seen} pixels)`);
      await shot(page, `${file}-${name}`);
      await page.close();
    }
    await context.close();
  }
}
