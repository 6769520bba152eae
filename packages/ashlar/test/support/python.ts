import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe } from "vitest";

/** A Python call's return value, or the name of the error that it raised. */
export interface PythonOutcome<T> {
  readonly value?: T;
  readonly error?: string;
}

/** A Python library's result for one token. */
export interface PythonTokenResult {
  readonly token?: PythonOutcome<string>;
  readonly verified?: PythonOutcome<object>;
  readonly forged?: PythonOutcome<object>;
  readonly bySet?: PythonOutcome<object>;
  readonly byUrl?: PythonOutcome<object>;
}

/** A Python that has a module; a version manager's may lack the system's modules. */
function pythonWith(module: string): string | null {
  const candidates = ["python3", "/usr/bin/python3"];
  return candidates.find((path) => spawnSync(path, ["-c", `import ${module}`]).status === 0) ?? null;
}

/**
 * Defines a suite that needs a module of Python, such as Debian's `python3-jwt`. If it is missing, the suite is listed
 * as skipped; with `CI` set, it fails.
 *
 * @param run passes a list of tokens to `python-tokens.py`
 */
export function withPython(
  module: "jwt" | "authlib",
  define: (run: (tokens: readonly object[]) => Promise<readonly PythonTokenResult[]>) => void,
): void {
  const python = pythonWith(module);
  const run = async (tokens: readonly object[]): Promise<readonly PythonTokenResult[]> => {
    if (python === null) throw new Error(`No python3 has the module "${module}". On Debian: python3-${module}.`);
    const child = spawn(python, [join(import.meta.dirname, "python-tokens.py"), module], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.stdin.end(JSON.stringify(tokens));
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    if (output === "") throw new Error(errors);
    return JSON.parse(output) as PythonTokenResult[];
  };
  if (python === null && !process.env.CI) describe.skip(`${module} (not installed)`, () => define(run));
  else describe(module, () => define(run));
}
