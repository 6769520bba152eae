// Follows a Dockerfile in folders of this machine: what an image would contain, and how it would be run.
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { basename, dirname, join, matchesGlob, relative } from "node:path";
import { expect } from "vitest";
import { execute } from "./generated-application.ts";

/** The result of following a Dockerfile without containers. */
export interface ImageFolder {
  /** The base image. */
  readonly base: string;
  /** The folder that stands for `/`. */
  readonly folder: string;
  /** The folder that the command runs in. */
  readonly workFolder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly user: string;
  readonly command: readonly string[];
  /** The command that tells whether the container is healthy. */
  readonly healthCheck: readonly string[];
}

/** The instructions of a Dockerfile, in order. */
function instructions(text: string): readonly (readonly [name: string, rest: string])[] {
  const lines = text
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n");
  return lines.flatMap((line) => {
    const [, name, rest] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    return name === undefined || rest === undefined ? [] : [[name, rest] as const];
  });
}

/**
 * Returns whether a build can copy a file or folder, according to `.dockerignore`. If there is one named after the
 * Dockerfile, Docker reads that instead.
 */
async function contextOf(root: string, dockerfile: string): Promise<(path: string) => boolean> {
  const own = `${dockerfile}.dockerignore`;
  const text = await readFile(join(root, existsSync(join(root, own)) ? own : ".dockerignore"), "utf8");
  const patterns = text.trim().split("\n");
  const isLeftOut = (path: string): boolean =>
    path !== "." && (patterns.some((pattern) => matchesGlob(path, pattern)) || isLeftOut(dirname(path)));
  return (file) => !isLeftOut(relative(root, file).replaceAll("\\", "/") || ".");
}

/**
 * Follows a Dockerfile, except for changes of ownership.
 *
 * @param root the build context
 * @param folder the folder to build the stages in
 * @param variables for its commands
 * @param dockerfile its path in the context
 */
export async function buildImage(
  root: string,
  folder: string,
  variables: Readonly<Record<string, string>>,
  dockerfile = "Dockerfile",
): Promise<ImageFolder> {
  const isInContext = await contextOf(root, dockerfile);
  const stages = new Map<string, string>();
  let [base, stage, work, user] = ["", "", "/", "root"];
  let environment: Record<string, string> = {};
  let command: string[] = [];
  let healthCheck: string[] = [];
  const place = (path: string): string => join(stage, path.startsWith("/") ? path : join(work, path));
  for (const [name, rest] of instructions(await readFile(join(root, dockerfile), "utf8"))) {
    if (name === "FROM") {
      const [image = "", , alias = "last"] = rest.split(" ");
      stage = await mkdtemp(join(folder, "stage-"));
      await chmod(stage, 0o755);
      stages.set(alias, stage);
      [base, work, user, environment] = [image, "/", "root", {}];
    } else if (name === "WORKDIR") {
      work = rest;
      await mkdir(place(rest), { recursive: true });
    } else if (name === "COPY") {
      const words = rest.split(" ");
      const from = words[0]?.startsWith("--from=") ? stages.get(words.shift()!.slice("--from=".length))! : root;
      const last = words.pop()!;
      for (const source of words) {
        const path = join(from, source);
        // COPY copies a folder's content, not the folder itself.
        const isInto = !(await stat(path)).isDirectory() && /(?:^\.|\/)$/.test(last);
        await cp(path, isInto ? join(place(last), basename(source)) : place(last), {
          ...{ recursive: true, verbatimSymlinks: true },
          filter: (file) => from !== root || isInContext(file),
        });
      }
    } else if (name === "RUN") {
      // A secret exists for one command only, and in no layer.
      const [mount = "", target] = /^--mount=type=secret,id=npmrc,target=(\S+?),required /.exec(rest) ?? [];
      if (mount !== "") await cp(join(root, ".npmrc"), place(target!));
      const line = rest
        .slice(mount.length)
        .replaceAll(/ && chown \S+ \S+/g, "")
        .replace(/(?<=mkdir )(?=\/)/, stage);
      const { code, output } = await execute(place("."), "sh", ["-c", line], variables);
      if (mount !== "") await rm(place(target!));
      expect(code, output).toBe(0);
    } else if (name === "ENV") {
      Object.assign(environment, Object.fromEntries(rest.split(" ").map((pair) => pair.split("="))));
    } else if (name === "USER") user = rest;
    else if (name === "CMD") command = JSON.parse(rest) as string[];
    else if (name === "HEALTHCHECK") healthCheck = JSON.parse(rest.slice(rest.indexOf("["))) as string[];
  }
  return { base, folder: stage, workFolder: place("."), environment, user, command, healthCheck };
}
