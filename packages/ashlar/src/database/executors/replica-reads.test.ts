import { CompiledQuery } from "kysely";
import { afterEach, expect, test, vi } from "vitest";
import type { HttpContext } from "../../http/index.ts";
import { AshlarError } from "../../support/index.ts";
import { DatabaseError } from "../errors.ts";
import { ReadReplicas } from "./read-replicas.ts";
import { ReplicaReads } from "./replica-reads.ts";

afterEach(() => void vi.restoreAllMocks());

const SELECT = "select text from notes";
const UNAVAILABLE = new DatabaseError("gone", null, null, "E_DATABASE_UNAVAILABLE");

/** A primary and replicas that return their names, and record each query. */
function servers(names: readonly string[]) {
  const asked: string[] = [];
  const failures = new Map<string, unknown>();
  const executor = (name: string) => {
    const answer = async (text: string) => {
      asked.push(`${name}: ${text}`);
      if (failures.has(name)) throw failures.get(name);
      return { name };
    };
    return {
      execute: async ({ sql }: CompiledQuery) => ({ rows: [await answer(sql)] }),
      first: async (sql: string) => await answer(sql),
    };
  };
  const reads = new ReplicaReads(executor("primary"), { executors: names.map(executor), ownWritesSeconds: 7 });
  const reports: unknown[] = [];
  reads.report = (sentence, error) => void reports.push([sentence, error]);
  const ask = async (sql: string = SELECT) => (await reads.execute(CompiledQuery.raw(sql))).rows[0]!.name;
  return { reads, asked, failures, reports, ask };
}

/**
 * Runs a function like a request behind the middleware. @returns the function's result, and the response's cookies
 */
async function request<T>(run: () => T, cookie: string | null = null) {
  const cookies: unknown[] = [];
  const context = {
    request: { cookie: (name: string) => (name === "read_primary" ? cookie : null) },
    response: { cookie: (...cookie: unknown[]) => void cookies.push(cookie) },
  } as unknown as HttpContext;
  const result = (await new ReadReplicas().handle(context, run as never)) as Awaited<T>;
  return { result, cookies };
}

const inRequest = async <T>(run: () => T): Promise<Awaited<T>> => (await request(run)).result;

/** Sets how much time has passed, in milliseconds. */
function clock(): (ms: number) => void {
  let time = 5000;
  vi.spyOn(performance, "now").mockImplementation(() => time);
  return (ms) => {
    time += ms;
  };
}

const turns = () => new Promise((resolve) => setImmediate(resolve));

test("reads go to each replica in turn, by key too, and outside of requests to the primary", async () => {
  const { reads, ask } = servers(["one", "two", "three"]);
  expect(await ask()).toBe("primary");
  const seen = await inRequest(async () => [await ask(), await ask(), await ask(), await ask()]);
  expect(seen).toEqual(["two", "three", "one", "two"]);
  expect(await inRequest(() => reads.first(SELECT, 1))).toEqual({ name: "three" });
});

// Where each statement runs: on a replica, on the primary, or as a write, after which reads use the primary.
test.each([
  [SELECT, "replica"],
  ["  SELECT\n  text\nFROM\n  notes", "replica"],
  ["select kept_since from notes", "replica"],
  ["select now()", "primary"],
  ["select text from kept", "primary"],
  ['select text from notes join "public"."KEPT" on true', "primary"],
  ["select text from other", "primary"],
  ["select text from notes for update", "primary"],
  ["select text from notes\nfor\nupdate skip locked", "primary"],
  ["select text from notes for no key update", "primary"],
  ["select text from notes for share", "primary"],
  ["select text from notes for key share", "primary"],
  ["select text from notes lock in share mode", "primary"],
  ["with x as (insert into notes values (1) returning *) select * from x", "write"],
  ["insert into notes values (1)", "write"],
  ["update notes set text = 'x'", "write"],
  ["delete from notes", "write"],
  ["delete from only notes", "write"],
  ["truncate notes", "write"],
  ["call change_notes()", "write"],
  ["insert into kept values (1)", "primary"],
  ["INSERT INTO Kept VALUES (1)", "primary"],
  ['insert into "public"."kept" values (1)', "primary"],
  ["insert into `shop`.`kept` values (1)", "primary"],
  ["update public.kept set text = 'x'", "primary"],
  ["update only kept set text = 'x'", "primary"],
  ["delete from kept", "primary"],
  ["delete from only kept", "primary"],
  ["update bewährt set text = 'x'", "primary"],
  ["update kept_since set text = 'x'", "write"],
  ...["begin", "start transaction", "commit", "rollback", "savepoint a", "release savepoint a"].map(
    (sql) => [sql, "primary"] as const,
  ),
  ...["set a = 1", "show a", "explain select 1"].map((sql) => [sql, "primary"] as const),
] as const)("%j is for: %s", async (sql, kind) => {
  const { reads, ask } = servers(["replica"]);
  // Used before some of the tables are registered.
  await inRequest(() => ask(sql));
  reads.keepOnPrimary(["kept", "bewährt"]);
  reads.keepOnPrimary(["other"]);
  const { result, cookies } = await request(async () => {
    const answer = await ask(sql);
    if (answer === "primary") reads.noticed(sql);
    return [answer, await ask()];
  });
  const after = kind === "write" ? "primary" : "replica";
  expect(result).toEqual([kind === "replica" ? "replica" : "primary", after]);
  expect(cookies).toEqual(kind === "write" ? [["read_primary", "1", { maxAgeSeconds: 7 }]] : []);
});

test("a request is refused by what comes after the middleware before its body is read", () => {
  expect(new ReadReplicas().beforeBody()).toBe(true);
});

test("a write outside of a request changes nothing", async () => {
  const { reads, ask } = servers(["replica"]);
  reads.noticed("delete from notes");
  expect(await inRequest(() => ask())).toBe("replica");
});

test("a browser with the cookie reads from the primary, and gets a new cookie only by writing", async () => {
  const { ask } = servers(["replica"]);
  expect(await request(() => ask(), "1")).toEqual({ result: "primary", cookies: [] });
});

test("a request that writes to several databases gets the longest of their times, and each cookie once", async () => {
  const { reads } = servers(["replica"]);
  const other = (ownWritesSeconds: number) =>
    new ReplicaReads({ execute: vi.fn(), first: vi.fn() }, { executors: [], ownWritesSeconds });
  const { cookies } = await request(() => {
    for (const one of [reads, reads, other(60), other(5)]) one.noticed("delete from notes");
  });
  expect(cookies.map((cookie) => (cookie as unknown[])[2])).toEqual([{ maxAgeSeconds: 7 }, { maxAgeSeconds: 60 }]);
});

test.each(["E_DATABASE_UNAVAILABLE", "E_OVERLOADED"] as const)(
  "a replica with %s is left alone for ten seconds, reported once, and then tried only by work that no visitor waits for",
  async (code) => {
    const pass = clock();
    const { asked, failures, reports, ask } = servers(["one", "two"]);
    const error = new DatabaseError("gone", null, null, code as "E_DATABASE_UNAVAILABLE");
    failures.set("two", error);
    const seen = await inRequest(() => Promise.all([ask(), ask(), ask(), ask()]));
    expect(seen).toEqual(["primary", "one", "primary", "one"]);
    const away = ["The read replica 1 is down. Its reads go elsewhere until it is back.", error];
    expect(reports).toEqual([away]);
    const trials = () => asked.filter((one) => one === "two: select 1").length;
    const read = () => inRequest(async () => [await ask(), await ask(), await ask()]);
    asked.length = 0;
    pass(9999);
    expect([await read(), trials()]).toEqual([["one", "one", "one"], 0]);
    pass(1);
    // It is still down.
    expect([await read(), trials()]).toEqual([["one", "one", "one"], 1]);
    pass(9999);
    expect([await read(), trials()]).toEqual([["one", "one", "one"], 1]);
    failures.clear();
    pass(1);
    expect([(await read())[0], trials(), reports]).toEqual(["one", 2, [away, ["The read replica 1 is back.", null]]]);
    expect(await inRequest(async () => [await ask(), await ask()])).toEqual(expect.arrayContaining(["one", "two"]));
    expect(asked.filter((one) => one === `two: ${SELECT}`)).not.toEqual([]);
    // From here on, a failure would be reported again.
    failures.set("two", error);
    await read();
    expect(reports.slice(2)).toEqual([away]);
  },
);

test("while one caller tries a replica, no other does", async () => {
  const pass = clock();
  const { asked, failures, ask } = servers(["one"]);
  failures.set("one", UNAVAILABLE);
  await inRequest(() => ask());
  pass(10_000);
  expect(await inRequest(() => Promise.all([ask(), ask(), ask()]))).toEqual(["primary", "primary", "primary"]);
  await turns();
  expect(asked.filter((one) => one === "one: select 1")).toHaveLength(1);
});

test("a read that a replica refuses goes to the primary, which reports the error, and the replica stays in use", async () => {
  const { asked, failures, reports, ask } = servers(["one"]);
  failures.set("one", new DatabaseError("no such table", "42P01"));
  expect(await inRequest(() => ask())).toBe("primary");
  const wrong = new DatabaseError("says the primary", "42P01");
  failures.set("primary", wrong);
  await expect(inRequest(() => ask())).rejects.toBe(wrong);
  expect(asked).toEqual(["one", "primary", "one", "primary"].map((name) => `${name}: ${SELECT}`));
  expect(reports).toEqual([]);
});

test.each([
  ["a statement that PostgreSQL has canceled", new DatabaseError("late", "57014", null, "E_DATABASE_UNAVAILABLE")],
  ["a statement that MariaDB has canceled", new DatabaseError("late", "1969", null, "E_DATABASE_UNAVAILABLE")],
  ["a statement that MySQL has canceled", new DatabaseError("late", "3024", null, "E_DATABASE_UNAVAILABLE")],
  ["an error that is not of the database", new TypeError("a mistake")],
])("%s is not repeated, and its replica is not left out", async (_, error) => {
  const { asked, failures, reports, ask } = servers(["one"]);
  failures.set("one", error);
  await expect(inRequest(() => ask())).rejects.toBe(error);
  expect([asked, reports]).toEqual([[`one: ${SELECT}`], []]);
  failures.clear();
  expect(await inRequest(() => ask())).toBe("one");
});

test("if no replica is left, the primary answers, and no replica is asked", async () => {
  const { asked, failures, ask } = servers(["one", "two"]);
  for (const name of ["one", "two"]) failures.set(name, new AshlarError("E_OVERLOADED", "full"));
  await inRequest(() => Promise.all([ask(), ask()]));
  asked.length = 0;
  expect(await inRequest(() => ask())).toBe("primary");
  expect(asked).toEqual([`primary: ${SELECT}`]);
});
