import fs, { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { guessedUuid } from "../../../test/support/guessed-uuid.ts";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { asDiskFull, type Content, type MoveOptions, writeWhole } from "./move-file.ts";

const write = (path: string, content: Content | string, options: MoveOptions = {}) => {
  return writeWhole(path, "unnamed", typeof content === "string" ? pieces(content) : content, options);
};

async function* pieces(...texts: readonly string[]) {
  for (const text of texts) yield Buffer.from(text);
}

/** An error as the system reports it. */
function systemError(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: as the system says it`), { code });
}

/** Makes the system refuse links until the test ends. */
function withoutLinks(code: string): void {
  const refused = vi.spyOn(fs, "link").mockRejectedValue(systemError(code));
  syncBuiltinESMExports();
  onTestFinished(() => {
    refused.mockRestore();
    syncBuiltinESMExports();
  });
}

describe("on a file system without links, a file", () => {
  test("is saved under its name, and replaces none unless asked to", async () => {
    withoutLinks("EPERM");
    const folder = await temporaryFolder();
    const path = join(folder, "photo.jpg");
    expect(await write(path, "first")).toEqual({ path, isLinked: false });
    await expect(write(path, "second")).rejects.toMatchObject({ code: "E_FILE_EXISTS" });
    expect(await readFile(path, "utf8")).toBe("first");
    await write(path, "third", { overwrite: true });
    expect([await readFile(path, "utf8"), await readdir(folder)]).toEqual(["third", ["photo.jpg"]]);
  });

  test("is saved once of ten that are written to one path at the same time", async () => {
    withoutLinks("EPERM");
    const folder = await temporaryFolder();
    const path = join(folder, "photo.jpg");
    const texts = Array.from({ length: 10 }, (_, index) => `text ${index}`);
    const outcomes = await Promise.allSettled(texts.map((text) => write(path, text)));
    const saved = texts.filter((_, index) => outcomes[index]!.status === "fulfilled");
    expect([saved.length, await readFile(path, "utf8"), await readdir(folder)]).toEqual([1, saved[0], ["photo.jpg"]]);
  });
});

test("a file on disk that can't be given a second name there is copied, with the permissions of a new file", async () => {
  withoutLinks("EXDEV");
  const folder = await temporaryFolder();
  const [stored, path, own] = [join(folder, "stored"), join(folder, "photo.jpg"), join(folder, "own")];
  await writeFile(stored, "content", { mode: 0o600 });
  await writeFile(own, "");
  expect(await write(path, { path: stored, mayBeLinked: true })).toEqual({ path, isLinked: false });
  expect([await readFile(path, "utf8"), (await stat(path)).mode]).toEqual(["content", (await stat(own)).mode]);
  expect((await readdir(folder)).sort()).toEqual(["own", "photo.jpg", "stored"]);
});

test("a file that was removed before it was complete doesn't appear under its name", async () => {
  const folder = await temporaryFolder();
  async function* removed() {
    yield Buffer.from("content");
    for (const name of await readdir(folder)) await rm(join(folder, name));
  }
  await expect(write(join(folder, "photo.jpg"), removed())).rejects.toMatchObject({ code: "ENOENT" });
  expect(await readdir(folder)).toEqual([]);
});

test("S197 a file is never written through an existing entry under its hidden name", async () => {
  const folder = await temporaryFolder();
  const victim = join(folder, "victim");
  await writeFile(victim, "mine");
  await mkdir(join(folder, "photos"));
  const name = guessedUuid();
  await symlink(victim, join(folder, "photos", `.${name}.part`));
  await expect(write(join(folder, "photos/photo.jpg"), "theirs")).rejects.toMatchObject({ code: "EEXIST" });
  expect(await readFile(victim, "utf8")).toBe("mine");
});

test.each(["ENOSPC", "EDQUOT"])("%s reports that there is no space, and ends the connection", (code) => {
  const cause = systemError(code);
  expect(asDiskFull(cause)).toMatchObject({
    code: "E_DISK_FULL",
    status: 503,
    cause,
    headers: { connection: "close" },
  });
});

test("other errors stay as they are", () => {
  const errors = [systemError("EACCES"), new Error("broken"), null, "text"];
  expect(errors.map(asDiskFull)).toEqual(errors);
});

test.each(["ENOSPC", "EDQUOT"])("a file is not saved either if there is no space for its name: %s", async (code) => {
  withoutLinks(code);
  const folder = await temporaryFolder();
  await expect(write(join(folder, "photo.jpg"), "content")).rejects.toMatchObject({ code: "E_DISK_FULL" });
  expect(await readdir(folder)).toEqual([]);
});

test.each(["ENOSPC", "EDQUOT"])(
  "a file that doesn't fit on the disk is not saved, and leaves nothing behind: %s",
  async (code) => {
    const folder = await temporaryFolder();
    async function* full() {
      yield Buffer.from("content");
      throw systemError(code);
    }
    await expect(write(join(folder, "photo.jpg"), full())).rejects.toMatchObject({ code: "E_DISK_FULL" });
    expect(await readdir(folder)).toEqual([]);
  },
);
