// Bundles the command with the part of the framework that writes applications, and puts beside it what that part reads:
// the stubs, and of the framework's package.json what goes into an application's. So nothing of the framework has to be
// installed to make one.
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
  // A module of the framework does nothing by being imported, so what is not called of it stays out.
  treeshake: { moduleSideEffects: false },
});
await bundle.write({ file: join(dist, "main.js"), format: "esm" });
await cp(join(framework, "stubs"), join(dist, "stubs"), { recursive: true });
const manifest = JSON.parse(await readFile(join(framework, "package.json"), "utf8")) as Record<string, unknown>;
const { name, version, type, engines, peerDependencies } = manifest;
await writeFile(
  join(dist, "package.json"),
  `${JSON.stringify({ name, version, type, engines, peerDependencies }, null, 2)}\n`,
);
