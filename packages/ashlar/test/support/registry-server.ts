import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseEnv } from "node:util";
import { type PackedPackage, packedPackages } from "./packed-packages.ts";

const PACKAGES = join(import.meta.dirname, "../../..");

const SETTINGS = parseEnv(execFileSync("npm", ["config", "get", "registry", "cache"], { encoding: "utf8" }));
const CACHE = SETTINGS.cache ?? "";

/** The registry that this machine installs packages from. */
const UPSTREAM = new URL(SETTINGS.registry ?? "");

/** Returns whether packages can be installed from it. */
export const canInstall: boolean = await fetch(new URL("kysely", UPSTREAM), { method: "HEAD" }).then(
  ({ ok }) => ok,
  () => false,
);

/** A running registry. */
export interface PackageRegistry {
  /** Where it is. */
  readonly origin: string;
  /** The variables that make npm use it. */
  readonly variables: Record<string, string>;
  /** Ends it. */
  readonly end: () => void;
}

/**
 * Starts a registry with this repository's packages, packed as for publishing; every other package comes from the
 * machine's usual registry.
 */
export async function startRegistry(): Promise<PackageRegistry> {
  const folder = mkdtempSync(join(tmpdir(), "ashlar-registry-"));
  const answers = new Map<string, unknown>();
  const server = createServer(({ url = "/" }, response) => {
    const answer = answers.get(url);
    if (answer === undefined) response.writeHead(307, { location: new URL(url.slice(1), UPSTREAM).href }).end();
    else response.end(Buffer.isBuffer(answer) ? answer : JSON.stringify(answer));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const one of packedPackages(folder)) publish(one, { origin, answers });
  const variables = {
    npm_config_registry: `${origin}/`,
    npm_config_cache: ownCache(folder),
    // npm's other requests, which don't affect what is installed.
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
  };
  const end = (): void => {
    server.close().closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  };
  return { origin, variables, end };
}

/**
 * A cache with everything that was ever downloaded, except the commands that `npm create` caches by name and version.
 */
function ownCache(folder: string): string {
  const cache = join(folder, "cache");
  const downloads = join(CACHE, "_cacache");
  mkdirSync(cache);
  mkdirSync(downloads, { recursive: true });
  symlinkSync(downloads, join(cache, "_cacache"));
  return cache;
}

interface Registry {
  readonly origin: string;
  readonly answers: Map<string, unknown>;
}

function publish({ name, file }: PackedPackage, { origin, answers }: Registry): void {
  const tarball = readFileSync(file);
  const path = `/${name}/-/${basename(file)}`;
  const manifest = JSON.parse(readFileSync(join(PACKAGES, name, "package.json"), "utf8")) as { version: string };
  const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
  const version = { ...manifest, dist: { tarball: origin + path, integrity } };
  answers.set(path, tarball);
  answers.set(`/${name}`, {
    name,
    "dist-tags": { latest: manifest.version },
    versions: { [manifest.version]: version },
  });
}
