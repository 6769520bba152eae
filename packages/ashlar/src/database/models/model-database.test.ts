import { afterEach, beforeEach, expect, test } from "vitest";
import { type Application, createApplication, Provider, type ProviderClass } from "../../boot/index.ts";
import { Route } from "../../routing/index.ts";
import { primaryKey } from "../dialect/columns.ts";
import { DatabaseProvider } from "../migrations/provider.ts";
import { Model } from "./model.ts";
import { applicationOf, claimModel, databaseOf } from "./model-database.ts";
import { metadataOf } from "./model-metadata.ts";
import type { ModelClass } from "./model-types.ts";

const MEMORY = { driver: "sqlite", path: ":memory:" };

const running: Application[] = [];
let inRequest: () => unknown;

/** Boots an application whose table `notes` contains the application's name. */
async function site(name: string, { hasDatabase = true, before = [] as ProviderClass[] } = {}): Promise<Application> {
  const application = await createApplication({
    providers: [...before, ...(hasDatabase ? [DatabaseProvider] : [])],
    routes: [Route.get("/", async () => ({ result: await inRequest() }))],
    config: { app: { APP: { name } }, database: { DATABASES: { default: "main", main: MEMORY } } },
    environment: { APP_ENV: "test" },
  });
  running.push(application);
  if (!hasDatabase) return application;
  const { kysely } = application.container.make("database");
  await kysely.schema.createTable("notes").$call(primaryKey(kysely)).addColumn("text", "text").execute();
  await kysely.insertInto("notes").values({ text: name }).execute();
  return application;
}

/** Returns the result of a function that is called by a request to an application. */
async function asked(application: Application, task: () => unknown): Promise<unknown> {
  inRequest = task;
  const response = await application.fetch(new Request("http://localhost/"));
  return ((await response.json()) as { readonly result: unknown }).result;
}

/** Creates new classes for each test, because recorded data about a class is never removed. */
function models() {
  class Note extends Model {
    static override timestamps = false;
    declare text: string;
  }
  class Memo extends Note {
    static override table = "notes";
  }
  return { Note, Memo };
}

let Note: ReturnType<typeof models>["Note"];
let Memo: ReturnType<typeof models>["Memo"];
const textOf = async (model: typeof Note): Promise<string> => (await model.findOrFail(1)).text;
const codeOf = (task: () => unknown): unknown =>
  Promise.resolve()
    .then(task)
    .catch(({ code }: { readonly code: string }) => code);

beforeEach(() => {
  ({ Note, Memo } = models());
});
afterEach(async () => {
  for (const application of running.splice(0)) await application.shutdown();
});

test("a class that no application uses works on the database of the application handling the request", async () => {
  const [one, other] = [await site("One"), await site("Other")];
  const texts: unknown[] = [];
  for (const each of [one, other, one]) texts.push(await asked(each, () => textOf(Note)));
  expect(texts).toEqual(["One", "Other", "One"]);
});

test("outside of requests it is refused, because the application is ambiguous", async () => {
  const [one, other] = [await site("One"), await site("Other")];
  await expect(textOf(Note)).rejects.toMatchObject({
    code: "E_INVALID_CONFIGURATION",
    message: expect.stringContaining(
      `belong to any of the applications "One" (${one.root}) and "Other" (${other.root}). Use it in a request`,
    ),
  });
});

test("the data computed for a class is kept separately for each application that uses it", async () => {
  const [one, other] = [await site("One"), await site("Other")];
  const seen = new Set<unknown>();
  const noteMetadata = () => void seen.add(metadataOf(Note));
  for (const each of [one, other, one, other]) await asked(each, noteMetadata);
  expect(seen.size).toBe(2);
});

test("an application without a database doesn't interfere with an application that has one", async () => {
  await site("Bare", { hasDatabase: false });
  await site("One");
  expect(await textOf(Note)).toBe("One");
});

test("S64 a class that an application uses belongs to it, inside and outside of requests, and so do its subclasses", async () => {
  const [one, other] = [await site("One"), await site("Other")];
  claimModel(Note, other);
  expect([await textOf(Note), await textOf(Memo)]).toEqual(["Other", "Other"]);
  expect(await asked(one, () => textOf(Memo))).toBe("Other");
  expect([applicationOf(Note), applicationOf(Memo)]).toEqual([other, other]);
  expect(databaseOf(Memo)).toBe(other.container.make("database"));
});

test("S64 a subclass that is used too, later, belongs to that application from then on", async () => {
  const [one, other] = [await site("One"), await site("Other")];
  claimModel(Note, one);
  expect(await textOf(Memo)).toBe("One");
  claimModel(Memo, other);
  expect([await textOf(Note), await textOf(Memo)]).toEqual(["One", "Other"]);
});

test("an application can use any number of classes", async () => {
  const [one] = [await site("One"), await site("Other")];
  const { Note: Another } = models();
  claimModel(Note, one);
  claimModel(Another, one);
  expect([await textOf(Note), await textOf(Another)]).toEqual(["One", "One"]);
});

test("a class that no application uses belongs to none", async () => {
  const one = await site("One");
  claimModel(Memo, one);
  expect(applicationOf(Note as ModelClass)).toBe(null);
});

test("S64 a class that two applications use belongs to the one handling the request, and is refused outside of requests", async () => {
  const [one, other, third] = [await site("One"), await site("Other"), await site("Third")];
  claimModel(Note, one);
  claimModel(Note, other);
  const seen = async (application: Application) =>
    await asked(application, async () => [
      await codeOf(() => textOf(Note)),
      await codeOf(() => applicationOf(Note)?.settings.name),
    ]);
  expect([await seen(one), await seen(other)]).toEqual([
    ["One", "One"],
    ["Other", "Other"],
  ]);
  expect(await seen(third)).toEqual(Array(2).fill("E_INVALID_CONFIGURATION"));
  expect(() => applicationOf(Note)).toThrow(
    expect.objectContaining({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringMatching(/^(?!.*Third).*"One" \(.+\) and "Other" \(/),
    }),
  );
});

test("an application that has shut down no longer uses any class", async () => {
  const [one, other] = [await site("One"), await site("Other")];
  claimModel(Note, one);
  expect(await textOf(Note)).toBe("One");
  await one.shutdown();
  expect([await textOf(Note), applicationOf(Note)]).toEqual(["Other", null]);
  await other.shutdown();
  await expect(textOf(Note)).rejects.toMatchObject({ code: "E_DATABASE" });
});

test("models have no database for a provider that shuts down after the database's", async () => {
  let found: unknown;
  class Last extends Provider {
    override async shutdown(): Promise<void> {
      found = await textOf(Note).catch((error: unknown) => error);
    }
  }
  const application = await site("One", { before: [Last] });
  await application.shutdown();
  expect(found).toMatchObject({ code: "E_DATABASE", message: expect.stringContaining("Note has no database") });
});
