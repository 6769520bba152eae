import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type ApiNames, nameValues, routesFileOf, USUAL_NAMES } from "./api-names.ts";
import type { NewFile } from "./files.ts";
import { commandsOf, type PackageManager } from "./package-manager.ts";
import { readStub, STUBS, type StubValues } from "./stub.ts";

/** A language of the framework's pages, mails and errors. */
export type ApplicationLanguage = "en" | "de";

/** A kind of database that an application can start with: the name of its connection. */
export type ApplicationDatabase = "sqlite" | "postgres" | "mariadb";

/** An application's traits, as found in its files. */
export interface ApplicationTraits {
  /** The package name. */
  readonly name: string;
  /** The name in text for people. */
  readonly title: string;
  /** Whether it has the API. */
  readonly api: boolean;
  /** Whether it has the account pages. */
  readonly pages: boolean;
  /** Whether it has accounts without pages, for a front end: their routes respond with JSON. Never with the pages. */
  readonly json: boolean;
  /** Whether visitors can register. Without accounts, it is `true`, because adding them adds registration. */
  readonly registration: boolean;
  /**
   * Whether users verify their email address. Without accounts, it is `true`, because adding them adds verification.
   */
  readonly verification: boolean;
  /** The language for visitors whose own is unknown or not available. */
  readonly language: ApplicationLanguage;
  /** The package manager in the README's commands. */
  readonly manager: PackageManager;
  /** The kind of database that the application was generated with. */
  readonly database: ApplicationDatabase;
  /** Whether `routes/web.ts` starts with the generated front page. */
  readonly welcome: boolean;
  /** The names in the application's API; default: those of a new application. */
  readonly apiNames?: ApiNames;
}

/** The texts in the generated pages that the application's tests look for. */
const SENTENCES: Readonly<Record<ApplicationLanguage, Readonly<Record<string, string>>>> = {
  en: {
    hello: "Hello, Ada",
    verified: "Your email address is verified.",
    devices: "Your devices",
    thisDevice: "This device",
    loginFailed: "Incorrect email address or password.",
    usedLink: "was already used",
  },
  de: {
    hello: "Guten Tag, Ada",
    verified: "Ihre E-Mail-Adresse ist bestätigt.",
    devices: "Ihre Geräte",
    thisDevice: "Dieses Gerät",
    loginFailed: "E-Mail-Adresse oder Passwort ist falsch.",
    usedLink: "wurde bereits verwendet",
  },
};

/**
 * The stub values of each application. They are stored, because planning an installation renders about a hundred
 * applications, file by file.
 */
const VALUES = new WeakMap<ApplicationTraits, StubValues>();

/** The values for an application's stubs. */
export function stubValues(traits: ApplicationTraits): StubValues {
  const values = VALUES.get(traits) ?? valuesOf(traits);
  VALUES.set(traits, values);
  return values;
}

function valuesOf(traits: ApplicationTraits): StubValues {
  const { name, title, api, pages, json, registration, verification, language, database, welcome } = traits;
  const hasAccounts = pages || json;
  const verifies = hasAccounts && verification;
  const mixins = ["Model", "Authenticates"];
  // If users have several tokens, the mixin for a single token isn't needed, and the author has left it out.
  const isSingle = api && traits.apiNames?.tokenColumn !== null;
  if (isSingle) mixins.push("AuthenticatesTokens");
  if (verifies) mixins.push("MustVerifyEmail");
  return {
    ...{ name, title, api, isSingle, pages, json, hasAccounts, database, welcome, language, verifies },
    bare: !hasAccounts,
    views: hasViews(traits),
    root: !hasViews(traits),
    usesRoute: welcome || !hasViews(traits),
    ...SENTENCES[language],
    ...nameValues(traits.apiNames ?? USUAL_NAMES),
    ...shownCommands(traits),
    mixins: mixins.join(", "),
    sqlite: database === "sqlite",
    mariadb: database === "mariadb",
    postgres: database === "postgres",
    german: language === "de",
    registers: hasAccounts && registration,
    addsUsers: addsUsers(traits),
    usesUser: verifies || addsUsers(traits),
    accounts: registration ? (verification ? "accounts" : "accountsUnverified") : closedAccounts(verification),
    greeting: registration && verification ? "/email/verify/notice" : "/home",
  };
}

function closedAccounts(verification: boolean): string {
  return verification ? "accountsClosed" : "accountsClosedUnverified";
}

/** Whether an application has any pages, even if it is only a front page. */
export function hasViews({ json, welcome }: ApplicationTraits): boolean {
  return !json || welcome;
}

/** Whether an application has accounts. */
export function hasAccounts({ pages, json }: Pick<ApplicationTraits, "pages" | "json">): boolean {
  return pages || json;
}

/** Whether accounts are created by a script, because visitors can't register. */
export function addsUsers(traits: ApplicationTraits): boolean {
  return hasAccounts(traits) && !traits.registration;
}

/** The package manager's commands in the README. */
function shownCommands(traits: ApplicationTraits): StubValues {
  const { install, installForProduction, run, runWith, exec } = commandsOf(traits.manager);
  const rows: (readonly [command: string, what: string])[] = [
    [run("dev"), "serves the application, and restarts when a file changes"],
    [run("start"), "serves it"],
    [run("test"), "runs the tests"],
    [run("types"), "checks the types"],
    [run("lint"), "finds forgotten `await`s, among other mistakes"],
    [exec("ashlar routes"), "lists the routes"],
    [exec("ashlar lang:keys"), "lists the sentences of the pages and mails, with their keys"],
    [exec("ashlar --help"), "lists all commands"],
  ];
  const cells = [["command", "what it does"], ...rows.map(([command, what]) => [`\`${command}\``, what])];
  const [first, second] = [0, 1].map((column) => Math.max(...cells.map((cell) => cell[column]!.length)));
  const lines = cells.map(([command, what]) => `| ${command!.padEnd(first!)} | ${what!.padEnd(second!)} |`);
  return {
    install,
    installForProduction,
    runMigrate: run("migrate"),
    runTest: run("test"),
    runDev: run("dev"),
    runStart: run("start"),
    addUser: runWith("add-user", '"Ada Lovelace" ada@example.com'),
    exec: exec("ashlar"),
    commandTable: [lines[0], `| ${"-".repeat(first!)} | ${"-".repeat(second!)} |`, ...lines.slice(1)].join("\n"),
  };
}

/**
 * The files that wire up an application's features. Every application has them, and accounts and the API only change
 * their content. The exception is `config/auth.ts`, which needs one of the two.
 */
export async function wiring(traits: ApplicationTraits): Promise<NewFile[]> {
  const files = ["app/kernel.ts", "app/models/user.ts", "config/providers.ts", "routes/web.ts"];
  const guards = hasAccounts(traits) ? "pages/config/auth.ts" : traits.api ? "application/config/auth.ts" : null;
  return [
    ...(await fromStubs(traits, files)),
    ...(guards === null ? [] : [await fileOf("config/auth.ts", guards, stubValues(traits))]),
  ];
}

/** The files that describe an application to people. Its code doesn't need them. */
export async function descriptions(traits: ApplicationTraits): Promise<NewFile[]> {
  return [
    await fileOf(".env.example", "application/env", stubValues(traits)),
    ...(await fromStubs(traits, [
      "README.md",
      ...(hasViews(traits) ? ["views/welcome.edge"] : []),
      "tests/application.test.ts",
    ])),
  ];
}

/** The script that adds accounts if visitors can't register. */
const ADD_USER = "add-user.ts";

/** The files that only registration needs. */
const REGISTRATION = [
  join("app", "controllers", "auth", "register-controller.ts"),
  join("views", "auth", "register.edge"),
];

/** The stubs in each folder that has been listed so far. */
const LISTED = new Map<string, Promise<readonly string[]>>();

/** The paths of the stubs in a folder below `stubs/`, without `.stub`. */
async function stubsIn(folder: string): Promise<readonly string[]> {
  const listing = LISTED.get(folder) ?? listStubs(folder);
  LISTED.set(folder, listing);
  return await listing;
}

async function listStubs(folder: string): Promise<readonly string[]> {
  const entries = await readdir(join(STUBS, folder), { recursive: true });
  return entries.filter((path) => path.endsWith(".stub")).map((path) => path.slice(0, -".stub".length));
}

/** The files of the account pages, except the {@link wiring}: controllers, mails, views, configuration, tests. */
export async function pages(traits: ApplicationTraits): Promise<NewFile[]> {
  const values = stubValues(traits);
  const paths = await stubsIn("pages");
  const leftOut = [join("config", "auth.ts"), ...(traits.registration ? [ADD_USER] : REGISTRATION)];
  const own = paths.filter((path) => !leftOut.includes(path)).toSorted();
  return Promise.all(own.map((path) => fileOf(path.replaceAll("\\", "/"), `pages/${path}`, values)));
}

/** The files that accounts need both with and without pages. */
const SHARED = [
  ADD_USER,
  join("config", "mail.ts"),
  join("config", "session.ts"),
  join("app", "mailables", "token-notice.ts"),
];

/** The files of accounts for a front end, except the {@link wiring}: controllers, one mail, configuration, tests. */
export async function jsonAccounts(traits: ApplicationTraits): Promise<NewFile[]> {
  const values = stubValues(traits);
  const paths = await stubsIn("json");
  const leftOut = traits.registration ? [ADD_USER] : REGISTRATION;
  const own = [...paths.map((path) => [path, "json"]), ...SHARED.map((path) => [path, "pages"])] as const;
  return Promise.all(
    own
      .filter(([path]) => !leftOut.includes(path!))
      .toSorted(([one], [other]) => (one! < other! ? -1 : 1))
      .map(([path, folder]) => fileOf(path!.replaceAll("\\", "/"), `${folder}/${path}`, values)),
  );
}

/** The files of accounts, with or without pages, except the {@link wiring}. */
export async function accountFiles(traits: ApplicationTraits): Promise<NewFile[]> {
  if (traits.json) return jsonAccounts(traits);
  return traits.pages ? pages(traits) : [];
}

/** The files of the API, except the {@link wiring}. */
export async function apiFiles(traits: ApplicationTraits): Promise<NewFile[]> {
  const values = stubValues(traits);
  return [
    await fileOf("config/api.ts", "api/config.ts", values),
    await fileOf(routesFileOf(traits.apiNames ?? USUAL_NAMES), "api/routes.ts", values),
  ];
}

/** `config/database.ts`. */
export function databases(traits: ApplicationTraits): Promise<NewFile[]> {
  return fromStubs(traits, ["config/database.ts"]);
}

/** `config/throttle.ts`, which every application has. */
export function limits(traits: ApplicationTraits): Promise<NewFile[]> {
  return fromStubs(traits, ["config/throttle.ts"]);
}

/** The stylesheet and icon. An application without the account pages has them too, unless it has no pages at all. */
export function looks(traits: ApplicationTraits): Promise<NewFile[]> {
  return fromStubs(traits, hasViews(traits) ? ["public/style.css", "public/favicon.svg"] : []);
}

/** A file rendered from a stub. */
export async function fileOf(path: string, stub: string, values: StubValues): Promise<NewFile> {
  return { path, text: await readStub(stub, values) };
}

function fromStubs(traits: ApplicationTraits, paths: readonly string[]): Promise<NewFile[]> {
  const values = stubValues(traits);
  return Promise.all(paths.map((path) => fileOf(path, `application/${path}`, values)));
}
