import { spawnSync } from "node:child_process";
import { chmod, chown, lstat, mkdir, open, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { replaceEnvFile, setMissingVariables, withEnvFile, withVariables } from "./env-file.ts";

async function envFile(text?: string): Promise<string> {
  const path = join(await temporaryFolder(), ".env");
  if (text !== undefined) await writeFile(path, text);
  return path;
}

test("a file is created, readable only by its owner", async () => {
  const path = await envFile();
  expect(await setMissingVariables(path, { KEY: "value" })).toEqual(["KEY"]);
  expect(await readFile(path, "utf8")).toBe("KEY=value\n");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("a file that others could read becomes private when a secret is written", async () => {
  const path = await envFile("A=1\n");
  await setMissingVariables(path, { KEY: "value" });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("an empty variable is filled in place", async () => {
  const path = await envFile("A=1\nKEY=\n# a remark\nB=2\n");
  expect(await setMissingVariables(path, { KEY: "$& value" })).toEqual(["KEY"]);
  expect(await readFile(path, "utf8")).toBe("A=1\nKEY=$& value\n# a remark\nB=2\n");
});

test("S12 a variable that has a value is never overwritten", async () => {
  for (const text of ["KEY=old\n", 'KEY="old"\n', "export KEY=old\n", "  KEY = old # why\n"]) {
    const path = await envFile(text);
    expect(await setMissingVariables(path, { KEY: "new" })).toEqual([]);
    expect(await readFile(path, "utf8")).toBe(text);
  }
});

test("a last line without a newline is not joined with the new one", async () => {
  const path = await envFile("A=1");
  await setMissingVariables(path, { KEY: "value" });
  expect(await readFile(path, "utf8")).toBe("A=1\nKEY=value\n");
});

test("a variable whose name only has the same ending is not changed", async () => {
  const path = await envFile("OTHER_KEY=1\n");
  await setMissingVariables(path, { KEY: "value" });
  expect(await readFile(path, "utf8")).toBe("OTHER_KEY=1\nKEY=value\n");
});

test("the file is replaced atomically: open readers still read the old text, and no draft remains", async () => {
  const path = await envFile("A=1\n");
  await using opened = await open(path);
  await setMissingVariables(path, { KEY: "value" });
  expect(await opened.readFile("utf8")).toBe("A=1\n");
  expect(await readFile(path, "utf8")).toBe("A=1\nKEY=value\n");
  expect(await readdir(dirname(path))).toEqual([".env"]);
});

test("a symbolic link to the file remains a link", async () => {
  const path = await envFile("A=1\n");
  const link = join(await temporaryFolder(), ".env");
  await symlink(path, link);
  await setMissingVariables(link, { KEY: "value" });
  expect((await lstat(link)).isSymbolicLink()).toBe(true);
  expect(await readFile(path, "utf8")).toBe("A=1\nKEY=value\n");
});

test("a link to a file that doesn't exist yet remains a link, and the file is created", async () => {
  const folder = await temporaryFolder();
  const link = await envFile();
  const between = join(folder, "between");
  await symlink("shared.env", between);
  await symlink(between, link);
  await setMissingVariables(link, { KEY: "value" });
  expect((await lstat(link)).isSymbolicLink()).toBe(true);
  expect(await readFile(join(folder, "shared.env"), "utf8")).toBe("KEY=value\n");
});

test("a byte order mark stays", async () => {
  const path = await envFile("\uFEFFKEY=\nA=1\n");
  await setMissingVariables(path, { KEY: "value", OTHER: "two" });
  expect(await readFile(path, "utf8")).toBe("\uFEFFKEY=value\nA=1\nOTHER=two\n");
});

test("export and a comment stay on the line of a variable that is filled in or replaced", async () => {
  const text = "export A=\n  export B= # the key # of B\nC=#c\nD='#'\nE = \"x # y\" # e\nF=`x` # f's\n";
  const values = { A: "1", B: "line\nbreak", C: "3", D: "4", E: "5", F: "" };
  const after = 'export A=1\n  export B="line\\nbreak" # the key # of B\nC=3#c\nD=4\nE=5 # e\nF= # f\'s\n';
  expect(withVariables(text, values)).toBe(after);
});

test("a file that is closed to others keeps its permissions, so that its group can still read it", async () => {
  const path = await envFile("A=1\n");
  await chmod(path, 0o640);
  await setMissingVariables(path, { KEY: "value" });
  expect((await stat(path)).mode & 0o777).toBe(0o640);
});

test.skipIf(process.getuid?.() !== 0)("S12 the administrator leaves a file to its owner and group", async () => {
  const path = await envFile("A=1\n");
  await chown(path, 65_534, 65_533);
  await chmod(path, 0o644);
  await setMissingVariables(path, { KEY: "value" });
  const { uid, gid, mode } = await stat(path);
  expect([uid, gid, mode & 0o777]).toEqual([65_534, 65_533, 0o600]);
});

test("a file with CRLF keeps it, for lines that are filled in and lines that are added", async () => {
  const path = await envFile("A=1\r\nKEY=\r\n");
  expect(await setMissingVariables(path, { KEY: "value", OTHER: "two" })).toEqual(["KEY", "OTHER"]);
  expect(await readFile(path, "utf8")).toBe("A=1\r\nKEY=value\r\nOTHER=two\r\n");
});

test("S12 a new file begins with the template, whose values for these variables are ignored", async () => {
  const path = await envFile();
  const template = "# What it is.\nA=1\n# The key.\nKEY=in the repository\n";
  expect(await setMissingVariables(path, { KEY: "value" }, template)).toEqual(["KEY"]);
  expect(await readFile(path, "utf8")).toBe("# What it is.\nA=1\n# The key.\nKEY=value\n");
  expect(await setMissingVariables(path, { KEY: "other" }, "B=2\n")).toEqual([]);
});

test("a variable that would be parsed differently leaves the file unchanged", async () => {
  const text = "KEY=\nKEY=\n";
  const path = await envFile(text);
  await expect(setMissingVariables(path, { KEY: "value" })).rejects.toMatchObject({
    code: "E_COMMAND",
    message: expect.stringContaining("KEY is set twice"),
  });
  expect(await readFile(path, "utf8")).toBe(text);
});

test("if the file cannot be replaced, no draft with the secret remains", async () => {
  const path = await envFile();
  await mkdir(path);
  await expect(replaceEnvFile(path, "KEY=value\n")).rejects.toThrow();
  expect(await readdir(dirname(path))).toEqual([".env"]);
});

test("a circular link is left alone", async () => {
  const path = await envFile();
  await symlink(".env", path);
  await expect(replaceEnvFile(path, "KEY=value\n")).rejects.toMatchObject({ code: "ELOOP" });
  expect((await lstat(path)).isSymbolicLink()).toBe(true);
});

test("a stale lock is reported at once, and left for the user to remove", async () => {
  const path = await envFile("KEY=\n");
  const { pid } = spawnSync(process.execPath, ["--version"]);
  await writeFile(`${path}.lock`, String(pid));
  const looked = vi.spyOn(process, "kill");
  onTestFinished(() => looked.mockRestore());
  await expect(setMissingVariables(path, { KEY: "value" })).rejects.toMatchObject({
    code: "E_COMMAND",
    message: expect.stringContaining(`process ${pid} has locked it`),
  });
  // Exactly one of the hundreds of attempts succeeds.
  expect(looked.mock.calls).toEqual([[pid, 0]]);
  expect([await readFile(path, "utf8"), await readFile(`${path}.lock`, "utf8")]).toEqual(["KEY=\n", String(pid)]);
});

test("a lock held by another user's process is waited for, like that of any running process", async () => {
  const path = await envFile("KEY=\n");
  await writeFile(`${path}.lock`, "4242");
  // The system's error for another user's process. Root gets the same result as for its own processes.
  const looked = vi.spyOn(process, "kill").mockImplementation(() => {
    throw Object.assign(new Error("kill EPERM"), { code: "EPERM" });
  });
  onTestFinished(() => looked.mockRestore());
  const filling = setMissingVariables(path, { KEY: "value" });
  while (looked.mock.calls.length === 0) await turn();
  await rm(`${path}.lock`);
  expect(await filling).toEqual(["KEY"]);
  expect(looked.mock.calls[0]).toEqual([4242, 0]);
});

test("S12 a value that another process has written in the meantime is kept", async () => {
  const path = await envFile("KEY=\n");
  const looked = vi.spyOn(process, "kill");
  onTestFinished(() => looked.mockRestore());
  const { filling } = await withEnvFile(path, async () => {
    const filling = setMissingVariables(path, { KEY: "mine", OTHER: "mine" });
    // Wait until the process has found the lock.
    while (looked.mock.calls.length === 0) await turn();
    await replaceEnvFile(path, "KEY=theirs\n");
    return { filling };
  });
  expect(await filling).toEqual(["OTHER"]);
  expect(await readFile(path, "utf8")).toBe("KEY=theirs\nOTHER=mine\n");
});

test("a complete file is not written", async () => {
  const path = await envFile("KEY=old\n");
  const before = await stat(path);
  await setMissingVariables(path, { KEY: "new" });
  const after = await stat(path);
  expect([after.ino, after.mode]).toEqual([before.ino, before.mode]);
});

test("an exported variable without a value is filled in", () => {
  expect(withVariables("export KEY=\nA=1\n", { KEY: "value" })).toBe("export KEY=value\nA=1\n");
  expect(withVariables("export A=\n", { KEY: "value" })).toBe("export A=\nKEY=value\n");
});

test("an exported variable is replaced in place", () => {
  expect(withVariables("export KEY=old\nA=1\n", { KEY: "value" })).toBe("export KEY=value\nA=1\n");
});
