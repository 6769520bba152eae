import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { FolderWatcher } from "./folder-watcher.ts";

interface Watched {
  readonly root: string;
  /** Makes a change, and gives the files that are told of until, and without, `path`, which is told of in any case. */
  told(change: () => void, path?: string): Promise<string[]>;
}

/** Watches a folder. Each change is followed by one to a file of its own: what was told before is all there is. */
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
    told: async (change, path) => {
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
  test("tells of a file each time it is saved, in whatever way", async () => {
    const { root, told } = watching({ "app/a.ts": "1" });
    const file = join(root, "app/a.ts");
    for (let round = 0; round < 3; round += 1) {
      expect(await told(() => writeFileSync(file, `in place ${round}`), "app/a.ts")).toEqual(["app/a.ts"]);
      const rename = (): void => {
        writeFileSync(join(root, "app/.a.ts.tmp"), `renamed ${round}`);
        renameSync(join(root, "app/.a.ts.tmp"), file);
      };
      expect(await told(rename, "app/a.ts")).toEqual(["app/a.ts"]);
      expect(await told(() => rmSync(file), "app/a.ts")).toEqual(["app/a.ts"]);
      expect(await told(() => writeFileSync(file, `again ${round}`), "app/a.ts")).toEqual(["app/a.ts"]);
    }
  });

  test("tells of the files in a new folder, and of later ones there", async () => {
    const { root, told } = watching({});
    const nested = join(root, "app/new/deep");
    const make = (): void => {
      mkdirSync(nested, { recursive: true });
      writeFileSync(join(nested, "a.ts"), "1");
    };
    expect(await told(make, "app/new/deep/a.ts")).toEqual(["app/new/deep/a.ts"]);
    expect(await told(() => writeFileSync(join(nested, "b.ts"), "1"), "app/new/deep/b.ts")).toEqual([
      "app/new/deep/b.ts",
    ]);
  });

  test("tells of nothing but the application's own files in a folder that is moved there", async () => {
    const { root, told } = watching({});
    const files = ["a.ts", "notes.txt", ".hidden.ts", "node_modules/x/index.js", ".git/index.js", "deep/b.ts"];
    const other = folderWith(Object.fromEntries(files.map((file) => [`app/${file}`, "1"])));
    const move = (): void => renameSync(join(other, "app"), join(root, "app"));
    expect(await told(move, "app/deep/b.ts")).toEqual(["app/a.ts", "app/deep/b.ts"]);
    expect(await told(() => writeFileSync(join(root, "app/node_modules/x/index.js"), "2"))).toEqual([]);
  });

  test("goes on with a folder that was replaced, and with one that was moved", async () => {
    const { root, told } = watching({ "app/a.ts": "1", "views/x.edge": "1" });
    const replace = (): void => {
      rmSync(join(root, "app"), { recursive: true });
      mkdirSync(join(root, "app"));
      writeFileSync(join(root, "app/b.ts"), "2");
    };
    expect(await told(replace, "app/b.ts")).toContain("app/b.ts");
    expect(await told(() => writeFileSync(join(root, "app/b.ts"), "3"), "app/b.ts")).toEqual(["app/b.ts"]);
    const moved = await told(() => renameSync(join(root, "views"), join(root, "pages")), "pages/x.edge");
    expect(moved).toEqual(["pages/x.edge", "views"]);
    expect(await told(() => writeFileSync(join(root, "pages/x.edge"), "3"), "pages/x.edge")).toEqual(["pages/x.edge"]);
  });

  test("goes on with a folder whose name begins like that of one that is gone", async () => {
    const { root, told } = watching({ "app/a.ts": "1", "app-data/b.ts": "1" });
    await told(() => rmSync(join(root, "app"), { recursive: true }), "app");
    expect(await told(() => writeFileSync(join(root, "app-data/b.ts"), "2"), "app-data/b.ts")).toEqual([
      "app-data/b.ts",
    ]);
  });

  test("says nothing any more once it is closed", async () => {
    const root = folderWith({ "a.ts": "1" });
    const paths: string[] = [];
    const closed = new FolderWatcher(root, (path) => void paths.push(path));
    closed.close();
    let told = Promise.withResolvers<void>();
    const open = new FolderWatcher(root, () => told.resolve());
    onTestFinished(() => open.close());
    // A watcher that is made later is not told earlier: what it has heard of, the other would have.
    for (const text of ["2", "3"]) {
      writeFileSync(join(root, "a.ts"), text);
      await told.promise;
      told = Promise.withResolvers();
    }
    expect(paths).toEqual([]);
  });

  test("says nothing of what the application writes, and of other people's packages", async () => {
    const { root, told } = watching({ "database/app.sqlite": "", "node_modules/x/index.js": "", ".git/HEAD": "" });
    const write = (): void => {
      for (const path of ["database/app.sqlite", "database/app.sqlite-wal", "server.log", "app.ts~"]) {
        writeFileSync(join(root, path), "x");
      }
      writeFileSync(join(root, "node_modules/x/index.js"), "x");
      writeFileSync(join(root, ".git/HEAD"), "x");
      mkdirSync(join(root, "coverage"));
      writeFileSync(join(root, "coverage/index.html"), "x");
    };
    expect(await told(write)).toEqual([]);
  });

  test("does the same where the system watches trees", async () => {
    const { root, told } = watching({ "app/a.ts": "1", "node_modules/x/index.js": "" }, true);
    expect(await told(() => writeFileSync(join(root, "app/a.ts"), "2"), "app/a.ts")).toEqual(["app/a.ts"]);
    expect(await told(() => writeFileSync(join(root, "node_modules/x/index.js"), "2"))).toEqual([]);
    expect(await told(() => writeFileSync(join(root, "app/b.ts"), "2"), "app/b.ts")).toContain("app/b.ts");
  });
});
