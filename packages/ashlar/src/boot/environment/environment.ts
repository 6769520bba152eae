import { AsyncLocalStorage } from "node:async_hooks";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { currentApplication, runningApplications } from "../../kernel/index.ts";
import { ConfigurationError, type EnvironmentVariables, readEnvFile } from "../../support/index.ts";

/** The variables for the configuration that is being loaded. Only its files see them. */
const loading = new AsyncLocalStorage<EnvironmentVariables>();
/** The variables of the configuration that was loaded last, for commands that don't create an application. */
let latest: EnvironmentVariables | null = null;

/**
 * Returns the environment of an application: `.env`, overridden by the process's variables, overridden by `given`.
 *
 * `process.env` itself isn't changed.
 *
 * @param root the folder with the `.env`; `null` if the application has no folder
 * @param given overrides the process's variables, for tests; its `APP_ENV` also sets `NODE_ENV`
 * @throws `E_INVALID_CONFIGURATION` if there is a `.env` that can't be read
 */
export function readEnvironment(root: string | null, given: EnvironmentVariables = {}): EnvironmentVariables {
  const written = root === null ? {} : parseEnv(readEnvFile(join(root, ".env")) ?? "");
  // An environment that code chooses overrides NODE_ENV.
  const named = given.APP_ENV ? { NODE_ENV: given.APP_ENV } : {};
  return Object.freeze(Object.assign(Object.create(null), written, process.env, named, given));
}

/** Runs a function in which `env()` reads these variables, such as one that loads configuration files. */
export function withEnvironment<T>(variables: EnvironmentVariables, task: () => T): T {
  latest = variables;
  return loading.run(variables, task);
}

/**
 * Returns an environment variable from the process, or else from the application's `.env`. Meant for configuration files.
 *
 * If there are several applications in the process, it reads the variables of the application whose configuration is being
 * loaded, that is booting, or whose request is being handled.
 *
 * An empty variable (`NAME=`) counts as not set. The fallback's type determines the result's type: a number or a
 * boolean (`true`, `false`, `1`, `0`) is parsed from the text.
 *
 * @param fallback returned if the variable isn't set; default: `undefined`
 * @throws `E_INVALID_CONFIGURATION` if the text can't be parsed as the fallback's type; or if it is called at any other time,
 *   and the process's applications have different values
 */
export function env(name: string): string | undefined;
export function env(name: string, fallback: string): string;
export function env(name: string, fallback: number): number;
export function env(name: string, fallback: boolean): boolean;
export function env(name: string, fallback?: string | number | boolean): string | number | boolean | undefined {
  const text = read(name);
  if (text === undefined || text === "") return fallback;
  if (typeof fallback === "number") return readNumber(name, text, fallback);
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
    "was read outside of a request, and the applications of this process have different values for it.",
    `Read it in a configuration file, in a provider or in a request: const value = env("${name}");`,
  );
}

function readNumber(name: string, text: string, example: number): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) {
    throw new ConfigurationError(`Environment variable ${name}`, "is not a number.", `Set it like ${name}=${example}.`);
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
