// Bundles what the package exports, the command and the hashing threads, and puts the types beside them: Node loads thirty
// files faster than six hundred. Kysely, which has nearly half of these, is bundled as well, so its version is pinned; the
// other packages stay outside. What is imported late stays in files of its own.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const here = import.meta.dirname;
const dist = join(here, "dist");
const BUNDLED = "kysely";
const publicFolder = join(here, "src/public");

await rm(dist, { recursive: true, force: true });
const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(here, "package.json"), "utf8")) as {
  readonly [kind: string]: Readonly<Record<string, string>>;
};
const packages = Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => name !== BUNDLED);
const bundle = await rolldown({
  input: {
    ...Object.fromEntries(
      readdirSync(publicFolder).map((file) => [file.replace(/\.ts$/, ""), join(publicFolder, file)]),
    ),
    cli: join(here, "src/cli/main.ts"),
    "hashing-worker": join(here, "src/security/password/hashing-worker.ts"),
  },
  platform: "node",
  external: packages.map((name) => new RegExp(`^${name}(?:/|$)`)),
});
// All in one folder: a module finds the hashing threads beside itself, whichever file it is in. Names are told to users.
await bundle.write({
  dir: dist,
  format: "esm",
  chunkFileNames: "chunk-[name].js",
  keepNames: true,
  codeSplitting: { groups: [{ name: BUNDLED, test: new RegExp(`node_modules[\\\\/]${BUNDLED}[\\\\/]`) }] },
});
const licence = join(fileURLToPath(import.meta.resolve(BUNDLED)), "../../LICENSE");
await cp(licence, join(dist, `LICENSE-${BUNDLED}`));
const compiler = join(here, "../../node_modules/typescript/bin/tsc");
execFileSync(process.execPath, [compiler, "-p", join(here, "tsconfig.build.json")], { stdio: "inherit" });
