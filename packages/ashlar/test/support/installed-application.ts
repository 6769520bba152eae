import { existsSync } from "node:fs";
import { cp, mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { createProject, type ProjectOptions } from "../../src/scaffold/index.ts";
import { execute } from "./generated-application.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const PACKAGE = join(import.meta.dirname, "..", "..");
const MODULES = join(PACKAGE, "../../node_modules");

/** The compilers that an application may be checked with. */
export const COMPILERS = {
  "TypeScript 5.9": "typescript-5",
  "TypeScript 6": "typescript-6",
  "TypeScript 7": "typescript",
};

/**
 * Makes an application with the built package in its `node_modules` as npm installs it: a copy, next to what it
 * depends on, and nothing of the framework's source in reach.
 *
 * @returns its folder
 */
export async function installedApplication(options: Partial<ProjectOptions> = {}): Promise<string> {
  const folder = join(await temporaryFolder(), "shop");
  const { root } = await createProject({ folder, pages: true, api: true, database: "sqlite", ...options });
  const modules = join(root, "node_modules");
  await mkdir(join(modules, "ashlar"), { recursive: true });
  for (const part of ["bin", "dist", "stubs", "views", "package.json"]) {
    await cp(join(PACKAGE, part), join(modules, "ashlar", part), { recursive: true });
  }
  for (const name of await readdir(MODULES)) {
    if (!name.startsWith(".") && !["ashlar", "create-ashlar"].includes(name)) {
      await symlink(join(MODULES, name), join(modules, name), "junction");
    }
  }
  // What npm could not put next to the others, because another version is there.
  const own = join(PACKAGE, "node_modules");
  if (existsSync(own)) await symlink(own, join(modules, "ashlar/node_modules"), "junction");
  return root;
}

/** Checks the types of a folder with one of the {@link COMPILERS}, and gives what that says; nothing where all is well. */
export async function compile(
  root: string,
  compiler: keyof typeof COMPILERS,
  ...args: readonly string[]
): Promise<string> {
  const tsc = join(MODULES, COMPILERS[compiler], "bin/tsc");
  const { code, output } = await execute(root, process.execPath, [tsc, "--pretty", "false", ...args]);
  return code === 0 && output === "" ? "" : output || `exit ${code}`;
}
