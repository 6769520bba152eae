import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { PublishedFiles } from "../../boot/index.ts";
import { AshlarError, PACKAGE_FOLDER } from "../../support/index.ts";
import { codeOf, javaScriptOf } from "../files/existing-files.ts";

/** One of the steps of a feature that is added to accounts. */
export type PublishedStep = NonNullable<PublishedFiles["steps"]>[number];

const ROUTES = "routes/web.ts";
/** The account pages' layout. */
const LAYOUT = "views/layouts/main.edge";

/** Reports whether an application has account pages; otherwise its routes respond with JSON. */
export function hasAccountPages(root: string): boolean {
  return existsSync(join(root, LAYOUT));
}

/** Reports whether an application has accounts, to which features are added. */
export async function hasAccountRoutes(root: string): Promise<boolean> {
  const file = (await javaScriptOf(root, ROUTES)) ?? ROUTES;
  return /\bAuth\.routes\(/.test(await codeOf(root, file));
}

/** @throws `E_COMMAND` if an application has no accounts */
export async function requireAccounts(root: string): Promise<void> {
  if (await hasAccountRoutes(root)) return;
  throw new AshlarError("E_COMMAND", "The application has no accounts. To add them: npx ashlar auth");
}

/**
 * The texts of stubs, under the same keys.
 *
 * @param folder the stubs' folder below `stubs/`
 * @param names the stubs' names, by the path or name of the resulting file
 */
export async function publishedStubs(
  folder: string,
  names: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const texts = Object.entries(names).map(async ([path, name]) => {
    return [path, await readFile(join(PACKAGE_FOLDER, "stubs", folder, `${name}.stub`), "utf8")] as const;
  });
  return Object.fromEntries(await Promise.all(texts));
}

/** The migration of the table that two-factor authentication and passkeys share. */
export function authenticatorMigrations(): Promise<Record<string, string>> {
  return publishedStubs("authenticators", { create_authenticators: "create_authenticators.ts" });
}

/** The mixin with which users list what they prove themselves with. */
export const AUTHENTICATORS_STEP: PublishedStep = {
  file: "app/models/user.ts",
  done: /\bHasAuthenticators\b/,
  lines: [
    'import { HasAuthenticators } from "ashlar/authenticators";',
    "// add the mixin to the class: compose(Model, Authenticates, …, HasAuthenticators)",
  ],
  adds: {
    imports: [{ name: "HasAuthenticators", from: "ashlar/authenticators" }],
    to: ["User"],
    text: "HasAuthenticators",
  },
};
