// Bundles what the package exports, the command and the hashing threads, and puts the types beside them: Node loads thirty
// files faster than six hundred. Kysely, which has nearly half of these, is bundled as well, and so is the HTML parser of
// `ashlar/testing`, so that applications install no packages for it; the versions of both are pinned. The other packages stay
// outside. What is imported late stays in files of its own.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const here = import.meta.dirname;
const dist = join(here, "dist");
/** The packages that are bundled, by the name of the chunk that holds them. */
const BUNDLED = { kysely: ["kysely"], parse5: ["parse5", "entities"] };
const publicFolder = join(here, "src/public");

await rm(dist, { recursive: true, force: true });
const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(here, "package.json"), "utf8")) as {
  readonly [kind: string]: Readonly<Record<string, string>>;
};
const packages = Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !Object.hasOwn(BUNDLED, name));
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
  codeSplitting: {
    groups: Object.entries(BUNDLED).map(([name, parts]) => {
      return { name, test: new RegExp(`node_modules[\\\\/](?:${parts.join("|")})[\\\\/]`) };
    }),
  },
});
for (const name of Object.values(BUNDLED).flat()) {
  const licence = join(packageFolder(name), "LICENSE");
  await cp(licence, join(dist, `LICENSE-${name}`));
}
const compiler = join(here, "../../node_modules/typescript/bin/tsc");
execFileSync(process.execPath, [compiler, "-p", join(here, "tsconfig.build.json")], { stdio: "inherit" });

/** The folder of a package that this one depends on, or that one of those does. */
function packageFolder(name: string): string {
  const [, folder] = /^(.*[\\/]node_modules[\\/][^\\/]+)[\\/]/.exec(fileURLToPath(import.meta.resolve(name))) ?? [];
  if (folder === undefined) throw new Error(`There is no package ${name}.`);
  return folder;
}
