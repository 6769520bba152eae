import { afterEach, expect, onTestFinished, test } from "vitest";
import { migrationOfStub } from "../../../test/support/migration-folder.ts";
import { onEachDatabase } from "../../../test/support/services.ts";
import { setClock } from "../../support/index.ts";
import type { Database } from "../connections/database.ts";
import { DatabaseTaskClaim } from "./task-claim.ts";

const NOON = Date.parse("2026-03-01T12:00:00.000Z");
const [HOUR, DAY] = [3_600_000, 86_400_000];

afterEach(() => setClock(null));

await onEachDatabase("a task that is claimed", (engine) => {
  async function opened({ hasTable = true } = {}): Promise<Database> {
    const { database, drop } = await engine.open();
    onTestFinished(drop);
    if (hasTable) await (await migrationOfStub("auth/migrations/create_maintenance.ts.stub")).up(database.kysely);
    return database;
  }

  const tables: [state: string, hasTable: boolean][] = [
    ["by a row", true],
    ["without the table", false],
  ];

  test.each(tables)("%s is due again in an hour, or when its process says so", async (_, hasTable) => {
    const database = await opened({ hasTable });
    const [prune, report] = [new DatabaseTaskClaim(database, "prune"), new DatabaseTaskClaim(database, "report")];
    const isTaken = async (claim: DatabaseTaskClaim, time: number): Promise<boolean> => {
      setClock(() => time);
      return (await claim.take()) !== null;
    };
    setClock(() => NOON);
    const claimed = (await prune.take())!;
    expect(claimed).toEqual({ claimedAt: NOON, leasedUntil: hasTable ? new Date(NOON + HOUR) : null });
    expect([await isTaken(report, NOON), await isTaken(prune, NOON + HOUR - 1)]).toEqual([true, false]);
    // Another task isn't affected, even if it was claimed at the same moment.
    await prune.finish(claimed, NOON + DAY);
    expect([await isTaken(prune, NOON + DAY - 1), await isTaken(report, NOON + HOUR)]).toEqual([false, true]);
    expect([await isTaken(prune, NOON + DAY), await isTaken(prune, NOON + DAY)]).toEqual([true, false]);
    if (!hasTable) return;
    // The first process finishes only now, when the task belongs to the other one.
    await prune.finish(claimed, NOON);
    expect(await isTaken(prune, NOON + DAY)).toBe(false);
    expect(await isTaken(prune, NOON + DAY + HOUR)).toBe(true);
  });

  test("is not delayed by a process whose clock is ahead", async () => {
    const prune = new DatabaseTaskClaim(await opened(), "prune");
    setClock(() => NOON + 400 * DAY);
    await prune.finish((await prune.take())!, NOON + 401 * DAY);
    setClock(() => NOON);
    const claimed = (await prune.take())!;
    expect(claimed.claimedAt).toBe(NOON);
    await prune.finish(claimed, NOON + 2 * DAY);
    expect(await prune.take()).toBeNull();
  });

  test("waits at most 48 hours for the time that was set", async () => {
    const prune = new DatabaseTaskClaim(await opened(), "prune");
    setClock(() => NOON);
    const claimed = (await prune.take())!;
    await prune.finish(claimed, NOON + 2 * DAY);
    expect(await prune.take()).toBeNull();
    setClock(() => NOON - 1);
    expect(await prune.take()).not.toBeNull();
  });
});
