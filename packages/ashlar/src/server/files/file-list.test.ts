import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { createApplication } from "../../boot/application/create-application.ts";
import { setClock } from "../../support/index.ts";
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

test("the list contains every path that is served, in all its forms", async () => {
  const serve = staticFiles(folder, true)!;
  const paths = ["/", "/index.html", "/app.css", "/about", "/about.html", "/help", "/help/", "/help/index.html"];
  for (const path of [...paths, "/plain", "/%C3%BCn%C3%AF%20code.txt", "/linked/index.html", "/linked"]) {
    expect([path, (await serve(new Request(`http://localhost${path}`)))?.status]).toEqual([path, 200]);
  }
  for (const path of ["/app", "/app.css/", "/none", "/help/none", "/linked/none", "/dangling", "/APP.CSS"]) {
    expect([path, await serve(new Request(`http://localhost${path}`))]).toEqual([path, null]);
  }
});

test("a path without a file does not touch the disk", async () => {
  let time = 1_000_000;
  setClock(() => time);
  const list = new FileList(folder);
  for (let index = 0; index < 100; index++) expect(list.find(`/none-${index}`)).toBeNull();
  expect(list.reads).toBe(1);
  // Once the list is out of date, any number of lookups cause a single read.
  time += 60_000;
  expect(await Promise.all(Array.from({ length: 100 }, (_, index) => list.find(`/none-${index}`)))).toEqual(
    Array(100).fill(null),
  );
  expect(list.reads).toBe(2);
});

test("an added file is found, and a removed one is not", async () => {
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

test("a file that was just added is found at once in development, and after a while in production", async () => {
  setClock(() => 1_000_000);
  const APP_KEY = randomBytes(32).toString("base64url");
  const seen: Record<string, number[]> = {};
  for (const APP_ENV of ["production", "development"]) {
    const site = folderWith({ "public/app.css": "body{}" });
    const application = await createApplication({
      root: site,
      environment: { APP_ENV, APP_URL: "http://localhost", APP_KEY },
      config: { app: { APP: { log: { requests: false, level: "silent" } } } },
      routes: [],
    });
    onTestFinished(() => application.shutdown());
    const status = async () => (await application.fetch(new Request("http://localhost/added.txt"))).status;
    const before = await status();
    writeFileSync(join(site, "public/added.txt"), "new");
    seen[APP_ENV] = [before, await status()];
  }
  expect(seen).toEqual({ production: [404, 404], development: [404, 200] });
});

test("a path with a trailing slash matches the index of a folder, but never a file", () => {
  const list = new FileList(folder);
  expect(["/help/", "/app.css/", "/about/", "/help/index.html/"].map((path) => list.find(path))).toEqual([
    "/help/index.html",
    null,
    null,
    null,
  ]);
});

test("added files are found a second after the last reading, and when the clock is set back", async () => {
  let time = 1_000_000;
  setClock(() => time);
  // Makes reading seem to take no time, even on a busy machine.
  const measure = vi.spyOn(performance, "now").mockReturnValue(0);
  onTestFinished(() => measure.mockRestore());
  const own = folderWith({ "first.txt": "" });
  const list = new FileList(own);
  const add = (name: string) => writeFileSync(join(own, name), "");
  add("second.txt");
  time += 999;
  expect(list.find("/second.txt")).toBeNull();
  time += 1;
  expect(await list.find("/second.txt")).toBe("/second.txt");
  add("third.txt");
  time += 1000;
  expect(await list.find("/third.txt")).toBe("/third.txt");
  add("fourth.txt");
  time -= 3_600_000;
  expect(await list.find("/fourth.txt")).toBe("/fourth.txt");
  expect(list.reads).toBe(4);
});

test("a list is used for a hundred times as long as it took to read", async () => {
  let time = 1_000_000;
  setClock(() => time);
  const measure = vi.spyOn(performance, "now").mockReturnValueOnce(100).mockReturnValueOnce(150);
  onTestFinished(() => measure.mockRestore());
  const list = new FileList(folder);
  time += 4999;
  expect(list.find("/none")).toBeNull();
  time += 1;
  expect(await list.find("/none")).toBeNull();
  expect(list.reads).toBe(2);
});

test("a folder that cannot be read is retried once a second, and keeps its old list until then", async () => {
  let time = 1_000_000;
  setClock(() => time);
  const own = folderWith({ "one.txt": "" });
  const list = new FileList(own);
  rmSync(own, { recursive: true });
  time += 1000;
  expect(await list.find("/two.txt")).toBeNull();
  // If the folder had been read, the result would be a promise.
  expect([list.find("/one.txt"), list.find("/two.txt")]).toEqual(["/one.txt", null]);
  mkdirSync(own);
  writeFileSync(join(own, "two.txt"), "");
  time += 1000;
  expect([await list.find("/two.txt"), list.find("/one.txt")]).toEqual(["/two.txt", null]);
});

describe("links", () => {
  /** A site with links to their own folder, its parent, themselves, and another folder in the site. */
  function linked(): string {
    const root = folderWith({
      "secret.txt": "SECRET",
      "outside/file.txt": "SECRET",
      "public/app.css": "body{}",
      "public/.env": "SECRET",
      "public/assets/logo.svg": "<svg/>",
      "public/assets/.hidden": "SECRET",
    });
    const links = { here: ".", again: ".", above: "..", far: "../outside", itself: "itself", alias: "assets" };
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, "public", name));
    symlinkSync("..", join(root, "public/assets/up"));
    symlinkSync("../app.css", join(root, "public/assets/linked.css"));
    symlinkSync("../../secret.txt", join(root, "public/assets/secret.txt"));
    return join(root, "public");
  }

  test("with links to their own folders, the same files are served with a list as without one", async () => {
    const site = linked();
    const withList = staticFiles(site, true)!;
    const without = staticFiles(site, false)!;
    const text = async (serve: typeof withList, path: string) =>
      (await (await serve(new Request(`http://localhost${path}`)))?.text()) ?? null;
    const expected: Record<string, string | null> = {
      "/app.css": "body{}",
      "/here/app.css": "body{}",
      "/here/again/here/assets/logo.svg": "<svg/>",
      "/above/public/app.css": "body{}",
      "/alias/logo.svg": "<svg/>",
      "/assets/up/app.css": "body{}",
      "/assets/up/assets/up/alias/logo.svg": "<svg/>",
      "/assets/linked.css": "body{}",
      "/above/secret.txt": null,
      "/assets/secret.txt": null,
      "/assets/up/above/secret.txt": null,
      "/far/file.txt": null,
      "/here/.env": null,
      "/alias/.hidden": null,
      "/itself": null,
      "/itself/app.css": null,
      "/assets/linked.css/app.css": null,
      "/here": null,
      "/here/": null,
      "/aliased/logo.svg": null,
    };
    for (const [path, content] of Object.entries(expected)) {
      expect([path, await text(without, path), await text(withList, path)]).toEqual([path, content, content]);
    }
  });

  test("paths behind a link are looked up on disk, not in the list", async () => {
    setClock(() => 1_000_000);
    const site = linked();
    const list = new FileList(site);
    const serve = staticFiles(site, true)!;
    const status = async (path: string) => (await serve(new Request(`http://localhost${path}`)))?.status;
    expect(await status("/alias/added.txt")).toBeUndefined();
    writeFileSync(join(site, "assets/added.txt"), "added");
    expect([await status("/alias/added.txt"), await status("/assets/up/alias/added.txt")]).toEqual([200, 200]);
    expect(await status("/assets/added.txt")).toBeUndefined();
    rmSync(join(site, "assets/added.txt"));
    expect(await status("/alias/added.txt")).toBeUndefined();
    // A link whose target changes or appears is still the same entry in the folder.
    rmSync(join(site, "assets"), { recursive: true });
    mkdirSync(join(site, "assets"));
    writeFileSync(join(site, "assets/new.txt"), "new");
    expect(await status("/alias/new.txt")).toBe(200);
    expect(list.find("/alias/none.txt")).toBe("/alias/none.txt");
    for (const path of ["/none.txt", "/aliased/logo.svg", "/none/alias/logo.svg"]) expect(list.find(path)).toBeNull();
    expect(list.reads).toBe(1);
  });

  test("an application boots with links, and does not follow them out of the folder", async () => {
    const site = linked();
    const application = await createApplication({
      root: join(site, ".."),
      environment: {
        APP_ENV: "production",
        APP_URL: "http://localhost",
        APP_KEY: randomBytes(32).toString("base64url"),
      },
      config: { app: { APP: { log: { requests: false, level: "silent" } } } },
      routes: [],
    });
    onTestFinished(() => application.shutdown());
    const status = async (path: string) => (await application.fetch(new Request(`http://localhost${path}`))).status;
    expect([await status("/here/app.css"), await status("/above/secret.txt")]).toEqual([200, 404]);
  });
});
