import { join } from "node:path";
import { parseEnv } from "node:util";
import { ConfigurationError, readEnvFile } from "../support/index.ts";

/** Environment variables by name. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

let current: EnvironmentVariables | null = null;

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

/**
 * Makes these the variables that `env()` reads. The configuration files of one application are loaded at a time, and
 * this stands right before it.
 */
export function useEnvironment(variables: EnvironmentVariables): void {
  current = variables;
}

/**
 * Reads an environment variable in a configuration file: from the process, else from the application's `.env`.
 *
 * A variable that is set to nothing (`NAME=`) counts as not set. The type of the default decides what is answered: a
 * number or a boolean (`true`, `false`, `1`, `0`) is read from the text.
 *
 * @param fallback what is answered where the variable is not set
 * @throws `E_INVALID_CONFIGURATION` where the text is not of the default's type
 */
export function env(name: string): string | undefined;
export function env(name: string, fallback: string): string;
export function env(name: string, fallback: number): number;
export function env(name: string, fallback: boolean): boolean;
export function env(name: string, fallback?: string | number | boolean): string | number | boolean | undefined {
  const text = (current ?? process.env)[name];
  if (text === undefined || text === "") return fallback;
  if (typeof fallback === "number") return readNumber(name, text);
  if (typeof fallback === "boolean") return readBoolean(name, text);
  return text;
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
