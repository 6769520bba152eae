import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { SqliteMigrationLock } from "./sqlite-migration-lock.ts";

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ashlar-lock-"));
  path = join(folder, "app.sqlite");
});
afterEach(() => rm(folder, { recursive: true }));

test("S67 only one process holds it at a time, and another gets it once it is released", async () => {
  const [first, second] = [new SqliteMigrationLock(path), new SqliteMigrationLock(path)];
  const order: string[] = [];
  await first.acquire();
  const waiting = second.acquire().then(() => order.push("second"));
  // Enough time for many attempts by the second; none succeeds.
  await expect(new SqliteMigrationLock(path, 50).acquire()).rejects.toMatchObject({ code: "E_MIGRATION" });
  order.push("released");
  first.release();
  await waiting;
  expect(order).toEqual(["released", "second"]);
  second.release();
});

test("S67 the holder can take it again, and keeps it until the outermost release", async () => {
  const [one, other] = [new SqliteMigrationLock(path), new SqliteMigrationLock(path, 20)];
  await one.acquire();
  await one.acquire();
  one.release();
  await expect(other.acquire()).rejects.toMatchObject({ code: "E_MIGRATION" });
  one.release();
  await other.acquire();
  other.release();
});

test("waiting times out with an error that has a remedy", async () => {
  const holder = new SqliteMigrationLock(path);
  await holder.acquire();
  await expect(new SqliteMigrationLock(path, 20).acquire()).rejects.toMatchObject({
    code: "E_MIGRATION",
    message: `Another process has been running migrations for more than 20 ms. Migrate again when it has ended. To find it: fuser "${path}-migrations"`,
  });
  holder.release();
});

test.skipIf(process.platform !== "linux")(
  "a lock that was released, or could not be taken, leaves no file open",
  async () => {
    const openFiles = async (): Promise<string[]> => {
      const targets = (await readdir("/proc/self/fd")).map((name) => readlink(`/proc/self/fd/${name}`).catch(() => ""));
      return (await Promise.all(targets)).filter((target) => target.startsWith(path));
    };
    const holder = new SqliteMigrationLock(path);
    await holder.acquire();
    await expect(new SqliteMigrationLock(path, 5).acquire()).rejects.toMatchObject({ code: "E_MIGRATION" });
    expect(await openFiles()).toContain(`${path}-migrations`);
    holder.release();
    expect(await openFiles()).toEqual([]);
  },
);

test("a file that cannot be locked is reported, with the reason", async () => {
  await writeFile(`${path}-migrations`, "text, which is no database ".repeat(100));
  await expect(new SqliteMigrationLock(path).acquire()).rejects.toMatchObject({
    code: "E_MIGRATION",
    message: `${path}-migrations cannot be locked: file is not a database.`,
    cause: { code: "ERR_SQLITE_ERROR" },
  });
});

test("S67 a process that is killed leaves no lock behind", async () => {
  const script = `
    const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
    const lock = new DatabaseSync(${JSON.stringify(`${path}-migrations`)});
    lock.exec("begin exclusive");
    console.log("locked");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "ignore"] });
  await once(child.stdout, "data");
  await expect(new SqliteMigrationLock(path, 20).acquire()).rejects.toMatchObject({ code: "E_MIGRATION" });
  child.kill("SIGKILL");
  await once(child, "exit");
  const lock = new SqliteMigrationLock(path);
  await lock.acquire();
  lock.release();
});

test("S67 a failed attempt in the same process does not let another process take it", async () => {
  const lock = new SqliteMigrationLock(path);
  await lock.acquire();
  await expect(new SqliteMigrationLock(path, 0).acquire()).rejects.toMatchObject({ code: "E_MIGRATION" });
  const script = `
    const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
    try {
      new DatabaseSync(${JSON.stringify(`${path}-migrations`)}, { timeout: 0 }).exec("begin exclusive");
      console.log("locked");
    } catch (error) {
      console.log(error.errcode);
    }`;
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", script]);
  expect(stdout).toBe("5\n");
  lock.release();
});

test("reads and writes of the database don't wait for it", async () => {
  const database = new DatabaseSync(path, { timeout: 0 });
  const lock = new SqliteMigrationLock(path);
  await lock.acquire();
  database.exec("create table t (n integer); insert into t values (1)");
  expect(database.prepare("select n from t").get()).toEqual({ n: 1 });
  lock.release();
  database.close();
});

test("a database in memory needs no lock", async () => {
  onTestFinished(() => rm(":memory:-migrations", { force: true }));
  const lock = new SqliteMigrationLock(":memory:");
  await lock.acquire();
  lock.release();
  expect(existsSync(":memory:-migrations")).toBe(false);
});
