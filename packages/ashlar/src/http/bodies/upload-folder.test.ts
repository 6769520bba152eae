import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { connect } from "node:net";
import { basename, dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { guessedUuid } from "../../../test/support/guessed-uuid.ts";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { UploadFolder } from "./upload-folder.ts";

const MODULE = join(import.meta.dirname, "upload-folder.ts");

async function open(parent: string): Promise<{ readonly folder: UploadFolder; readonly path: string }> {
  const folder = new UploadFolder(parent);
  const { path, handle } = await folder.create();
  await handle.close();
  onTestFinished(() => folder.close());
  return { folder, path };
}

/** Starts another process that creates its own file in the folder. */
async function other(parent: string): Promise<{ readonly child: ChildProcess; readonly path: string }> {
  const program = `
    import { UploadFolder } from ${JSON.stringify(MODULE)};
    const { path } = await new UploadFolder(${JSON.stringify(parent)}).create();
    process.send(path);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module-typescript", "--eval", program], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [path] = await once(child, "message");
  return { child, path: path as string };
}

test("S197 a file for an upload has a random name in a folder that only this user can open", async () => {
  const parent = await temporaryFolder();
  const { path } = await open(parent);
  expect(basename(path)).toMatch(/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
  expect(dirname(dirname(path))).toBe(parent);
});

test("S197 a killed process's files are removed by the next one, and none of a running or stopped process", async () => {
  const parent = await temporaryFolder();
  const [killed, stopped, living] = [await other(parent), await other(parent), await other(parent)];
  stopped.child.kill("SIGSTOP");
  killed.child.kill("SIGKILL");
  await once(killed.child, "exit");
  expect(existsSync(killed.path)).toBe(true);
  const { path } = await open(parent);
  expect([killed, stopped, living].map((one) => existsSync(one.path))).toEqual([false, true, true]);
  expect((await readdir(parent)).length).toBe(3);
  expect(existsSync(path)).toBe(true);
});

test("two applications of one process, and one that was closed, have their own folders", async () => {
  const parent = await temporaryFolder();
  const [one, two] = [await open(parent), await open(parent)];
  await one.folder.close();
  expect([existsSync(one.path), existsSync(two.path)]).toEqual([false, true]);
  const { path, handle } = await one.folder.create();
  await handle.close();
  expect(existsSync(path)).toBe(true);
});

test("a folder that was cleaned up is created again", async () => {
  const { folder, path } = await open(await temporaryFolder());
  await new UploadFolder(dirname(dirname(path))).removeLeftovers();
  await rm(dirname(path), { recursive: true });
  const again = await folder.create();
  await again.handle.close();
  expect(existsSync(again.path)).toBe(true);
});

test("S197 files of other machines, and from before a restart, are removed once they are a day old; other programs' files never are", async () => {
  const parent = await temporaryFolder();
  const make = async (name: string, hours: number) => {
    const path = join(parent, name);
    await mkdir(path);
    await writeFile(join(path, "owner"), "1");
    const then = new Date(Date.now() - hours * 3_600_000);
    await utimes(path, then, then);
  };
  await make("ashlar-uploads-00000000-fresh", 23);
  await make("ashlar-uploads-00000000-older", 25);
  await make("something-else", 25);
  await writeFile(join(parent, "ashlar-uploads-00000000-file"), "");
  await new UploadFolder(parent).removeLeftovers();
  expect((await readdir(parent)).sort()).toEqual([
    "ashlar-uploads-00000000-file",
    "ashlar-uploads-00000000-fresh",
    "something-else",
  ]);
});

test("S197 a folder whose path is too long for a socket has one anyway", async () => {
  const parent = join(await temporaryFolder(), "x".repeat(100));
  await mkdir(parent);
  const { path } = await open(parent);
  const [killed, living] = [await other(parent), await other(parent)];
  for (const one of [path, killed.path, living.path]) {
    expect((await lstat(join(dirname(one), "owner"))).isSocket()).toBe(true);
  }
  killed.child.kill("SIGKILL");
  await once(killed.child, "exit");
  await new UploadFolder(parent).removeLeftovers();
  expect([path, killed.path, living.path].map((one) => existsSync(one))).toEqual([true, false, true]);
});

/** A folder of this machine, named as {@link open} does, with its owner's entries. */
async function folderOf(parent: string, owner: string | null, ageMs = 0): Promise<string> {
  const { folder, path } = await open(parent);
  const made = `${dirname(path)}${randomUUID()}`;
  await folder.close();
  await mkdir(made);
  if (owner !== null) await writeFile(join(made, "owner"), owner);
  const then = new Date(Date.now() - ageMs);
  await utimes(made, then, then);
  return made;
}

test("S197 a process id counts only in its own namespace: one from another container removes nothing for a day", async () => {
  const parent = await temporaryFolder();
  const ids = await readlink("/proc/self/ns/pid");
  const ended = spawn(process.execPath, ["--version"], { stdio: "ignore" });
  await once(ended, "exit");
  const [gone, own] = [`${ended.pid}`, `${process.pid}`];
  const [day, minute] = [86_400_000, 60_000];
  const folders = {
    gone: await folderOf(parent, `${gone} ${ids}`),
    living: await folderOf(parent, `${own} ${ids}`),
    elsewhere: await folderOf(parent, `${gone} pid:[1]`),
    "of an older version": await folderOf(parent, gone),
    "elsewhere, a day old": await folderOf(parent, `${own} pid:[1]`, day + minute),
    "an id that another process has got": await folderOf(parent, `${own} ${ids}`, day + minute),
  };
  await new UploadFolder(parent).removeLeftovers();
  expect(Object.entries(folders).flatMap(([name, path]) => (existsSync(path) ? [name] : []))).toEqual([
    "living",
    "elsewhere",
    "of an older version",
  ]);
});

test("S197 a folder that a process is just creating stays for a minute", async () => {
  const parent = await temporaryFolder();
  const [fresh, older] = [await folderOf(parent, null, 50_000), await folderOf(parent, null, 70_000)];
  await new UploadFolder(parent).removeLeftovers();
  expect([existsSync(fresh), existsSync(older)]).toEqual([true, false]);
});

test("S197 a socket whose queue is full counts as a running process's", async () => {
  const parent = await temporaryFolder();
  const path = join(await folderOf(parent, null), "owner");
  const program = `
    require("node:net").createServer().listen({ path: process.argv[1], backlog: 1 }, () => {
      process.send("listening", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
    });`;
  const child = spawn(process.execPath, ["--eval", program, path], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child, "message");
  const refusals: unknown[] = [];
  for (let count = 0; count < 4; count++) {
    const socket = connect(path);
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect").catch(({ code }) => refusals.push(code));
  }
  expect(refusals.at(-1)).toBe("EAGAIN");
  await new UploadFolder(parent).removeLeftovers();
  expect(existsSync(path)).toBe(true);
});

test.runIf(process.getuid!() === 0)("S197 a folder of another user stays, however old it is", async () => {
  const parent = await temporaryFolder();
  const [own, others] = [await folderOf(parent, null, 70_000), await folderOf(parent, null, 70_000)];
  await chown(others, 65_534, 65_534);
  await new UploadFolder(parent).removeLeftovers();
  expect([existsSync(own), existsSync(others)]).toEqual([false, true]);
});

test("S197 an existing file is never reused", async () => {
  const { folder, path } = await open(await temporaryFolder());
  const victim = join(dirname(dirname(path)), "victim");
  await writeFile(victim, "mine");
  const name = guessedUuid();
  await symlink(victim, join(dirname(path), name));
  await expect(folder.create()).rejects.toMatchObject({ code: "EEXIST" });
  expect(await readFile(victim, "utf8")).toBe("mine");
});

test("a folder that can't be used fails each time, and works once it is usable", async () => {
  const parent = join(await temporaryFolder(), "missing");
  const folder = new UploadFolder(parent);
  onTestFinished(() => folder.close());
  for (let time = 0; time < 2; time++) await expect(folder.create()).rejects.toMatchObject({ code: "ENOENT" });
  await mkdir(parent);
  await chmod(parent, 0o700);
  const { handle } = await folder.create();
  await handle.close();
});
