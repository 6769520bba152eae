import { spawn } from "node:child_process";
import { chmod, chown, cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { DoctorReport } from "../../src/cli/doctor/report.ts";
import { Database } from "../../src/database/index.ts";
import { ashlar } from "../support/command-line.ts";
import { completeForProduction, copyOf, doctor, idsOf, mend, setVariables } from "../support/doctor.ts";
import { COMMAND, edit, execute, generateApplication } from "../support/generated-application.ts";
import { OLDEST_RUNTIME } from "../support/runtimes.ts";
import { shellEnvironment } from "../support/shell-environment.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let remove: () => Promise<void>;
/** A migrated application without findings, in development. It is only copied. */
let original: string;

beforeAll(async () => {
  const made = await generateApplication();
  remove = made.remove;
  original = made.root;
  await setVariables(original, "APP_ENV=development");
  await ashlar(original, "migrate");
});

afterAll(() => remove());

/**
 * The owner of an application for tests in which root would be allowed everything, or `null` if the tests don't run as
 * root.
 */
const OWNER = process.getuid?.() === 0 ? 65_534 : null;

/** A copy of an application that belongs to a user other than root, in a folder that the user can access. */
async function ownedCopy(): Promise<string> {
  const root = await copyOf(original);
  if (OWNER === null) return root;
  await chmod(dirname(root), 0o755);
  for (const path of ["", ...(await readdir(root, { recursive: true }))]) await chown(join(root, path), OWNER, OWNER);
  return root;
}

/** The doctor's report in a separate process, started by the application's owner. */
async function doctorOfOwner(root: string): Promise<DoctorReport> {
  const user = OWNER === null ? {} : { uid: OWNER, gid: OWNER };
  const child = spawn(process.execPath, [COMMAND, "doctor", "--json"], { cwd: root, env: shellEnvironment(), ...user });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await new Promise((resolve, reject) => child.on("error", reject).on("close", resolve));
  return JSON.parse(output) as DoctorReport;
}

/** The only finding of a report. */
function only({ findings }: Pick<DoctorReport, "findings">) {
  expect(findings.map(({ id }) => id)).toHaveLength(1);
  return findings[0]!;
}

describe("a file of SQLite", () => {
  test("that is damaged, or is another file, can't be read until a backup is in its place", async () => {
    const root = await copyOf(original);
    const file = join(root, "database/app.sqlite");
    const bytes = await readFile(file);
    for (const [content, reason] of [
      [Buffer.from(bytes).fill(255, 100, 4096), "database disk image is malformed."],
      [Buffer.from("no database".repeat(1000)), "file is not a database."],
    ] as const) {
      await writeFile(file, content);
      const finding = only(await doctor(root));
      expect([finding.id, finding.problem]).toEqual([
        "database.connection",
        `The database database/app.sqlite can't be read: SQLite: ${reason}`,
      ]);
      expect(finding.remedy.note).toMatch(/^Put a backup in its place, and delete its -wal and -shm, or name another /);
      for (const ending of ["-wal", "-shm"]) await rm(`${file}${ending}`, { force: true });
      await writeFile(file, bytes);
      expect((await doctor(root)).findings).toEqual([]);
    }
  });

  test("that is damaged after its first page can't be read either", async () => {
    const root = await copyOf(original);
    const file = join(root, "database/app.sqlite");
    const bytes = await readFile(file);
    const database = new DatabaseSync(file, { readOnly: true });
    const { page } = database.prepare("select rootpage as page from sqlite_schema where name = 'migrations'").get()!;
    database.close();
    const start = (Number(page) - 1) * 4096;
    await writeFile(file, Buffer.from(bytes).fill(255, start, start + 4096));
    expect(only(await doctor(root))).toMatchObject({
      id: "database.connection",
      problem: "The database database/app.sqlite can't be read: SQLite: database disk image is malformed.",
    });
  });

  test("that another program has locked exclusively is awaited once, and briefly", async () => {
    const root = await copyOf(original);
    // In production, the limits look at the database too.
    await completeForProduction(root);
    const holder = new DatabaseSync(join(root, "database/app.sqlite"));
    onTestFinished(() => void (holder.isOpen && holder.close()));
    holder.exec("pragma locking_mode = exclusive; begin exclusive");
    const connected = vi.spyOn(Database.prototype, "connect");
    onTestFinished(() => connected.mockRestore());
    const found = (await doctor(root, "--production")).findings.find(({ id }) => id === "database.connection")!;
    expect(found.problem).toBe(
      "The database database/app.sqlite can't be read: another program has locked it exclusively, for all of 500 ms.",
    );
    expect(found.remedy.note).toContain("End the program that has it open");
    expect(connected).toHaveBeenCalledTimes(1);
    holder.close();
    expect(idsOf(await doctor(root))).not.toContain("database.connection");
  });

  test("that the user may not write can't be used", async () => {
    const root = await ownedCopy();
    await chmod(join(root, "database/app.sqlite"), 0o400);
    const finding = only(await doctorOfOwner(root));
    expect([finding.id, finding.problem]).toEqual([
      "database.connection",
      expect.stringMatching(/database\/app\.sqlite can't be used: \S+ has no permission to read and write .*chown -R/),
    ]);
    await chmod(join(root, "database/app.sqlite"), 0o600);
    expect((await doctorOfOwner(root)).findings).toEqual([]);
    await chmod(join(root, "database"), 0o500);
    expect(only(await doctorOfOwner(root)).problem).toMatch(/no permission to read and write \S+\/database\. /);
    await chmod(join(root, "database"), 0o700);
  });
});

describe("an .env", () => {
  test("that its owner may not read can be opened after following the advice", async () => {
    const root = await ownedCopy();
    await chmod(join(root, ".env"), 0o000);
    const found = (await doctorOfOwner(root)).findings.find(({ id }) => id === "env.file")!;
    expect(found.remedy.run).toBe("chmod u+r .env");
    await mend(root, found);
    expect((await doctorOfOwner(root)).findings).toEqual([]);
  });
});

describe("the repository", () => {
  /** A copy with a separate repository, which contains the secrets. */
  async function repository(): Promise<string> {
    const root = await copyOf(original);
    const commit = "git -c user.name=A -c user.email=a@shop.example commit -qm Begin";
    expect((await execute(root, "sh", ["-c", `git init -q && git add -f .env && ${commit}`])).code).toBe(0);
    return root;
  }

  const skipped = (reason: string) => [{ check: "Repository", reason }];

  /** Replaces a variable of this process until the test has finished. */
  function replaceVariable(name: string, value: string): void {
    vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
  }

  test("isn't checked without git, and the report says so", async () => {
    const root = await repository();
    expect((await doctor(root)).skipped).toEqual([]);
    replaceVariable("PATH", await temporaryFolder());
    const report = await doctor(root);
    expect([report.skipped, report.findings]).toEqual([skipped("git is not installed"), []]);
    expect((await ashlar(root, "doctor")).output).toContain("Not checked, because git is not installed: Repository");
    // Below another repository, it is that one.
    const below = join(root, "shop");
    await mkdir(below);
    await cp(join(original, "package.json"), join(below, "package.json"));
    expect((await doctor(below)).skipped).toContainEqual(skipped("git is not installed")[0]);
  });

  test("that belongs to another user isn't checked, and the report says so", async () => {
    const root = await repository();
    replaceVariable("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
    const { skipped: checks } = await doctor(root);
    expect(checks).toEqual(
      skipped("the repository belongs to another user, whose settings git doesn't trust: run this as that user"),
    );
  });

  test("that git can't read isn't checked, and the report says so", async () => {
    const root = await repository();
    await writeFile(join(root, ".git/config"), "[core\n");
    expect((await doctor(root)).skipped).toEqual(skipped("git can't read the repository"));
  });

  test("isn't mentioned if there isn't one", async () => {
    replaceVariable("PATH", await temporaryFolder());
    const root = await temporaryFolder();
    expect((await doctor(root)).skipped.map(({ check }) => check)).not.toContain("Repository");
  });
});

describe("in production", () => {
  test("a world-readable .env and pending migrations are errors, each with exit code 1", async () => {
    const severities = async (root: string, ...args: string[]) => {
      const { code, output } = await ashlar(root, "doctor", "--json", ...args);
      const { findings } = JSON.parse(output) as DoctorReport;
      const ours = findings.filter(({ id }) => id === "env.mode" || id === "migrations.pending");
      const others = findings.filter((finding) => !ours.includes(finding) && finding.severity === "error");
      expect(others).toEqual([]);
      return [code, ours.map(({ id, severity }) => `${severity} ${id}`)];
    };
    const complete = await copyOf(original);
    await completeForProduction(complete);
    const open = await copyOf(complete);
    await chmod(join(open, ".env"), 0o644);
    expect(await severities(open)).toEqual([0, ["warning env.mode"]]);
    expect(await severities(open, "--production")).toEqual([1, ["error env.mode"]]);
    const pending = await copyOf(complete);
    await ashlar(pending, "make:migration", "create_orders");
    expect(await severities(pending)).toEqual([0, ["warning migrations.pending"]]);
    expect(await severities(pending, "--production")).toEqual([1, ["error migrations.pending"]]);
  });
});

describe("Node.js", () => {
  test("older than package.json requires is a finding, with the command that installs a newer one", async () => {
    const root = await copyOf(original);
    await edit(root, "package.json", ['"node": ">=24.7"', '"node": ">=26"']);
    expect((await doctor(root)).findings).toEqual([]);
    const { output } = await execute(root, OLDEST_RUNTIME.path, [COMMAND, "doctor", "--json"]);
    const finding = only(JSON.parse(output) as DoctorReport);
    expect(finding).toMatchObject({
      id: "node.version",
      severity: "error",
      file: "package.json",
      problem: `package.json asks for Node.js >=26, and this is ${OLDEST_RUNTIME.version}.`,
      remedy: { run: "npm install --save-dev node@26" },
    });
  });
});
