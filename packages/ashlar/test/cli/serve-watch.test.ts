import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { freeze, thaw } from "../support/frozen-process.ts";
import { COMMAND, edit, freePort, generatedApplication } from "../support/generated-application.ts";
import { type LongProcess, startProcess } from "../support/long-process.ts";
import { OLDEST_RUNTIME, RUNTIMES } from "../support/runtimes.ts";

const ROUTES = "export const ROUTES: RouteEntry[] = [";

interface Dev extends LongProcess {
  readonly root: string;
  readonly url: string;
  /** The application's response at a path after it has restarted because of this file. */
  again(file: string, path: string): Promise<string>;
  /** Makes several changes that the command sees at once, however busy the machine is. */
  atOnce(change: () => Promise<void> | void): Promise<void>;
}

const textAt = async (url: string): Promise<string> => (await fetch(url)).text();

/** `ashlar serve --watch` of an application whose routes return the contents of its files. */
async function dev(node = process.execPath): Promise<Dev> {
  const root = await generatedApplication({ pages: false, api: false });
  await mkdir(join(root, "lang"));
  await writeFile(join(root, "lang/en.json"), JSON.stringify({ word: "first" }));
  await writeFile(join(root, "app/word.ts"), 'export const WORD = "first";\n');
  await edit(root, "routes/web.ts", [
    ROUTES,
    `import { env } from "ashlar";
       import lang from "../lang/en.json" with { type: "json" };
       import { WORD } from "../app/word.ts";
       const SETTING = env("SHOP_SETTING", "none");
       ${ROUTES}
         Route.get("/word", () => WORD),
         Route.get("/lang", () => lang.word),
         Route.get("/setting", () => SETTING),`,
  ]);
  const PORT = String(await freePort());
  const child = startProcess(root, node, [COMMAND, "serve", "--watch"], { PORT });
  const url = (await child.printed(/ is listening on (http:\S+)/))[1]!;
  const again = async (file: string, path: string): Promise<string> => {
    const [, first] = await child.printed(/^Restarting: (\S+)(?: and \d+ more files?)? changed\.$/m);
    expect(first).toBe(file);
    await child.printed(/ is listening on /);
    return await textAt(url + path);
  };
  const atOnce = async (change: () => Promise<void> | void): Promise<void> => {
    const { pid } = child.child;
    freeze(pid!);
    await change();
    thaw(pid!);
  };
  return { ...child, root, url, again, atOnce };
}

const word = (value: string): string => `export const WORD = "${value}";\n`;

/** Every way to save `app/word.ts`. */
const SAVES: Readonly<Record<string, (root: string, value: string) => Promise<void> | void>> = {
  "in place": async (root, value) => await writeFile(join(root, "app/word.ts"), word(value)),
  "by renaming another over it": async (root, value) => {
    await writeFile(join(root, "app/word.ts.new"), word(value));
    await rename(join(root, "app/word.ts.new"), join(root, "app/word.ts"));
  },
  "by sed -i": (root, value) => {
    execFileSync("sed", ["-i", `s/".*"/"${value}"/`, join(root, "app/word.ts")]);
  },
  // Like vim: the old file becomes the backup, and the new one takes its name.
  "as a new file next to a backup": async (root, value) => {
    await writeFile(join(root, "app/4913"), "");
    await rm(join(root, "app/4913"));
    await rename(join(root, "app/word.ts"), join(root, "app/word.ts~"));
    await writeFile(join(root, "app/word.ts"), word(value));
    await rm(join(root, "app/word.ts~"));
  },
  "by deleting and creating it again": async (root, value) => {
    await rm(join(root, "app/word.ts"));
    await writeFile(join(root, "app/word.ts"), word(value));
  },
};

describe.each([...RUNTIMES, OLDEST_RUNTIME])("serve --watch on Node $version", ({ path }) => {
  // A file watcher must notice that its file was replaced by another one. Which system calls report that depends on the
  // runtime, not on the round.
  const rounds = path === process.execPath ? [1, 2] : [1];

  test("serves a saved file, however it is saved", async () => {
    const { root, again, atOnce } = await dev(path);
    for (const round of rounds) {
      for (const [way, save] of Object.entries(SAVES)) {
        const value = `${way} ${round}`;
        await atOnce(() => save(root, value));
        expect(await again("app/word.ts", "word")).toBe(value);
      }
    }
    await SAVES["in place"]!(root, "last of all");
    expect(await again("app/word.ts", "word")).toBe("last of all");
  });
});

describe("serve --watch", () => {
  test("notices .env, a language file and a view, saved in place and by rename", async () => {
    const { root, again } = await dev();
    const env = await readFile(join(root, ".env"), "utf8");
    for (const value of ["one", "two"]) {
      await writeFile(join(root, ".env.new.tmp"), `${env}SHOP_SETTING=${value} renamed\n`);
      await rename(join(root, ".env.new.tmp"), join(root, ".env"));
      expect(await again(".env", "setting")).toBe(`${value} renamed`);
    }
    await writeFile(join(root, ".env"), `${env}SHOP_SETTING=written\n`);
    expect(await again(".env", "setting")).toBe("written");
    for (const value of ["one", "two"]) {
      await writeFile(join(root, "lang/en.json"), JSON.stringify({ word: value }));
      expect(await again("lang/en.json", "lang")).toBe(value);
    }
    await writeFile(join(root, "views/welcome.edge"), "<p>new</p>");
    expect(await again("views/welcome.edge", "")).toBe("<p>new</p>");
  });

  test("notices new files and folders, and deleted ones", async () => {
    const { root, url, again, printed, atOnce } = await dev();
    await mkdir(join(root, "app/new"));
    await writeFile(join(root, "app/new/word.ts"), word("new"));
    expect(await again("app/new/word.ts", "word")).toBe("first");
    await edit(root, "routes/web.ts", ["../app/word.ts", "../app/new/word.ts"]);
    expect(await again("routes/web.ts", "word")).toBe("new");
    await writeFile(join(root, "app/new/word.ts"), word("newer"));
    expect(await again("app/new/word.ts", "word")).toBe("newer");
    await atOnce(() => rm(join(root, "app/new"), { recursive: true }));
    await printed(/^Restarting: app\/new/m);
    await printed(/^The application exited \(1\)\. It will restart when a file changes\.$/m);
    await expect(fetch(url)).rejects.toThrow();
    await mkdir(join(root, "app/new"));
    await writeFile(join(root, "app/new/word.ts"), word("back"));
    expect(await again("app/new/word.ts", "word")).toBe("back");
  });

  test("survives a syntax error, repeatedly", async () => {
    const { root, again, printed, output } = await dev();
    for (const round of [1, 2]) {
      await writeFile(join(root, "app/word.ts"), "export const WORD = ;\n");
      await printed(/^The application exited \(1\)/m);
      // The error is on the other stream, which may be read later than this one.
      const errors = () => output().match(/routes\/web\.ts: it could not be loaded/g);
      await expect.poll(errors).toHaveLength(round);
      await writeFile(join(root, "app/word.ts"), word(`mended ${round}`));
      expect(await again("app/word.ts", "word")).toBe(`mended ${round}`);
    }
  });

  test("treats a checkout of many files as one change", async () => {
    const { root, url, printed, output, atOnce } = await dev();
    const gitIn = (cwd: string, ...args: string[]): void => {
      const identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"];
      execFileSync("git", [...identity, ...args], { cwd, stdio: "ignore" });
    };
    const git = (...args: string[]): void => gitIn(root, ...args);
    git("init", "--initial-branch=main");
    git("add", ".");
    git("commit", "--message=first");
    // The other branch is created in a separate folder, so that nothing changes here before the checkout.
    const folder = await mkdtemp(join(tmpdir(), "ashlar-other-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const other = join(folder, "other");
    git("worktree", "add", "-b", "other", other);
    await mkdir(join(other, "app/many"));
    for (let index = 0; index < 60; index += 1) await writeFile(join(other, `app/many/n${index}.ts`), word(`${index}`));
    await writeFile(join(other, "app/word.ts"), word("other"));
    gitIn(other, "add", ".");
    gitIn(other, "commit", "--message=second");
    git("worktree", "remove", other);
    const before = output().length;
    for (const [branch, value] of [
      ["other", "other"],
      ["main", "first"],
      ["other", "other"],
    ] as const) {
      await atOnce(() => git("checkout", branch));
      await printed(/^Restarting: .* and \d+ more files changed\.$/m);
      await printed(/ is listening on /);
      expect(await textAt(`${url}word`)).toBe(value);
    }
    expect(
      output()
        .slice(before)
        .match(/^Restarting: /gm),
    ).toHaveLength(3);
  });

  test("doesn't restart for files that the application itself writes", async () => {
    const { root, again, output } = await dev();
    for (const path of ["database/app.sqlite", "server.log", "public/app.js", "tests/new.test.ts", "app/upload.pdf"]) {
      await writeFile(join(root, path), "x");
    }
    await writeFile(join(root, "app/word.ts"), word("second"));
    expect(await again("app/word.ts", "word")).toBe("second");
    expect(output().match(/^Restarting: .*$/gm)).toEqual(["Restarting: app/word.ts changed."]);
  });

  test("finishes running requests before it restarts", async () => {
    const { root, url, again, printed } = await dev();
    await edit(root, "routes/web.ts", [
      'Route.get("/word"',
      `Route.get("/slow", async () => {
         console.log("slow has begun");
         const { promise, resolve } = Promise.withResolvers<void>();
         const { watch } = await import("node:fs");
         const watcher = watch(${JSON.stringify(root)}, (_, name) => name === "go.txt" && resolve());
         await promise;
         watcher.close();
         return "slow and old";
       }),
       Route.get("/word"`,
    ]);
    await again("routes/web.ts", "word");
    const slow = textAt(`${url}slow`);
    await printed(/slow has begun/);
    await writeFile(join(root, "app/word.ts"), word("second"));
    await printed(/^Restarting: app\/word\.ts changed\.$/m);
    await writeFile(join(root, "go.txt"), "");
    expect(await slow).toBe("slow and old");
    await printed(/ is listening on /);
    expect(await textAt(`${url}word`)).toBe("second");
  });
});

describe("the end of serve --watch", () => {
  test.each(["SIGTERM", "SIGINT"] as const)("%s to the command only ends both, with code 0", async (signal) => {
    const { child, ended, url } = await dev();
    child.kill(signal);
    expect(await ended).toEqual({ code: 0, signal: null });
    await expect(fetch(url)).rejects.toThrow();
  });

  test("Ctrl+C, which npm repeats, ends both, with code 0", async () => {
    const { child, ended, url, signalGroup, output } = await dev();
    signalGroup("SIGINT");
    child.kill("SIGINT");
    expect(await ended).toEqual({ code: 0, signal: null });
    expect(output()).not.toContain("exited");
    await expect(fetch(url)).rejects.toThrow();
  });

  test("a signal ends it even while the application isn't running", async () => {
    const { root, child, ended, printed } = await dev();
    await writeFile(join(root, "app/word.ts"), "export const WORD = ;\n");
    await printed(/^The application exited/m);
    child.kill("SIGTERM");
    expect(await ended).toEqual({ code: 0, signal: null });
  });

  test("the application ends too if the command is killed", async () => {
    const { child, ended, url } = await dev();
    child.kill("SIGKILL");
    // The application shares the streams, so they end when it does.
    await ended;
    await expect(fetch(url)).rejects.toThrow();
  });
});
