import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { type NewFile, writeAllOrNone, writeNewFile } from "./files.ts";

const everything = (root: string) => readdir(root, { recursive: true });

/** A text of which only the first half fits on the disk. */
async function* tooLong(): AsyncGenerator<string> {
  yield "the first half";
  throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
}

const halfWritten = (): NewFile => ({ path: "app/models/half.ts", text: tooLong() as never });

test("files are written with their folders before the last step runs", async () => {
  const root = folderWith({});
  await writeAllOrNone(root, [{ path: "app/a.ts", text: "a" }], async () =>
    expect(await everything(root)).toHaveLength(2),
  );
  expect(await readFile(join(root, "app/a.ts"), "utf8")).toBe("a");
});

test("if the last step fails, new files are removed and existing ones are kept", async () => {
  const root = folderWith({ "app/mine.ts": "mine" });
  const files = ["a.ts", "app/b.ts", "app/mine.ts", "config/deep/c.ts"].map((path) => ({ path, text: "new" }));
  const fail = () => Promise.reject(new Error("no secrets"));
  await expect(writeAllOrNone(root, files, fail)).rejects.toThrow("no secrets");
  expect((await everything(root)).toSorted()).toEqual(["app", join("app", "mine.ts")]);
  expect(await readFile(join(root, "app/mine.ts"), "utf8")).toBe("mine");
});

test("if a file is only partly written, neither it nor the others are left", async () => {
  const root = folderWith({});
  const written = writeAllOrNone(root, [{ path: "app/a.ts", text: "a" }, halfWritten()], async () => {});
  await expect(written).rejects.toMatchObject({
    code: "E_COMMAND",
    message: `ENOSPC: no space left on device, write. Nothing was written to ${root}.`,
  });
  expect(await everything(root)).toEqual([]);
});

test("a single file that is only partly written is not left either", async () => {
  const root = folderWith({});
  await expect(writeNewFile(root, halfWritten())).rejects.toThrow("ENOSPC");
  expect((await everything(root)).filter((path) => path.endsWith(".ts"))).toEqual([]);
});
