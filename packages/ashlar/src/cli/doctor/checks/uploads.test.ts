import { appendFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeDisk, type SmallDisk, withSmallDisk } from "../../../../test/support/small-disk.ts";
import { subjectOf } from "../../../../test/support/subject.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import type { ApplicationSettings } from "../../../boot/index.ts";
import { Route, type RouteDefinition } from "../../../routing/index.ts";
import type { Finding } from "../finding.ts";
import { UPLOADS } from "./uploads.ts";

/** Writes until the disk is full. */
function fill(folder: string): void {
  expect(() => {
    for (;;) appendFileSync(join(folder, "filler"), Buffer.alloc(4096));
  }).toThrow("ENOSPC");
}

const photos = Route.post("/photos", () => "saved");

async function findings(APP: ApplicationSettings, ...routes: RouteDefinition[]): Promise<readonly Finding[]> {
  const options = { routes, config: { app: { APP } }, environment: { APP_ENV: "test" } };
  return UPLOADS.run(await subjectOf({ options }));
}

const brief = (found: readonly Finding[]) => found.map(({ severity, id, problem }) => `${severity} ${id}: ${problem}`);

test("a folder that can't be written is an error, if a form may be written there", async () => {
  const uploadFolder = join(await temporaryFolder(), "missing");
  expect(brief(await findings({ uploadFolder }, photos.bodyLimit("2mb")))).toEqual([
    expect.stringContaining(`error uploads.folder: The folder for uploads, ${uploadFolder}, can't be written: ENOENT`),
  ]);
  const streamed = photos.streamsFiles().bodyLimit("20gb");
  expect(
    await findings(
      { uploadFolder },
      streamed,
      Route.get("/", () => "home"),
    ),
  ).toEqual([]);
  expect(await findings({ uploadFolder: await temporaryFolder() }, photos.bodyLimit("2mb"))).toEqual([]);
});

test("a route that takes more than all uploads may take is a warning", async () => {
  const limits = { maxDiskBytes: 2 ** 21 };
  const uploadFolder = await temporaryFolder();
  expect(brief(await findings({ limits, uploadFolder }, photos.bodyLimit("3mb")))).toEqual([
    "warning uploads.room: POST /photos accepts more than all uploads together may take on disk (APP.limits.maxDiskBytes: 2097152).",
  ]);
  expect(await findings({ limits, uploadFolder }, photos.bodyLimit("2mb"))).toEqual([]);
});

withSmallDisk("a disk that takes no more", () => {
  test.each([
    ["is full", (disk: SmallDisk) => fill(disk.folder), "its disk is full. "],
    ["is read-only", (disk: SmallDisk) => disk.makeReadOnly(), "its disk is read-only. "],
  ] as const)("and %s is an error with the folder and a remedy, and leaves nothing behind", async (_, end, reason) => {
    const disk = makeDisk(4096);
    onTestFinished(() => disk.remove());
    const app = { uploadFolder: disk.folder, limits: { maxDiskBytes: 2 ** 22 } };
    expect(await findings(app, photos.bodyLimit("2mb"))).toEqual([]);
    expect(await readdir(disk.folder)).toEqual([]);
    await end(disk);
    const before = await readdir(disk.folder);
    const [found, ...others] = await findings(app, photos.bodyLimit("2mb"));
    expect([found?.id, `${found?.problem} `, others]).toEqual([
      "uploads.folder",
      expect.stringContaining(`${disk.folder}, can't be written: ${reason}`),
      [],
    ]);
    expect(found?.remedy.note).toContain("APP.uploadFolder");
    expect(await readdir(disk.folder)).toEqual(before);
  });
});

withSmallDisk("a folder in memory", () => {
  test("that is smaller than what uploads may take is a warning", async () => {
    const disk = makeDisk(4096);
    onTestFinished(() => disk.remove());
    const app = { uploadFolder: disk.folder };
    const [found] = brief(await findings(app, photos.bodyLimit("2mb")));
    expect(found).toContain("warning uploads.room: Uploads are written to");
    expect(found).toContain("memory (tmpfs) of 4194304 bytes, and may take 8589934592");
    expect(await findings({ ...app, limits: { maxDiskBytes: 2 ** 22 } }, photos.bodyLimit("2mb"))).toEqual([]);
  });
});
