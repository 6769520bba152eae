import { lstat, open, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { setMissingVariable } from "./env-file.ts";

async function envFile(text?: string): Promise<string> {
  const path = join(await temporaryFolder(), ".env");
  if (text !== undefined) await writeFile(path, text);
  return path;
}

test("a file is made, for its owner's eyes alone", async () => {
  const path = await envFile();
  expect(await setMissingVariable(path, "KEY", "value")).toBe(true);
  expect(await readFile(path, "utf8")).toBe("KEY=value\n");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("a secret in a file that others could read is theirs no more", async () => {
  const path = await envFile("A=1\n");
  await setMissingVariable(path, "KEY", "value");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("an empty variable is filled where it stands", async () => {
  const path = await envFile("A=1\nKEY=\n# a remark\nB=2\n");
  expect(await setMissingVariable(path, "KEY", "$& value")).toBe(true);
  expect(await readFile(path, "utf8")).toBe("A=1\nKEY=$& value\n# a remark\nB=2\n");
});

test("S12 a variable that has a value is never overwritten", async () => {
  for (const text of ["KEY=old\n", 'KEY="old"\n', "export KEY=old\n", "  KEY = old # why\n"]) {
    const path = await envFile(text);
    expect(await setMissingVariable(path, "KEY", "new")).toBe(false);
    expect(await readFile(path, "utf8")).toBe(text);
  }
});

test("a last line without an end is not glued to the new one", async () => {
  const path = await envFile("A=1");
  await setMissingVariable(path, "KEY", "value");
  expect(await readFile(path, "utf8")).toBe("A=1\nKEY=value\n");
});

test("a variable whose name only ends alike is another", async () => {
  const path = await envFile("OTHER_KEY=1\n");
  await setMissingVariable(path, "KEY", "value");
  expect(await readFile(path, "utf8")).toBe("OTHER_KEY=1\nKEY=value\n");
});

test("the file is replaced in one step: who has it open reads the old text to its end, and no draft stays", async () => {
  const path = await envFile("A=1\n");
  await using opened = await open(path);
  await setMissingVariable(path, "KEY", "value");
  expect(await opened.readFile("utf8")).toBe("A=1\n");
  expect(await readFile(path, "utf8")).toBe("A=1\nKEY=value\n");
  expect(await readdir(dirname(path))).toEqual([".env"]);
});

test("a link to the file stays one", async () => {
  const path = await envFile("A=1\n");
  const link = join(await temporaryFolder(), ".env");
  await symlink(path, link);
  await setMissingVariable(link, "KEY", "value");
  expect((await lstat(link)).isSymbolicLink()).toBe(true);
  expect(await readFile(path, "utf8")).toBe("A=1\nKEY=value\n");
});
