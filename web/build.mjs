// Bundles the page into dist/, which stands in the repository, and lists in dist.sha256 what it was
// made of. --check: fails where dist/ is not what the sources give. --tests: bundles the unit tests
// into dist-test/.

import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Everything that decides what the page becomes; `cargo xtask tidy` has the same list. */
const SOURCES = ["build.mjs", "package-lock.json", "package.json", "src", "tsconfig.json"];

process.chdir(fileURLToPath(new URL(".", import.meta.url)));
if (process.argv.includes("--tests")) {
  await tests();
} else if (process.argv.includes("--check")) {
  await check(await page());
} else {
  await write(await page());
}

/** The page's files, by their names in dist/. */
async function page() {
  const { outputFiles } = await build({
    entryPoints: { app: "src/main.tsx" },
    outdir: "dist",
    write: false,
    bundle: true,
    minify: true,
    format: "esm",
    target: ["es2022", "chrome123", "firefox120", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
    banner: { js: await licences("preact", "uplot") },
    logLevel: "warning",
  });
  const files = new Map();
  for (const { path, contents } of outputFiles) {
    files.set(path.split("/").pop(), Buffer.from(contents));
  }
  for (const name of ["index.html", "icon.svg"]) {
    files.set(name, await readFile(`src/${name}`));
  }
  return files;
}

async function write(files) {
  await emptied("dist");
  for (const [name, contents] of files) {
    await writeFile(`dist/${name}`, contents);
  }
  await writeFile("dist.sha256", await sums());
}

async function check(files) {
  const names = await readdir("dist").catch(() => []);
  const wrong = names.filter((name) => !files.has(name));
  for (const [name, contents] of files) {
    const committed = await readFile(`dist/${name}`).catch(() => undefined);
    if (!committed?.equals(contents)) {
      wrong.push(name);
    }
  }
  if (wrong.length > 0 || (await readFile("dist.sha256", "utf8")) !== (await sums())) {
    const which = wrong.length > 0 ? ` (${wrong.join(", ")})` : "";
    console.error(
      `web/dist is not what its sources give${which}: ` +
        "run `npm --prefix web run build`, and commit web/dist and web/dist.sha256",
    );
    process.exitCode = 1;
  }
}

/** The hashes of the sources and of the page, as `sha256sum --check` reads them. */
async function sums() {
  const paths = (await Promise.all([...SOURCES, "dist"].map(below))).flat().sort();
  const lines = paths.map(async (path) => {
    const hash = createHash("sha256").update(await readFile(path)).digest("hex");
    return `${hash}  ${path}\n`;
  });
  return (await Promise.all(lines)).join("");
}

/** The file `path`, or every file in the folder `path`. */
async function below(path) {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) {
    return [path];
  }
  return (await Promise.all(entries.map((entry) => below(`${path}/${entry.name}`)))).flat();
}

/** The licences of what is bundled, which they ask to go with every copy. */
async function licences(...packages) {
  const texts = packages.map(async (name) => {
    const text = await readFile(`node_modules/${name}/LICENSE`, "utf8");
    return `${name}\n\n${text.trim()}`;
  });
  return `/*!\n${(await Promise.all(texts)).join("\n\n")}\n*/`;
}

async function tests() {
  await emptied("dist-test");
  const files = await readdir("test");
  await build({
    entryPoints: files.filter((file) => file.endsWith(".test.ts")).map((file) => `test/${file}`),
    outdir: "dist-test",
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node18",
    logLevel: "warning",
  });
}

async function emptied(folder) {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
}
