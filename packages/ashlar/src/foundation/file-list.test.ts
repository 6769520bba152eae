import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { setClock } from "../support/index.ts";
import { createApplication } from "./create-application.ts";
import { FileList } from "./file-list.ts";
import { staticFiles } from "./static-files.ts";

const root = mkdtempSync(join(tmpdir(), "ashlar-files-"));
const folder = join(root, "public");

beforeAll(() => {
  for (const name of ["index.html", "app.css", "about.html", "help/index.html", "ünï code.txt", "plain"]) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), name);
  }
  symlinkSync(join(folder, "help"), join(folder, "linked"));
  symlinkSync(join(root, "missing"), join(folder, "dangling"));
});
afterEach(() => setClock(null));
afterAll(() => rmSync(root, { recursive: true }));

test("every path that is served is in the list, under each of its names", async () => {
  const serve = staticFiles(folder, true)!;
  const paths = ["/", "/index.html", "/app.css", "/about", "/about.html", "/help", "/help/", "/help/index.html"];
  for (const path of [...paths, "/plain", "/%C3%BCn%C3%AF%20code.txt", "/linked/index.html", "/linked"]) {
    expect([path, (await serve(new Request(`http://localhost${path}`)))?.status]).toEqual([path, 200]);
  }
  for (const path of ["/app", "/app.css/", "/none", "/help/none", "/linked/none", "/dangling", "/APP.CSS"]) {
    expect([path, await serve(new Request(`http://localhost${path}`))]).toEqual([path, null]);
  }
});

test("a path that leads to no file costs no look at the disk", async () => {
  let time = 1_000_000;
  setClock(() => time);
  const list = new FileList(folder);
  for (let index = 0; index < 100; index++) expect(list.has(`/none-${index}`)).toBe(false);
  expect(list.reads).toBe(1);
  // Any number of them, once the list is old, share one reading.
  time += 60_000;
  expect(await Promise.all(Array.from({ length: 100 }, (_, index) => list.has(`/none-${index}`)))).not.toContain(true);
  expect(list.reads).toBe(2);
});

test("a file that is added is found, and one that is removed is gone", async () => {
  let time = 1_000_000;
  setClock(() => time);
  const application = await createApplication({
    root,
    environment: { APP_ENV: "production", APP_URL: "http://localhost", APP_KEY: randomBytes(32).toString("base64url") },
    config: { app: { APP: { log: { requests: false, level: "silent" } } } },
    routes: [],
  });
  const status = async () => (await application.fetch(new Request("http://localhost/added.txt"))).status;
  expect(await status()).toBe(404);
  writeFileSync(join(folder, "added.txt"), "new");
  time += 60_000;
  expect(await status()).toBe(200);
  rmSync(join(folder, "added.txt"));
  expect(await status()).toBe(404);
  await application.shutdown();
});
