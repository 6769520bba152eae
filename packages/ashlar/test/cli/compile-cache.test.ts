import { chmod, chown, mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { COMMAND, execute } from "../support/generated-application.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const FOLDER = `ashlar-compile-cache-${process.getuid?.()}`;

/**
 * Runs the command with this folder for temporary files.
 *
 * @param chosen the value of `NODE_COMPILE_CACHE`; not set if omitted
 */
async function runCommand(temporary: string, chosen?: string): Promise<void> {
  const start = `
    delete process.env.NODE_COMPILE_CACHE;
    Object.assign(process.env, ${JSON.stringify({ NODE_COMPILE_CACHE: chosen })});
    const { status } = require("node:child_process").spawnSync(process.execPath, [${JSON.stringify(COMMAND)}, "--version"]);
    process.exit(status ?? 1);`;
  const { code } = await execute(temporary, process.execPath, ["--eval", start], { TMPDIR: temporary });
  expect(code).toBe(0);
}

describe.skipIf(process.getuid === undefined)("on a machine with several users", () => {
  test("the command keeps compiled code in a folder of its user", async () => {
    const temporary = await temporaryFolder();
    await runCommand(temporary);
    expect(await readdir(temporary)).toEqual([FOLDER]);
    expect((await stat(join(temporary, FOLDER))).mode & 0o777).toBe(0o700);
    const [version] = await readdir(join(temporary, FOLDER));
    expect(await readdir(join(temporary, FOLDER, version!))).not.toEqual([]);
  });

  test.each([0o770, 0o707])("it neither uses nor fills a folder that others can write to (%o)", async (mode) => {
    const temporary = await temporaryFolder();
    await mkdir(join(temporary, FOLDER));
    await chmod(join(temporary, FOLDER), mode);
    await runCommand(temporary);
    expect(await readdir(temporary, { recursive: true })).toEqual([FOLDER]);
  });

  test.skipIf(process.getuid?.() !== 0)("it neither uses nor fills a folder that belongs to another user", async () => {
    const temporary = await temporaryFolder();
    await mkdir(join(temporary, FOLDER), { mode: 0o700 });
    await chown(join(temporary, FOLDER), 12_345, 12_345);
    await runCommand(temporary);
    expect(await readdir(temporary, { recursive: true })).toEqual([FOLDER]);
  });

  test("NODE_COMPILE_CACHE sets another folder", async () => {
    const [temporary, chosen] = [await temporaryFolder(), await temporaryFolder()];
    await runCommand(temporary, chosen);
    expect(await readdir(chosen)).not.toEqual([]);
    expect(await readdir(temporary, { recursive: true })).toEqual([FOLDER]);
  });

  test("it does not follow a link to a folder", async () => {
    const temporary = await temporaryFolder();
    const target = await temporaryFolder();
    await symlink(target, join(temporary, FOLDER));
    await runCommand(temporary);
    expect([await readdir(target), await readdir(temporary)]).toEqual([[], [FOLDER]]);
  });

  test("it works if the folder cannot be created", async () => {
    const temporary = await temporaryFolder();
    await writeFile(join(temporary, FOLDER), "");
    await runCommand(temporary);
    expect(await readdir(temporary)).toEqual([FOLDER]);
  });
});
