import type { CompiledQuery } from "kysely";
import { expect, test } from "vitest";
import type { PhysicalConnection } from "../dialect/executor.ts";
import { DatabaseError } from "../errors.ts";
import type { PostgresClients } from "./postgres-clients.ts";
import { PostgresTransactionLock } from "./postgres-migration-lock.ts";

const LOST = new DatabaseError("gone", null, null, "E_DATABASE_UNAVAILABLE");

/** A lock behind a pooler, and the statements on the connection that holds it, in order. */
function lockThat(fails: (statement: string) => boolean = () => false, isFree = true) {
  const done: string[] = [];
  const step = (name: string, rows: readonly object[] = []) => {
    done.push(name);
    if (fails(name)) throw LOST;
    return { rows };
  };
  const connection = {
    execute: async ({ sql }: CompiledQuery) => {
      const name = /^(?:begin|commit).*|pg_\w*locks?\b/.exec(sql)![0];
      return step(name, [{ locked: isFree, remedy: "Migrate again." }]);
    },
  };
  const lock = new PostgresTransactionLock(() => {
    done.push("open");
    const reserve = async () => {
      step("reserve");
      return { connection, release: (isBroken: boolean) => void done.push(`release, broken: ${isBroken}`) };
    };
    return { reserve, close: async () => void done.push("close") } as unknown as PostgresClients;
  }, 0);
  /** The events since the last call. */
  const since = () => done.splice(0);
  return { lock, since };
}

const BEGIN = "begin; set local idle_in_transaction_session_timeout = 0";
const TAKEN = ["open", "reserve", BEGIN, "pg_try_advisory_xact_lock"];
const GIVEN_UP = ["release, broken: true", "close"];
const connection = {} as PhysicalConnection;

test("the lock is held by a separate transaction, which only its release ends", async () => {
  const { lock, since } = lockThat();
  for (let round = 0; round < 2; round++) {
    await lock.acquire(connection);
    expect(since()).toEqual(TAKEN);
    await lock.release(connection);
    expect(since()).toEqual(["commit", ...GIVEN_UP]);
  }
});

test("migrations within migrations take the lock once, and only the outermost ones release it", async () => {
  const { lock, since } = lockThat();
  for (let depth = 0; depth < 3; depth++) await lock.acquire(connection);
  expect(since()).toEqual(TAKEN);
  await lock.release(connection);
  await lock.release(connection);
  expect(since()).toEqual([]);
  await lock.release(connection);
  expect(since()).toEqual(["commit", ...GIVEN_UP]);
});

test("migrations on another connection take their own lock", async () => {
  const { lock, since } = lockThat();
  await lock.acquire(connection);
  since();
  await lock.acquire({} as PhysicalConnection);
  expect(since()).toEqual(TAKEN);
});

test("a lock that another process holds leaves no connection behind, and can be taken later", async () => {
  const { lock, since } = lockThat(undefined, false);
  for (let attempt = 0; attempt < 2; attempt++) {
    await expect(lock.acquire(connection)).rejects.toMatchObject({ code: "E_MIGRATION" });
    expect(since()).toEqual([...TAKEN, "pg_locks", ...GIVEN_UP]);
  }
});

test.each([
  ["reserve", ["open", "reserve", "close"]],
  [BEGIN, ["open", "reserve", BEGIN, ...GIVEN_UP]],
  ["pg_try_advisory_xact_lock", [...TAKEN, ...GIVEN_UP]],
])("a connection that fails at %j leaves nothing behind", async (what, done) => {
  const { lock, since } = lockThat((one) => one === what);
  await expect(lock.acquire(connection)).rejects.toBe(LOST);
  expect(since()).toEqual(done);
});

test("a lock that was lost in the meantime is reported, and its connection is closed", async () => {
  const { lock, since } = lockThat((one) => one === "commit");
  await lock.acquire(connection);
  since();
  await expect(lock.release(connection)).rejects.toBe(LOST);
  expect(since()).toEqual(["commit", ...GIVEN_UP]);
  await lock.acquire(connection);
  expect(since()).toEqual(TAKEN);
});
