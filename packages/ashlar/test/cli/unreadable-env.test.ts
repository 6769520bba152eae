import { spawnSync } from "node:child_process";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { COMMAND, execute, generatedApplication } from "../support/generated-application.ts";

const COMMANDS = [["serve"], ["migrate"], ["routes"], ["key:generate"], ["key:generate", "--rotate"], ["api:install"]];

test.for(COMMANDS)("if .env is a directory, %s says what to do", async (args) => {
  const root = await generatedApplication();
  await rm(join(root, ".env"));
  await mkdir(join(root, ".env"));
  expect(await execute(root, process.execPath, [COMMAND, ...args])).toEqual({
    code: 1,
    output:
      `${join(root, ".env")}: This is a directory, but it must be a file. ` +
      "Remove it, and run: npx ashlar key:generate\n",
  });
});

test.for([
  { what: "UTF-16 with its mark, as PowerShell writes it", bytes: Buffer.from("\uFEFFAPP_KEY=x\n", "utf16le") },
  { what: "UTF-16 without a mark", bytes: Buffer.from("APP_KEY=x\n", "utf16le") },
  { what: "Latin-1", bytes: Buffer.from("APP_NAME=Café\nAPP_KEY=geheim\n", "latin1") },
])("if .env is $what, the commands say what to do, and write nothing", async ({ bytes }) => {
  const root = await generatedApplication();
  const path = join(root, ".env");
  await writeFile(path, bytes);
  for (const args of [["migrate"], ["key:generate"], ["key:generate", "--rotate"]]) {
    expect(await ashlar(root, ...args)).toEqual({
      code: 1,
      output: "",
      errors: `${path}: The file is not UTF-8 text. Save it as UTF-8 in your editor.`,
    });
  }
  expect(await readFile(path)).toEqual(bytes);
});

test("UTF-8 with a byte order mark is read, including its first variable", async () => {
  const root = await generatedApplication();
  await writeFile(join(root, ".env"), `\uFEFFAPP_KEY=${"k3y-".repeat(3)}0123456789abcdefghijklm\n`);
  expect((await ashlar(root, "key:generate")).output).toBe("JWT_SECRET was written to .env.");
});

test("if .env belongs to another user, the commands say what to do", async () => {
  const root = await generatedApplication();
  const path = join(root, ".env");
  await chmod(path, 0);
  await chmod(dirname(root), 0o755);
  // Root may read everything, so another user runs the command.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, "serve"], {
    cwd: root,
    encoding: "utf8",
    ...user,
  });
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toBe(
    `${path}: This user has no permission to read the file. ` +
      `Run the command as the file's owner, or give this user permission: chmod u+r "${path}"\n`,
  );
});
