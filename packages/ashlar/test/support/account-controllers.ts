import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AuthControllers } from "../../src/auth/index.ts";
import { pages } from "../../src/scaffold/files/stub-files.ts";
import { RUN_FOLDER } from "./run-processes.ts";

// Generated once per process, for all test files in it.
const folder: string = await mkdtemp(join(process.env[RUN_FOLDER]!, "accounts-"));

for (const { path, text } of await pages({
  name: "shop",
  title: "Shop",
  api: true,
  pages: true,
  json: false,
  registration: true,
  verification: true,
  language: "en",
  manager: "npm",
  database: "sqlite",
  welcome: true,
})) {
  if (!/^(?:app|views)\//.test(path)) continue;
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

/** A folder with only a generated application's controllers, mails and templates. */
export const GENERATED: string = folder;

/** The generated controllers. */
export const ACCOUNT_CONTROLLERS: AuthControllers = (
  (await import(join(folder, "app/controllers/auth/index.ts"))) as { readonly AuthControllers: AuthControllers }
).AuthControllers;
