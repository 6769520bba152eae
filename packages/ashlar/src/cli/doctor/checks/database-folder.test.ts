import { appendFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeDisk, withSmallDisk } from "../../../../test/support/small-disk.ts";
import { subjectOf } from "../../../../test/support/subject.ts";
import { sqlite } from "../../../database/index.ts";
import { DATABASE } from "./database.ts";

/** The errors about an application's database with its SQLite file in this place. */
async function errors(path: string): Promise<unknown[]> {
  const DATABASES = { default: "here", here: sqlite({ path }) };
  const options = { config: { database: { DATABASES } }, environment: { APP_ENV: "test" }, routes: [] };
  const found = await DATABASE.run(await subjectOf({ options }));
  return found
    .filter(({ severity }) => severity === "error")
    .map(({ id, problem, remedy }) => [id, problem, remedy.note]);
}

withSmallDisk("the disk of a SQLite file", () => {
  test("that is full is an error with the folder and a remedy, and nothing is left behind", async () => {
    const disk = makeDisk(1024);
    onTestFinished(() => disk.remove());
    const folder = join(disk.folder, "database");
    mkdirSync(folder);
    const file = join(folder, "app.sqlite");
    expect([await errors(file), readdirSync(folder)]).toEqual([[], []]);
    expect(() => {
      for (;;) appendFileSync(join(disk.folder, "filler"), Buffer.alloc(4096));
    }).toThrow("ENOSPC");
    const note = "Make room there: df -h and df -i show what is left.";
    const full = (place: string) => `The folder of the database, ${place}, can't be written: its disk is full.`;
    expect(await errors(file)).toEqual([["database.folder", full(folder), note]]);
    // The file's folder may still have to be created.
    expect(await errors(join(disk.folder, "later/app.sqlite"))).toEqual([["database.folder", full(disk.folder), note]]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("that is read-only causes an error that doesn't suggest another owner", async () => {
    const disk = makeDisk(1024);
    onTestFinished(() => disk.remove());
    const file = join(disk.folder, "app.sqlite");
    writeFileSync(file, "");
    disk.makeReadOnly();
    expect(await errors(file)).toEqual([
      [
        "database.connection",
        `The database ${file} can't be used: ${file} is on a disk that is read-only. Mount it for writing.`,
        expect.stringContaining("DATABASE_PATH"),
      ],
    ]);
    const [[id, problem] = []] = (await errors(join(disk.folder, "later/app.sqlite"))) as [string, string][];
    expect([id, problem]).toEqual([
      "database.folder",
      expect.stringContaining("can't be written: its disk is read-only."),
    ]);
  });
});
