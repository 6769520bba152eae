import { existsSync, readdirSync } from "node:fs";
import { join, parse } from "node:path";
import { ConfigurationError, type EnvironmentVariables } from "../support/index.ts";
import { Configuration, type ConfigurationSection } from "./configuration.ts";
import { withEnvironment } from "./environment.ts";
import { findModule, importModule, MODULE_EXTENSIONS } from "./load-module.ts";

const EXPORTED_NAME = /^[A-Z][A-Z0-9_]*$/;

const loads = new Map<string, number>();
let queue: Promise<unknown> = Promise.resolve();

/**
 * Loads an application's configuration from its folder `config/`; `given` overrides it export by export.
 *
 * @param root the application's folder; `null` if it has none
 * @param environment what `env()` reads while the files run
 * @param given sections by name
 * @param only the name of the only file to load; default: all
 * @throws `E_INVALID_CONFIGURATION`
 */
export function loadConfiguration(
  root: string | null,
  environment: EnvironmentVariables,
  given: Readonly<Record<string, ConfigurationSection>> = {},
  only: string | null = null,
): Promise<Configuration> {
  const load = async () => {
    const sections = root === null ? {} : await readFolder(root, only);
    for (const [name, section] of Object.entries(given)) sections[name] = { ...sections[name], ...section };
    return new Configuration(sections);
  };
  // One application at a time: the files read the environment through a function that does not take an application.
  const loaded = queue.then(() => withEnvironment(environment, load));
  queue = loaded.catch(() => {});
  return loaded;
}

async function readFolder(root: string, only: string | null): Promise<Record<string, ConfigurationSection>> {
  const sections: Record<string, ConfigurationSection> = {};
  for (const name of sectionNames(root)) {
    if (only !== null && name !== only) continue;
    const file = findModule(root, `config/${name}`)!;
    sections[name] = exportsOf(await importModule(root, file, nextVersion(join(root, file))), file);
  }
  return sections;
}

function sectionNames(root: string): string[] {
  const entries = existsSync(join(root, "config")) ? readdirSync(join(root, "config"), { withFileTypes: true }) : [];
  const modules = entries.filter((entry) => {
    return (
      entry.isFile() && MODULE_EXTENSIONS.includes(parse(entry.name).ext) && !/\.(d|test)\.[jt]s$/.test(entry.name)
    );
  });
  return [...new Set(modules.map((entry) => parse(entry.name).name))].sort();
}

/** A second application in one process has its own environment: its configuration files run again. */
function nextVersion(path: string): string {
  const count = (loads.get(path) ?? 0) + 1;
  loads.set(path, count);
  return count === 1 ? "" : `?load=${count}`;
}

function exportsOf(module: Readonly<Record<string, unknown>>, file: string): ConfigurationSection {
  const named = Object.entries(module).filter(([name]) => EXPORTED_NAME.test(name));
  if (named.length > 0) return Object.fromEntries(named);
  throw new ConfigurationError(
    file,
    "exports nothing that could be configuration.",
    "Export a constant in capital letters, like: export const APP = { … };",
  );
}
