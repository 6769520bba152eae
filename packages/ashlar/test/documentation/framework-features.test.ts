import { globSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FRAMEWORK_PROVIDERS } from "../support/framework-features.ts";

const PUBLIC = join(import.meta.dirname, "../../src/public");

test("the list of the framework's providers contains all that the public modules export", async () => {
  const modules = await Promise.all(globSync("*.ts", { cwd: PUBLIC }).map((file) => import(join(PUBLIC, file))));
  const providers = modules.flatMap((module) => Object.entries(module).filter(([name]) => /.Provider$/.test(name)));
  expect(new Map(providers)).toEqual(new Map(FRAMEWORK_PROVIDERS.map((one) => [one.name, one])));
});
