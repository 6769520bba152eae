import { AsyncLocalStorage } from "node:async_hooks";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { currentApplication, runningApplications } from "../kernel/index.ts";
import { ConfigurationError, type EnvironmentVariables, readEnvFile } from "../support/index.ts";

/** Those of the configuration that is being loaded, for its files alone. */
const loading = new AsyncLocalStorage<EnvironmentVariables>();
/** Those of the configuration loaded last: of a command that reads one without making an application. */
let latest: EnvironmentVariables | null = null;

/**
 * The environment of an application: its `.env`, over which the process's own variables win, over which `given` wins.
 *
 * The process's environment itself is left as it is.
 *
 * @param root the folder with the `.env`; `null` where the application has none
 * @param given what wins over the machine's own, for tests; its `APP_ENV` is also the `NODE_ENV`
 * @throws `E_INVALID_CONFIGURATION` if there is a `.env` that cannot be read
 */
export function readEnvironment(root: string | null, given: EnvironmentVariables = {}): EnvironmentVariables {
  const written = root === null ? {} : parseEnv(readEnvFile(join(root, ".env")) ?? "");
  // Code that names the environment has the last word: what NODE_ENV happens to be says nothing then.
  const named = given.APP_ENV ? { NODE_ENV: given.APP_ENV } : {};
  return Object.freeze(Object.assign(Object.create(null), written, process.env, named, given));
}

/** Runs a function, such as one that loads configuration files, in which `env()` reads these variables. */
export function withEnvironment<T>(variables: EnvironmentVariables, task: () => T): T {
  latest = variables;
  return loading.run(variables, task);
}

/**
 * Reads an environment variable, in a configuration file above all: from the process, else from the application's `.env`.
 *
 * With several applications in one process, it reads that of the application whose configuration is loaded, which
 * boots, or whose request is answered.
 *
 * A variable that is set to nothing (`NAME=`) counts as not set. The type of the default decides what is answered: a
 * number or a boolean (`true`, `false`, `1`, `0`) is read from the text.
 *
 * @param fallback what is answered where the variable is not set
 * @throws `E_INVALID_CONFIGURATION` if the text is not of the default's type, and outside of all of that if the
 * applications of the process have different values
 */
export function env(name: string): string | undefined;
export function env(name: string, fallback: string): string;
export function env(name: string, fallback: number): number;
export function env(name: string, fallback: boolean): boolean;
export function env(name: string, fallback?: string | number | boolean): string | number | boolean | undefined {
  const text = read(name);
  if (text === undefined || text === "") return fallback;
  if (typeof fallback === "number") return readNumber(name, text);
  if (typeof fallback === "boolean") return readBoolean(name, text);
  return text;
}

function read(name: string): string | undefined {
  const variables = loading.getStore() ?? currentApplication()?.variables;
  if (variables !== undefined) return variables[name];
  const [first, ...others] = runningApplications();
  if (first === undefined) return (latest ?? process.env)[name];
  const text = first.variables[name];
  if (others.every((other) => other.variables[name] === text)) return text;
  throw new ConfigurationError(
    `Environment variable ${name}`,
    "was read outside of a request, and the applications of this process have different values of it.",
    `Read it in a configuration file, in a provider or in a request: const value = env("${name}");`,
  );
}

function readNumber(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) {
    throw new ConfigurationError(`Environment variable ${name}`, "is not a number.", `Set it like ${name}=60.`);
  }
  return value;
}

function readBoolean(name: string, text: string): boolean {
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw new ConfigurationError(
    `Environment variable ${name}`,
    "is neither true nor false.",
    `Set it to ${name}=true or ${name}=false.`,
  );
}
