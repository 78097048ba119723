// Bundles the page into dist/, or with --tests the unit tests into dist-test/.

import { cp, mkdir, readFile, readdir, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

process.chdir(fileURLToPath(new URL(".", import.meta.url)));
await (process.argv.includes("--tests") ? tests() : page());

async function page() {
  await emptied("dist");
  await build({
    entryPoints: { app: "src/main.tsx" },
    outdir: "dist",
    bundle: true,
    minify: true,
    format: "esm",
    target: ["es2022", "chrome123", "firefox120", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
    banner: { js: await licences("preact", "uplot") },
    logLevel: "warning",
  });
  await cp("src/index.html", "dist/index.html");
  await cp("src/icon.svg", "dist/icon.svg");
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
