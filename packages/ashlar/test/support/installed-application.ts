import { existsSync } from "node:fs";
import { cp, mkdir, readdir, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createProject, type ProjectOptions } from "../../src/scaffold/index.ts";
import { execute } from "./generated-application.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const PACKAGE = join(import.meta.dirname, "..", "..");
const MODULES = join(PACKAGE, "../../node_modules");

/** The compilers that applications are checked with. */
export const COMPILERS = {
  "TypeScript 5.9": "typescript-5",
  "TypeScript 6": "typescript-6",
  "TypeScript 7": "typescript",
};

/**
 * Creates an application with a copy of the built package in its `node_modules`, next to its dependencies, as npm
 * installs it. It has no access to the framework's source.
 *
 * @returns its folder
 */
export async function installedApplication(options: Partial<ProjectOptions> = {}): Promise<string> {
  const folder = join(await temporaryFolder(), "shop");
  const { root } = await createProject({ folder, pages: true, api: true, database: "sqlite", ...options });
  const modules = join(root, "node_modules");
  await mkdir(join(modules, "ashlar"), { recursive: true });
  for (const part of ["bin", "data", "dist", "stubs", "package.json"]) {
    await cp(join(PACKAGE, part), join(modules, "ashlar", part), { recursive: true });
  }
  for (const name of await readdir(MODULES)) {
    if (!name.startsWith(".") && !["ashlar", "create-ashlar"].includes(name)) {
      await symlink(join(MODULES, name), join(modules, name), "junction");
    }
  }
  // Packages that npm couldn't put next to the others, because there is another version.
  const own = join(PACKAGE, "node_modules");
  if (existsSync(own)) await symlink(own, join(modules, "ashlar/node_modules"), "junction");
  return root;
}

/**
 * Checks an application's types several times, each time with different additional files. The programs share their
 * parsed files, which is most of the work.
 *
 * @param compiler one of the compilers written in JavaScript
 * @param cases the additional files of each case, by its name
 * @param project the compiler's configuration file
 * @returns the problems, by the name of the case; empty if there aren't any
 */
export function compileEach(
  root: string,
  compiler: "TypeScript 5.9" | "TypeScript 6",
  cases: Readonly<Record<string, readonly string[]>>,
  project = "tsconfig.json",
): Record<string, string> {
  const ts = createRequire(import.meta.url)(join(MODULES, COMPILERS[compiler])) as typeof import("typescript-5");
  const read = ts.readConfigFile(join(root, project), ts.sys.readFile);
  const { options, fileNames, errors } = ts.parseJsonConfigFileContent(read.config, ts.sys, root);
  const host = ts.createCompilerHost(options);
  const parsed = new Map<string, ReturnType<typeof host.getSourceFile>>();
  const { getSourceFile } = host;
  host.getSourceFile = (name, ...rest) => {
    if (!parsed.has(name)) parsed.set(name, getSourceFile(name, ...rest));
    return parsed.get(name);
  };
  const every = new Set(Object.values(cases).flatMap((files) => files.map((file) => join(root, file))));
  const own = fileNames.filter((name) => !every.has(name));
  const found: Record<string, string> = {};
  for (const [name, files] of Object.entries(cases)) {
    const program = ts.createProgram([...own, ...files.map((file) => join(root, file))], options, host);
    const problems = [...errors, ...ts.getPreEmitDiagnostics(program)];
    if (problems.length > 0) found[name] = ts.formatDiagnostics(problems, { ...host, getCurrentDirectory: () => root });
  }
  return found;
}

/**
 * Checks the types in a folder with one of the {@link COMPILERS}, and returns its output; empty if there are no
 * problems.
 */
export async function compile(
  root: string,
  compiler: keyof typeof COMPILERS,
  ...args: readonly string[]
): Promise<string> {
  const tsc = join(MODULES, COMPILERS[compiler], "bin/tsc");
  const { code, output } = await execute(root, process.execPath, [tsc, ...args, "--pretty", "false"]);
  return code === 0 && output === "" ? "" : output || `exit ${code}`;
}
