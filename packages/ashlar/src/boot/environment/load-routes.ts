import type { Container } from "../../kernel/index.ts";
import type { RouteEntry, RouteSource } from "../../routing/index.ts";
import { ConfigurationError, SetupProblems } from "../../support/index.ts";
import { findModule, importModule } from "./load-module.ts";

/**
 * Imports the routes files that the kernel has bound: `routes.location` for pages, `routes.api.location` for the API.
 *
 * @param root the application's folder; `null` if it has none
 * @throws `E_INVALID_CONFIGURATION` if a file is missing or doesn't export `ROUTES`
 */
export async function loadRoutes(root: string | null, container: Container): Promise<RouteSource[]> {
  const sources: RouteSource[] = [];
  const problems = new SetupProblems();
  if (container.has("routes.location")) {
    await problems.run(async () => {
      const file = locate(root, "routes.location", container.make("routes.location"));
      sources.push({ ...(await readRoutes(file)), stack: "web", prefix: "", respondsWithJson: false });
    });
  }
  if (container.has("routes.api.location")) {
    await problems.run(async () => {
      const file = locate(root, "routes.api.location", container.make("routes.api.location"));
      const prefix = container.has("routes.api.prefix") ? container.make("routes.api.prefix") : "";
      sources.push({ ...(await readRoutes(file)), stack: "api", prefix, respondsWithJson: true });
    });
  }
  problems.end();
  return sources;
}

interface RoutesFile {
  readonly root: string;
  readonly name: string;
}

function locate(root: string | null, key: string, location: string): RoutesFile {
  if (root === null) {
    throw new ConfigurationError(
      `The container key ${key}`,
      `names the file "${location}", but the application has no folder.`,
      "Call createApplication({ root: import.meta.dirname, … }).",
    );
  }
  const name = findModule(root, location);
  if (name !== null) return { root, name };
  throw new ConfigurationError(
    `${location}.ts`,
    `does not exist, but the container key ${key} names it.`,
    "Add the file with: export const ROUTES = [];",
  );
}

async function readRoutes({ root, name }: RoutesFile): Promise<Pick<RouteSource, "entries" | "file">> {
  const { ROUTES: entries } = await importModule(root, name);
  if (Array.isArray(entries)) return { entries: entries as readonly RouteEntry[], file: name };
  throw new ConfigurationError(
    name,
    entries === undefined ? "does not export ROUTES." : "exports ROUTES, which is not a list.",
    "Write it as: export const ROUTES = [ Route.get(…), … ];",
  );
}
