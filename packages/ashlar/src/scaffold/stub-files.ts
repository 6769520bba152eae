import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { NewFile } from "./files.ts";
import { readStub, STUBS, type StubValues } from "./stub.ts";

/** What an application has, as far as its files show it. */
export interface ApplicationTraits {
  /** Its package's name. */
  readonly name: string;
  /** What it is called where people read it. */
  readonly title: string;
  /** Whether it has the API. */
  readonly api: boolean;
  /** Whether it has the pages of accounts. */
  readonly pages: boolean;
  /** The connection its configuration began with. */
  readonly database: "sqlite" | "postgres";
  /** Whether `routes/web.ts` begins with the front page; one that was written without `create-ashlar` may have its own. */
  readonly welcome: boolean;
}

/** What the stubs of an application are filled with. */
export function stubValues({ name, title, api, pages, database, welcome }: ApplicationTraits): StubValues {
  const mixins = ["Model", "Authenticates"];
  if (api) mixins.push("AuthenticatesTokens");
  if (pages) mixins.push("MustVerifyEmail");
  const postgres = database === "postgres";
  return { name, title, api, pages, database, postgres, welcome, mixins: mixins.join(", ") };
}

/**
 * The files of an application that say what it has: the same ones with the pages or the API as without, with other lines
 * in them. `config/auth.ts` is there if anything logs in.
 */
export async function wiring(traits: ApplicationTraits): Promise<NewFile[]> {
  const files = ["app/kernel.ts", "app/models/user.ts", "config/providers.ts", "routes/web.ts"];
  const guards = traits.pages ? "pages/config/auth.ts" : traits.api ? "application/config/auth.ts" : null;
  return [
    ...(await fromStubs(traits, files)),
    ...(guards === null ? [] : [await fileOf("config/auth.ts", guards, stubValues(traits))]),
  ];
}

/** The files that tell people what an application has: nothing in it needs them. */
export async function descriptions(traits: ApplicationTraits): Promise<NewFile[]> {
  return [
    await fileOf(".env.example", "application/env", stubValues(traits)),
    ...(await fromStubs(traits, ["README.md", "views/welcome.edge", "tests/application.test.ts"])),
  ];
}

/** The files of the pages besides the {@link wiring}: controllers, mails, views, configuration, tests. */
export async function pages(traits: ApplicationTraits): Promise<NewFile[]> {
  const values = stubValues(traits);
  const entries = await readdir(join(STUBS, "pages"), { recursive: true });
  const paths = entries.filter((path) => path.endsWith(".stub")).map((path) => path.slice(0, -".stub".length));
  const own = paths.filter((path) => path !== join("config", "auth.ts")).toSorted();
  return Promise.all(own.map((path) => fileOf(path.replaceAll("\\", "/"), `pages/${path}`, values)));
}

/** The files of the API besides the {@link wiring}. */
export async function apiFiles(traits: ApplicationTraits): Promise<NewFile[]> {
  const values = stubValues(traits);
  return [
    await fileOf("config/api.ts", "api/config.ts", values),
    await fileOf("routes/api.ts", "api/routes.ts", values),
  ];
}

/** The databases of an application. */
export function databases(traits: ApplicationTraits): Promise<NewFile[]> {
  return fromStubs(traits, ["config/database.ts"]);
}

/** The configuration of the limits, which an application has with or without anything else. */
export function limits(traits: ApplicationTraits): Promise<NewFile[]> {
  return fromStubs(traits, ["config/throttle.ts"]);
}

/** What the pages of an application are shown with; it has it without them, too. */
export function looks(traits: ApplicationTraits): Promise<NewFile[]> {
  return fromStubs(traits, ["public/style.css", "public/favicon.svg"]);
}

/** A file out of a stub. */
export async function fileOf(path: string, stub: string, values: StubValues): Promise<NewFile> {
  return { path, text: await readStub(stub, values) };
}

function fromStubs(traits: ApplicationTraits, paths: readonly string[]): Promise<NewFile[]> {
  return Promise.all(paths.map((path) => fileOf(path, `application/${path}`, stubValues(traits))));
}
