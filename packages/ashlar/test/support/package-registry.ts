import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

const PACKAGES = join(import.meta.dirname, "../../..");

const [REGISTRY = "", CACHE = ""] = ["registry", "cache"].map((name) =>
  execFileSync("npm", ["config", "get", name], { encoding: "utf8" }).trim(),
);

/** The registry that this machine installs packages from. */
const UPSTREAM = new URL(REGISTRY);

/** This repository's packages, as they would be published; packed once for all registries. */
const packed = new Map<string, { readonly filename: string; readonly tarball: Buffer }>();

/** Tells whether packages can be installed from it. */
export const canInstall: boolean = await fetch(new URL("kysely", UPSTREAM), { method: "HEAD" }).then(
  ({ ok }) => ok,
  () => false,
);

/**
 * A registry in which this repository's packages are published, packed as they would be; every other package is the
 * machine's own registry's. It ends with the test.
 *
 * @returns the variables that make npm use it
 */
export async function packageRegistry(): Promise<Record<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), "ashlar-registry-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const answers = new Map<string, unknown>();
  const server = createServer(({ url = "/" }, response) => {
    const answer = answers.get(url);
    if (answer === undefined) response.writeHead(307, { location: new URL(url.slice(1), UPSTREAM).href }).end();
    else response.end(Buffer.isBuffer(answer) ? answer : JSON.stringify(answer));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const name of ["ashlar", "create-ashlar"]) publish(name, { folder, origin, answers });
  return {
    npm_config_registry: `${origin}/`,
    npm_config_cache: ownCache(folder),
    // What npm asks besides, and none of it about what is installed.
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
  };
}

/** A cache with all that was ever downloaded, and none of the commands that `npm create` keeps by name and version. */
function ownCache(folder: string): string {
  const cache = join(folder, "cache");
  const downloads = join(CACHE, "_cacache");
  mkdirSync(cache);
  mkdirSync(downloads, { recursive: true });
  symlinkSync(downloads, join(cache, "_cacache"));
  return cache;
}

interface Registry {
  readonly folder: string;
  readonly origin: string;
  readonly answers: Map<string, unknown>;
}

function publish(name: string, { folder, origin, answers }: Registry): void {
  const source = join(PACKAGES, name);
  const { filename, tarball } = packed.get(name) ?? pack(name, folder);
  packed.set(name, { filename, tarball });
  const manifest = JSON.parse(readFileSync(join(source, "package.json"), "utf8")) as { version: string };
  const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
  const version = { ...manifest, dist: { tarball: `${origin}/${name}/-/${filename}`, integrity } };
  answers.set(`/${name}/-/${filename}`, tarball);
  answers.set(`/${name}`, {
    name,
    "dist-tags": { latest: manifest.version },
    versions: { [manifest.version]: version },
  });
}

function pack(name: string, folder: string): { readonly filename: string; readonly tarball: Buffer } {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const cwd = join(PACKAGES, name);
  const output = execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const [{ filename }] = JSON.parse(output) as [{ filename: string }];
  return { filename, tarball: readFileSync(join(folder, filename)) };
}
