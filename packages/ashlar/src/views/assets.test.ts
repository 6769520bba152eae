import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { assetUrls } from "./view-provider.ts";

test("a file has a version made from its content, which changes with it", async () => {
  const folder = await temporaryFolder();
  const asset = assetUrls(folder, false);
  await writeFile(join(folder, "style.css"), "a");
  const before = asset("style.css");
  expect(before).toBe("/style.css?v=ca978112ca");
  await writeFile(join(folder, "style.css"), "b");
  expect(asset("style.css")).not.toBe(before);
});

test("a leading slash makes no difference, and paths are URL-encoded", async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, "a b"));
  await writeFile(join(folder, "a b/c#d.css"), "a");
  expect(assetUrls(folder, false)("/a b/c#d.css")).toBe("/a%20b/c%23d.css?v=ca978112ca");
});

test("with a cache, a file is read once", async () => {
  const folder = await temporaryFolder();
  const asset = assetUrls(folder, true);
  await writeFile(join(folder, "style.css"), "a");
  const before = asset("style.css");
  await writeFile(join(folder, "style.css"), "b");
  expect(asset("style.css")).toBe(before);
});

test("a missing file has its plain URL", async () => {
  expect(assetUrls(await temporaryFolder(), true)("missing.css")).toBe("/missing.css");
});
