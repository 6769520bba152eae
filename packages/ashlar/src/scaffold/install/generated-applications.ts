import { AshlarError } from "../../support/index.ts";
import { codeOf, readIfThere } from "../files/existing-files.ts";
import type { NewFile } from "../files/files.ts";
import { spell } from "../files/names.ts";
import { managerInReadme } from "../files/package-manager.ts";
import {
  type ApplicationDatabase,
  type ApplicationTraits,
  accountFiles,
  apiFiles,
  databases,
  descriptions,
  limits,
  looks,
  wiring,
} from "../files/stub-files.ts";
import type { Feature } from "./install-steps.ts";

const TRUTHS = [false, true];
const FORMS = [
  { pages: true, json: false },
  { pages: false, json: true },
];
/**
 * Every choice of accounts: none, with pages or for a front end, each with and without registration and verification.
 */
const ACCOUNTS = [
  { pages: false, json: false, registration: true, verification: true },
  ...FORMS.flatMap((form) =>
    TRUTHS.flatMap((registration) => TRUTHS.map((verification) => ({ ...form, registration, verification }))),
  ),
];
const DATABASES = ["sqlite", "postgres", "mariadb"] as const;
const LANGUAGES = ["en", "de"] as const;

/** The text of an application's files, by path, as generated with certain traits. */
export type FilesByPath = ReadonlyMap<string, string>;

/** An application that may have been generated. */
export interface GeneratedApplication {
  readonly traits: ApplicationTraits;
  readonly files: FilesByPath;
}

/** A feature's files, except those that wire it up. */
export async function filesOf(feature: Feature, traits: ApplicationTraits): Promise<NewFile[]> {
  if (feature === "api") return [...(await apiFiles(traits)), ...(await limits(traits))];
  return [...(await accountFiles(traits)), ...(await limits(traits)), ...(await looks(traits))];
}

/** Returns every application that may have been generated in this folder. */
export function everyGenerated(has: ApplicationTraits): Promise<GeneratedApplication[]> {
  const choices = TRUTHS.flatMap((api) =>
    ACCOUNTS.flatMap((accounts) =>
      LANGUAGES.flatMap((language) =>
        DATABASES.map((database): ApplicationTraits => ({ ...has, api, ...accounts, language, database })),
      ),
    ),
  );
  return Promise.all(choices.map(async (traits) => ({ traits, files: await made(traits) })));
}

async function made(traits: ApplicationTraits): Promise<FilesByPath> {
  const files = [
    ...(await wiring(traits)),
    ...(await databases(traits)),
    ...(traits.pages ? await filesOf("pages", traits) : []),
    ...(traits.json ? await filesOf("json", traits) : []),
    ...(traits.api ? await filesOf("api", traits) : []),
    ...(await descriptions(traits)),
  ];
  return new Map(files.map(({ path, text }) => [path, text]));
}

/**
 * Detects an application's features from its files.
 *
 * @param isRefused whether the folder is known not to contain an application
 * @throws `E_COMMAND` if there is no application in the folder
 */
export async function traitsOf(root: string, isRefused: boolean): Promise<ApplicationTraits> {
  const manifest = await readIfThere(root, "package.json");
  if (manifest === null || isRefused) {
    throw new AshlarError(
      "E_COMMAND",
      `There is no application in ${root}. Run the command in the application's folder.`,
    );
  }
  const { name = "application", dependencies = {} } = JSON.parse(manifest) as {
    name?: string;
    dependencies?: Readonly<Record<string, string>>;
  };
  const [providers, routes, user, settings, api] = await Promise.all(
    ["config/providers.ts", "routes/web.ts", "app/models/user.ts", "config/app.ts", "config/api.ts"].map((file) =>
      codeOf(root, file),
    ),
  );
  // An author who left a feature out of the pages, or removed it, must not get it back.
  const hasAccountRoutes = /\bAuth\.routes\(/.test(routes!);
  const json = /\bAuth\.routes\([^()]*\bjson\s*:\s*true\b/.test(routes!);
  return {
    name,
    title: titleOf(name),
    // A feature counts as present if any part of it is. The author may not have added all lines that the command
    // printed, and existing files must stay.
    api:
      /\bApiProvider\b/.test(providers!) ||
      /\bApi\.routes\(/.test(routes!) ||
      /\bAuthenticatesTokens\b/.test(user!) ||
      api !== "",
    pages: !json && (/\bMailProvider\b/.test(providers!) || hasAccountRoutes || /\bMustVerifyEmail\b/.test(user!)),
    json,
    registration: !(hasAccountRoutes && /\bregister\s*:\s*false\b/.test(routes!)),
    verification: !hasAccountRoutes || /\bMustVerifyEmail\b/.test(user!),
    language: /\blanguage\s*:\s*["']de["']/.test(settings!) ? "de" : "en",
    manager: managerInReadme(await readIfThere(root, "README.md")),
    database: databaseOf(dependencies),
    welcome: await hasWelcome(root),
  };
}

/** The database that an application was generated with, judging by its driver package. SQLite needs none. */
function databaseOf(dependencies: object): ApplicationDatabase {
  if (Object.hasOwn(dependencies, "pg")) return "postgres";
  return Object.hasOwn(dependencies, "mysql2") ? "mariadb" : "sqlite";
}

/** Whether `routes/web.ts` has the front page, or will get it because its view exists. */
async function hasWelcome(root: string): Promise<boolean> {
  const routes = await readIfThere(root, "routes/web.ts");
  return routes === null ? (await readIfThere(root, "views/welcome.edge")) !== null : /["']welcome["']/.test(routes);
}

/**
 * The title that an application with this name was generated with. If the generator can't have used the name, the title
 * is the name itself.
 */
function titleOf(name: string): string {
  const bare = name.replace(/^@[^/]*\//, "").replaceAll(/[^A-Za-z0-9]+/g, "-");
  return /^[A-Za-z]/.test(bare) ? spell(bare).title : name;
}
