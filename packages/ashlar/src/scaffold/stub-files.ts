import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { NewFile } from "./files.ts";
import { readStub, STUBS, type StubValues } from "./stub.ts";

/** What an application has, as far as its files show it. */
export interface ApplicationTraits {
  /** What it is called where people read it. */
  readonly title: string;
  /** Whether it has the API. */
  readonly api: boolean;
  /** Whether it has the pages of accounts. */
  readonly pages: boolean;
}

/** What the stubs of an application are filled with. */
export function stubValues({ title, api, pages }: ApplicationTraits): StubValues {
  const mixins = ["Model", "Authenticates"];
  if (api) mixins.push("AuthenticatesTokens");
  if (pages) mixins.push("MustVerifyEmail");
  return { title, api, pages, mixins: mixins.join(", ") };
}

/**
 * The files of an application that say what it has: the same ones with the pages as without, with other lines in them.
 * `config/auth.ts` is there where something logs in.
 */
export async function wiring(traits: ApplicationTraits): Promise<NewFile[]> {
  const values = stubValues(traits);
  const files = ["app/kernel.ts", "app/models/user.ts", "config/providers.ts", "routes/web.ts", "views/welcome.edge"];
  const guards = traits.pages ? "pages/config/auth.ts" : traits.api ? "application/config/auth.ts" : null;
  return [
    ...(await Promise.all(files.map((path) => fileOf(path, `application/${path}`, values)))),
    ...(guards === null ? [] : [await fileOf("config/auth.ts", guards, values)]),
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

/** What an application has with or without the pages: what it is shown with, and its limits. */
export async function looks(traits: ApplicationTraits): Promise<NewFile[]> {
  const files = ["config/throttle.ts", "public/style.css", "public/favicon.svg"];
  return Promise.all(files.map((path) => fileOf(path, `application/${path}`, stubValues(traits))));
}

/** A file out of a stub. */
export async function fileOf(path: string, stub: string, values: StubValues): Promise<NewFile> {
  return { path, text: await readStub(stub, values) };
}
