// Bundles the command with the part of the framework that generates applications, and adds the files that this part
// reads: the stubs, and the fields of the framework's package.json that go into an application's. So creating an
// application doesn't need an installed framework.
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rolldown } from "rolldown";

const here = import.meta.dirname;
const framework = join(here, "../ashlar");
const dist = join(here, "dist");

await rm(dist, { recursive: true, force: true });
const bundle = await rolldown({
  input: join(here, "src/main.ts"),
  platform: "node",
  external: ["@clack/prompts", "commander"],
  // The framework's modules have no import side effects, so unused code stays out.
  treeshake: { moduleSideEffects: false },
});
await bundle.write({ file: join(dist, "main.js"), format: "esm" });
await cp(join(framework, "stubs"), join(dist, "stubs"), { recursive: true });
const manifest = JSON.parse(await readFile(join(framework, "package.json"), "utf8")) as Record<string, unknown>;
const { name, version, type, engines, peerDependencies, devDependencies } = manifest;
await writeFile(
  join(dist, "package.json"),
  `${JSON.stringify({ name, version, type, engines, peerDependencies, devDependencies }, null, 2)}\n`,
);
