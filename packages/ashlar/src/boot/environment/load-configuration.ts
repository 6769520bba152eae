import { existsSync, readdirSync } from "node:fs";
import { join, parse } from "node:path";
import { ConfigurationError, type EnvironmentVariables, SetupProblems } from "../../support/index.ts";
import { Configuration, type ConfigurationSection } from "./configuration.ts";
import { withEnvironment } from "./environment.ts";
import { findModule, importModule, MODULE_EXTENSIONS } from "./load-module.ts";

const EXPORTED_NAME = /^[A-Z][A-Z0-9_]*$/;

const loads = new Map<string, number>();
let queue: Promise<unknown> = Promise.resolve();

/**
 * Loads an application's configuration from its folder `config/`. Each export in `given` overrides the file's.
 *
 * @param root the application's folder; `null` if it has none
 * @param environment the variables that `env()` reads while the files run
 * @param given sections by name
 * @param only the name of the only file to load; default: all files
 * @param collected collects the errors of files that can't be loaded; default: they are thrown
 * @throws `E_INVALID_CONFIGURATION`, with an error for each file that can't be loaded
 */
export function loadConfiguration(
  root: string | null,
  environment: EnvironmentVariables,
  given: Readonly<Record<string, ConfigurationSection>> = {},
  only: string | null = null,
  collected: SetupProblems | null = null,
): Promise<Configuration> {
  const load = async () => {
    const problems = collected ?? new SetupProblems();
    const { sections, failures } = root === null ? { sections: {} } : await readFolder(root, only, problems);
    if (collected === null) problems.end();
    for (const [name, section] of Object.entries(given)) sections[name] = { ...sections[name], ...section };
    return new Configuration(sections, failures);
  };
  // One application at a time, because the files read the environment with a function that doesn't take an application.
  const loaded = queue.then(() => withEnvironment(environment, load));
  queue = loaded.catch(() => {});
  return loaded;
}

interface Folder {
  readonly sections: Record<string, ConfigurationSection>;
  /** The errors of files that can't be loaded, by name. */
  readonly failures?: ReadonlyMap<string, unknown>;
}

async function readFolder(root: string, only: string | null, problems: SetupProblems): Promise<Folder> {
  const sections: Record<string, ConfigurationSection> = {};
  const failures = new Map<string, unknown>();
  for (const name of sectionNames(root)) {
    if (only !== null && name !== only) continue;
    try {
      const file = findModule(root, `config/${name}`)!;
      sections[name] = exportsOf(await importModule(root, file, nextVersion(join(root, file))), file);
    } catch (error) {
      problems.add(error);
      failures.set(name, error);
    }
  }
  return { sections, failures };
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

/** A second application in the process has its own environment, so its configuration files run again. */
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
