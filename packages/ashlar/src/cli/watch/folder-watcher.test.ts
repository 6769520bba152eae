import { mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { FolderWatcher } from "./folder-watcher.ts";

interface Watched {
  readonly root: string;
  /** Makes a change, and returns the files reported for it. If `path` is given, waits until it has been reported. */
  reported(change: () => void, path?: string): Promise<string[]>;
}

/**
 * Watches a folder. A write to `end.ts` follows each change. Once this write is reported, so are all earlier changes.
 */
function watching(files: Readonly<Record<string, string>>, watchesTrees?: boolean): Watched {
  const root = folderWith({ "end.ts": "", ...files });
  let paths: string[] = [];
  let notify = (): void => {};
  const watcher = new FolderWatcher(
    root,
    (path) => {
      paths.push(path);
      notify();
    },
    watchesTrees,
  );
  onTestFinished(() => watcher.close());
  const until = async (path: string): Promise<void> => {
    while (!paths.includes(path)) await new Promise<void>((resolve) => (notify = resolve));
  };
  return {
    root,
    reported: async (change, path) => {
      paths = [];
      change();
      if (path !== undefined) await until(path);
      writeFileSync(join(root, "end.ts"), String(Math.random()));
      await until("end.ts");
      return [...new Set(paths)].filter((one) => one !== "end.ts").sort();
    },
  };
}

describe("a folder watcher", () => {
  test("reports a file each time it is saved, in any way", async () => {
    const { root, reported } = watching({ "app/a.ts": "1" });
    const file = join(root, "app/a.ts");
    for (let round = 0; round < 3; round += 1) {
      expect(await reported(() => writeFileSync(file, `in place ${round}`), "app/a.ts")).toEqual(["app/a.ts"]);
      const rename = (): void => {
        writeFileSync(join(root, "app/.a.ts.tmp"), `renamed ${round}`);
        renameSync(join(root, "app/.a.ts.tmp"), file);
      };
      expect(await reported(rename, "app/a.ts")).toEqual(["app/a.ts"]);
      expect(await reported(() => rmSync(file), "app/a.ts")).toEqual(["app/a.ts"]);
      expect(await reported(() => writeFileSync(file, `again ${round}`), "app/a.ts")).toEqual(["app/a.ts"]);
    }
  });

  test("reports the files in a new folder, and later ones there", async () => {
    const { root, reported } = watching({});
    const nested = join(root, "app/new/deep");
    const make = (): void => {
      mkdirSync(nested, { recursive: true });
      writeFileSync(join(nested, "a.ts"), "1");
    };
    expect(await reported(make, "app/new/deep/a.ts")).toEqual(["app/new/deep/a.ts"]);
    expect(await reported(() => writeFileSync(join(nested, "b.ts"), "1"), "app/new/deep/b.ts")).toEqual([
      "app/new/deep/b.ts",
    ]);
  });

  test("reports only the application's own files in a folder that is moved in", async () => {
    const { root, reported } = watching({});
    const files = ["a.ts", "notes.txt", ".hidden.ts", "node_modules/x/index.js", ".git/index.js", "deep/b.ts"];
    const other = folderWith(Object.fromEntries(files.map((file) => [`app/${file}`, "1"])));
    const move = (): void => renameSync(join(other, "app"), join(root, "app"));
    expect(await reported(move, "app/deep/b.ts")).toEqual(["app/a.ts", "app/deep/b.ts"]);
    expect(await reported(() => writeFileSync(join(root, "app/node_modules/x/index.js"), "2"))).toEqual([]);
  });

  test("keeps watching a folder after it was replaced or moved", async () => {
    const { root, reported } = watching({ "app/a.ts": "1", "views/x.edge": "1" });
    const replace = (): void => {
      rmSync(join(root, "app"), { recursive: true });
      mkdirSync(join(root, "app"));
      writeFileSync(join(root, "app/b.ts"), "2");
    };
    expect(await reported(replace, "app/b.ts")).toContain("app/b.ts");
    expect(await reported(() => writeFileSync(join(root, "app/b.ts"), "3"), "app/b.ts")).toEqual(["app/b.ts"]);
    const moved = await reported(() => renameSync(join(root, "views"), join(root, "pages")), "pages/x.edge");
    expect(moved).toEqual(["pages/x.edge", "views"]);
    expect(await reported(() => writeFileSync(join(root, "pages/x.edge"), "3"), "pages/x.edge")).toEqual([
      "pages/x.edge",
    ]);
  });

  test("keeps watching a folder whose name starts like that of a removed one", async () => {
    const { root, reported } = watching({ "app/a.ts": "1", "app-data/b.ts": "1" });
    await reported(() => rmSync(join(root, "app"), { recursive: true }), "app");
    expect(await reported(() => writeFileSync(join(root, "app-data/b.ts"), "2"), "app-data/b.ts")).toEqual([
      "app-data/b.ts",
    ]);
  });

  test("watches a replaced folder once, and stops watching a folder that was moved out", async () => {
    const watches = () => process.getActiveResourcesInfo().filter((name) => name === "FSEventWrap").length;
    // Watchers that are being closed still count.
    await expect.poll(watches).toBe(0);
    const { root, reported } = watching({ "app/a.ts": "1", "views/deep/x.edge": "1" });
    const folders = ["", "app", "views", "views/deep"];
    for (let round = 0; round < 5; round++) {
      const replace = (): void => {
        rmSync(join(root, "app"), { recursive: true });
        mkdirSync(join(root, "app"));
        writeFileSync(join(root, "app/b.ts"), String(round));
      };
      expect(await reported(replace, "app/b.ts")).toContain("app/b.ts");
    }
    await expect.poll(watches).toBe(folders.length);
    const outside = join(folderWith({}), "views");
    expect(await reported(() => renameSync(join(root, "views"), outside), "views")).toEqual(["views"]);
    expect(await reported(() => writeFileSync(join(outside, "deep/x.edge"), "2"))).toEqual([]);
  });

  test("reports nothing after it is closed", async () => {
    const root = folderWith({ "a.ts": "1" });
    const paths: string[] = [];
    const closed = new FolderWatcher(root, (path) => void paths.push(path));
    closed.close();
    let reported = Promise.withResolvers<void>();
    const open = new FolderWatcher(root, () => reported.resolve());
    onTestFinished(() => open.close());
    // A watcher that was created later isn't notified earlier. If this one was notified, the closed one would have been
    // too.
    for (const text of ["2", "3"]) {
      writeFileSync(join(root, "a.ts"), text);
      await reported.promise;
      reported = Promise.withResolvers();
    }
    expect(paths).toEqual([]);
  });

  test("does not report files that the application writes, or other packages", async () => {
    const { root, reported } = watching({ "database/app.sqlite": "", "node_modules/x/index.js": "", ".git/HEAD": "" });
    const write = (): void => {
      for (const path of ["database/app.sqlite", "database/app.sqlite-wal", "server.log", "app.ts~"]) {
        writeFileSync(join(root, path), "x");
      }
      writeFileSync(join(root, "node_modules/x/index.js"), "x");
      writeFileSync(join(root, ".git/HEAD"), "x");
      mkdirSync(join(root, "coverage"));
      writeFileSync(join(root, "coverage/index.html"), "x");
    };
    expect(await reported(write)).toEqual([]);
  });

  test("does the same if the system watches whole trees", async () => {
    const { root, reported } = watching({ "app/a.ts": "1", "node_modules/x/index.js": "" }, true);
    expect(await reported(() => writeFileSync(join(root, "app/a.ts"), "2"), "app/a.ts")).toEqual(["app/a.ts"]);
    expect(await reported(() => writeFileSync(join(root, "node_modules/x/index.js"), "2"))).toEqual([]);
    expect(await reported(() => writeFileSync(join(root, "app/b.ts"), "2"), "app/b.ts")).toContain("app/b.ts");
    expect(await reported(() => utimesSync(join(root, "app"), 1, 1))).toEqual([]);
  });
});
