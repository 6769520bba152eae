// Bundles the package's exports, the command and the hashing threads, with the types next to them: Node loads thirty files
// faster than seven hundred. Dependencies are bundled too, in the versions of the lock file, except those that parse
// untrusted input or that an application may want to update on its own: these stay `dependencies`. Lazy imports stay in
// separate files. The manual is copied as Markdown. With `--source-maps`, profiles of the bundle can be read by source.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { writeMarkdownCopy } from "../../docs/.vitepress/markdown-copy.ts";
import { withoutAttestation } from "./build/attestation.ts";
import { builtinsAsTheyAre, lateInheritance } from "./build/platform.ts";

const here = import.meta.dirname;
const dist = join(here, "dist");
/** What has its own file in the bundle, by the name of that file: what every feature uses, and large packages. */
const APART = {
  babel: /node_modules[\\/]@babel[\\/]/,
  base: /ashlar[\\/]src[\\/](?:support|messages|node|security[\\/](?!password|email))/,
  edge: /node_modules[\\/]edge\.js[\\/]/,
  kysely: /node_modules[\\/]kysely[\\/]/,
  parse5: /node_modules[\\/]parse5[\\/]/,
  re2: /node_modules[\\/]re2js[\\/]/,
  webauthn: /node_modules[\\/](?:@simplewebauthn|@peculiar|@levischuck|@hexagon)[\\/]/,
};
/** What an application installs itself, for development: as a peer, it would be part of every production install. */
const FOR_DEVELOPMENT = ["youch"];
/** Applications use its types too, so it is also installed, in exactly the bundled version. */
const BUNDLED_DEPENDENCIES = ["kysely"];
const publicFolder = join(here, "src/public");
/** What runs in browsers. It shares nothing with the rest, not even the helpers that a bundle begins with. */
const CLIENT = "client.ts";

await rm(dist, { recursive: true, force: true });
const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(here, "package.json"), "utf8")) as {
  readonly [kind: string]: Readonly<Record<string, string>>;
};
const packages = Object.keys({ ...dependencies, ...peerDependencies }).filter(
  (name) => !BUNDLED_DEPENDENCIES.includes(name),
);
const bundle = await rolldown({
  input: {
    ...Object.fromEntries(
      readdirSync(publicFolder)
        .filter((file) => file !== CLIENT)
        .map((file) => [file.replace(/\.ts$/, ""), join(publicFolder, file)]),
    ),
    cli: join(here, "src/cli/main.ts"),
    "hashing-worker": join(here, "src/security/password/hashing-worker.ts"),
  },
  platform: "node",
  plugins: [lateInheritance(), builtinsAsTheyAre(), withoutAttestation()],
  // The plugins only change lines, so the maps still name the right file.
  checks: { sourcemapBroken: false },
  external: [...packages, ...FOR_DEVELOPMENT].map((name) => new RegExp(`^${name}(?:/|$)`)),
});
// All in one folder: a module finds the hashing threads next to itself, whichever file it ends up in. Class names are kept
// because messages show them.
const { output } = await bundle.write({
  dir: dist,
  format: "esm",
  chunkFileNames: "chunk-[name].js",
  keepNames: true,
  sourcemap: process.argv.includes("--source-maps"),
  // V8 keeps the text of every file in memory, with two bytes for each character if a single one is not Latin-1. The
  // comments are in the types.
  charset: "ascii",
  comments: { legal: false, jsdoc: false, annotation: true },
  codeSplitting: {
    groups: Object.entries(APART).map(([name, test]) => ({ name, test })),
  },
});
const client = await rolldown({ input: join(publicFolder, CLIENT), platform: "neutral" });
await client.write({ dir: dist, format: "esm", comments: { legal: false, jsdoc: false, annotation: true } });
const files = output.flatMap((part) => (part.type === "chunk" ? part.moduleIds : []));
const folders = new Set(files.flatMap((file) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(file) ?? []));
await writeFile(join(here, "NOTICE.md"), notice([...folders].map(licenseOf).sort()));
await cp(join(here, "../../CHANGELOG.md"), join(here, "CHANGELOG.md"));
await rm(join(here, "docs"), { recursive: true, force: true });
await writeMarkdownCopy(here, "docs");
const compiler = join(here, "../../node_modules/typescript/bin/tsc");
execFileSync(process.execPath, [compiler, "-p", join(here, "tsconfig.build.json")], { stdio: "inherit" });

/** What others wrote, and under which license: bundled packages, those that are installed with this one, data. */
function notice(bundled: readonly string[]): string {
  const installed = Object.keys(dependencies ?? {}).map((name) => {
    const { version, license } = manifestOf(folderOf(name));
    return `| ${name} | ${version} | ${license} |`;
  });
  return `# Notice

Ashlar is under the MIT license, in the file \`LICENSE\`. It contains, and is installed with, the work of others.

## Installed with it

npm installs these packages next to this one, each with its own license file. The versions are those it was tested with.

| package | version | license |
|---|---|---|
${installed.join("\n")}

## Word lists

\`data/common-passwords.txt\`, \`data/common-words.txt\` and \`data/common-endings.txt\` were compiled for this project and are
under its license.

## Dashboard

\`data/grafana-dashboard.json\` was written for this project and is under its license.

## Generated files

\`data/openapi.json\` was written for this project, and is under its license. \`data/generated-files.json\` was made for this project, from the files that it generates, and is under its license.

## Bundled

The files in \`dist/\` contain these packages.

${bundled.join("\n")}`;
}

/** The folder of an installed package, here or at the repository's root. */
function folderOf(name: string): string {
  const own = join(here, "node_modules", name);
  return existsSync(own) ? own : join(here, "../../node_modules", name);
}

function manifestOf(folder: string): { readonly name: string; readonly version: string; readonly license: string } {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

/** The notice for a bundled package: its name, its version, and the text of its license. */
function licenseOf(folder: string): string {
  const { name, version, license } = manifestOf(folder);
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  const text = file === undefined ? `License: ${license}` : readFileSync(join(folder, file), "utf8").trim();
  return `### ${name} ${version}\n\n${text}\n`;
}
