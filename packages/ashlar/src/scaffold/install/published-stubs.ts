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

/** What a step adds to one of the author's files. */
interface Addition {
  readonly file: string;
  /** Matches the file's code if it is there already. */
  readonly done: RegExp;
  readonly imports: readonly { readonly name: string; readonly from: string }[];
  /** Where the text belongs, in words: `in ROUTES`. */
  readonly place: string;
  /** The same, as the names of the constants, classes and properties on the way. */
  readonly to: NonNullable<PublishedStep["adds"]>["to"];
  readonly text: string;
}

/** A step that adds something. If the file can't be edited, its author is shown the same imports and text. */
export function addingStep({ file, done, imports, place, to, text }: Addition): PublishedStep {
  const written = imports.map(({ name, from }) => `import { ${name} } from ${JSON.stringify(from)};`);
  return { file, done, lines: [...written, `// ${place}:`, `${text},`], adds: { imports, to, text } };
}

/** The step that adds a feature's provider. */
export function providerStep(name: string, from: string, place = "in PROVIDERS"): PublishedStep {
  const [done, imports] = [new RegExp(`\\b${name}\\b`), [{ name, from }]];
  return addingStep({ file: "config/providers.ts", done, imports, place, to: ["PROVIDERS"], text: name });
}

/** The step that sends a mail with the layout of the other mails. */
export function mailableStep(mail: string, className: string, from: string): PublishedStep {
  return addingStep({
    file: "config/auth.ts",
    done: new RegExp(`\\b${mail}\\s*:`),
    imports: [{ name: className, from }],
    place: "in ACCOUNTS.mailables",
    to: ["ACCOUNTS", "mailables"],
    text: `${mail}: ${className}`,
  });
}

/** A step that adds routes for pages. */
export function routesStep(text: string, done: RegExp, imports: Addition["imports"]): PublishedStep {
  return addingStep({ file: ROUTES, done, imports, place: "in ROUTES", to: ["ROUTES"], text });
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
