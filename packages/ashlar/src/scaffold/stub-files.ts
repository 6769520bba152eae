import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { NewFile } from "./files.ts";
import { readStub, STUBS, type StubValues } from "./stub.ts";

/** What an application has, as far as its files show. */
export interface ApplicationTraits {
  /** Its package name. */
  readonly name: string;
  /** Its name in text for people. */
  readonly title: string;
  /** Whether it has the API. */
  readonly api: boolean;
  /** Whether it has the account pages. */
  readonly pages: boolean;
  /** The connection it was generated with. */
  readonly database: "sqlite" | "postgres";
  /** Whether `routes/web.ts` starts with the generated front page. */
  readonly welcome: boolean;
}

/** The values for the stubs of an application. */
export function stubValues({ name, title, api, pages, database, welcome }: ApplicationTraits): StubValues {
  const mixins = ["Model", "Authenticates"];
  if (api) mixins.push("AuthenticatesTokens");
  if (pages) mixins.push("MustVerifyEmail");
  const postgres = database === "postgres";
  return { name, title, api, pages, database, postgres, welcome, mixins: mixins.join(", ") };
}

/**
 * The files that wire up an application's features. Every application has them; the pages and the API only change their
 * content. `config/auth.ts` exists only with one of the two.
 */
export async function wiring(traits: ApplicationTraits): Promise<NewFile[]> {
  const files = ["app/kernel.ts", "app/models/user.ts", "config/providers.ts", "routes/web.ts"];
  const guards = traits.pages ? "pages/config/auth.ts" : traits.api ? "application/config/auth.ts" : null;
  return [
    ...(await fromStubs(traits, files)),
    ...(guards === null ? [] : [await fileOf("config/auth.ts", guards, stubValues(traits))]),
  ];
}

/** The files that describe an application to people; its code doesn't need them. */
export async function descriptions(traits: ApplicationTraits): Promise<NewFile[]> {
  return [
    await fileOf(".env.example", "application/env", stubValues(traits)),
    ...(await fromStubs(traits, ["README.md", "views/welcome.edge", "tests/application.test.ts"])),
  ];
}

/** The files of the pages without the {@link wiring}: controllers, mails, views, configuration, tests. */
export async function pages(traits: ApplicationTraits): Promise<NewFile[]> {
  const values = stubValues(traits);
  const entries = await readdir(join(STUBS, "pages"), { recursive: true });
  const paths = entries.filter((path) => path.endsWith(".stub")).map((path) => path.slice(0, -".stub".length));
  const own = paths.filter((path) => path !== join("config", "auth.ts")).toSorted();
  return Promise.all(own.map((path) => fileOf(path.replaceAll("\\", "/"), `pages/${path}`, values)));
}

/** The files of the API without the {@link wiring}. */
export async function apiFiles(traits: ApplicationTraits): Promise<NewFile[]> {
  const values = stubValues(traits);
  return [
    await fileOf("config/api.ts", "api/config.ts", values),
    await fileOf("routes/api.ts", "api/routes.ts", values),
  ];
}

/** The configuration of an application's databases. */
export function databases(traits: ApplicationTraits): Promise<NewFile[]> {
  return fromStubs(traits, ["config/database.ts"]);
}

/** The configuration of the limits, which every application has. */
export function limits(traits: ApplicationTraits): Promise<NewFile[]> {
  return fromStubs(traits, ["config/throttle.ts"]);
}

/** The stylesheet and icon of an application, which it has even without the account pages. */
export function looks(traits: ApplicationTraits): Promise<NewFile[]> {
  return fromStubs(traits, ["public/style.css", "public/favicon.svg"]);
}

/** A file rendered from a stub. */
export async function fileOf(path: string, stub: string, values: StubValues): Promise<NewFile> {
  return { path, text: await readStub(stub, values) };
}

function fromStubs(traits: ApplicationTraits, paths: readonly string[]): Promise<NewFile[]> {
  return Promise.all(paths.map((path) => fileOf(path, `application/${path}`, stubValues(traits))));
}
