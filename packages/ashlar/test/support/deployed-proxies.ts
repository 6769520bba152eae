// The proxies of a deployment, with the configurations that `ashlar make:deploy` writes.
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { type CertificateFiles, makeCertificate } from "./certificate.ts";
import { freePort } from "./free-port.ts";
import { execute } from "./generated-application.ts";
import { openProcess } from "./long-process.ts";
import { makeFolder } from "./temporary-folder.ts";

/** The proxies that a configuration is written for. */
export type ProxyName = "nginx" | "caddy" | "haproxy";

/** The host that the configurations are for. */
export const HOST = "shop.example";

/** A running proxy on free ports. */
export interface DeployedProxy {
  /** Its http address, if it is configured. */
  readonly plain: number;
  /** Its https address. */
  readonly secure: number;
  /** Its logs and its output so far. */
  readonly written: () => Promise<string>;
}

export interface OpenProxy extends DeployedProxy {
  readonly end: () => void;
}

/** The path of nginx's log in its configuration, and the path in the test. */
const NGINX_LOG = "/var/log/nginx/access.log";
const LOG = "access.log";

interface Place extends Pick<DeployedProxy, "plain" | "secure"> {
  readonly host: string;
  readonly folder: string;
  readonly certificate: CertificateFiles;
}

/** Replaces text that must occur in a configuration. */
function replaced(text: string, changes: readonly (readonly [from: string, to: string])[]): string {
  for (const [from] of changes) expect(text).toContain(from);
  return changes.reduce((changed, [from, to]) => changed.replaceAll(from, to), text);
}

async function nginx(text: string, { host, folder, plain, secure, certificate }: Place): Promise<string[]> {
  const server = replaced(text, [
    ["listen 80", `listen 127.0.0.1:${plain}`],
    ["listen 443", `listen 127.0.0.1:${secure}`],
    [`/etc/letsencrypt/live/${host}/fullchain.pem`, certificate.chain],
    [`/etc/letsencrypt/live/${host}/privkey.pem`, certificate.key],
    [NGINX_LOG, join(folder, LOG)],
  ]);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  // Its workers store large bodies there, as another user if root starts nginx.
  await chmod(folder, 0o711);
  const file = join(folder, "nginx.conf");
  const process = `daemon off; pid ${folder}/nginx.pid; error_log stderr; worker_processes 2; events {}`;
  await writeFile(file, `${process}\nhttp { access_log off; ${temporary.join(" ")}\n${server}\n}`);
  const args = ["-p", folder, "-c", file, "-e", "stderr"];
  await succeeds(folder, "nginx", ["-t", ...args]);
  return args;
}

async function caddy(text: string, { host, folder, secure, certificate }: Place): Promise<string[]> {
  const written = join(folder, "written");
  await writeFile(written, text);
  // It also warns about files that it would format differently.
  await succeeds(folder, "caddy", ["validate", "--config", written, "--adapter", "caddyfile"], caddyFolders(folder));
  const site = replaced(text, [
    // It must not request a certificate or listen on its usual ports.
    ["{\n\tlog {", "{\n\tadmin off\n\tauto_https off\n\tskip_install_trust\n\tlog {"],
    [`${host} {`, `https://${host}:${secure} {\n  bind 127.0.0.1\n  tls ${certificate.chain} ${certificate.key}`],
  ]);
  const file = join(folder, "Caddyfile");
  await writeFile(file, site);
  return ["run", "--config", file, "--adapter", "caddyfile"];
}

/** Where Caddy keeps its state. */
function caddyFolders(folder: string): Record<string, string> {
  return { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
}

async function haproxy(text: string, { host, folder, plain, secure, certificate }: Place): Promise<string[]> {
  const bundle = join(folder, "bundle.pem");
  await writeFile(bundle, (await readFile(certificate.chain, "utf8")) + (await readFile(certificate.key, "utf8")));
  const file = join(folder, "haproxy.cfg");
  const changed = replaced(text, [
    ["bind :80", `bind 127.0.0.1:${plain}`],
    ["bind :443", `bind 127.0.0.1:${secure}`],
    [`/etc/haproxy/certificates/${host}.pem`, bundle],
    // It runs as the user who runs the tests.
    ["  user haproxy\n  group haproxy\n", ""],
    ["log /dev/log local0", "log stdout format raw local0"],
  ]);
  await writeFile(file, changed);
  await succeeds(folder, "haproxy", ["-c", "-f", file]);
  return ["-db", "-f", file];
}

const CONFIGURE = { nginx, caddy, haproxy };

/** Runs a program that checks a configuration. Warnings count as failures. */
async function succeeds(
  folder: string,
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { code, output } = await execute(folder, program, args, environment);
  expect(code, output).toBe(0);
  expect(output).not.toMatch(/\bwarn(?:ing)?\b/i);
}

/**
 * Checks a configuration with its program, and runs it on free ports, with a self-signed certificate, until the test
 * ends.
 *
 * @param text the configuration, for two instances of an application that are already running
 */
export async function startProxy(name: ProxyName, text: string): Promise<DeployedProxy> {
  const proxy = await openProxy(name, text);
  onTestFinished(proxy.end);
  return proxy;
}

/**
 * Runs a proxy like {@link startProxy}, for several tests, until it is ended.
 *
 * @param host that the configuration is for
 */
export async function openProxy(name: ProxyName, text: string, host: string = HOST): Promise<OpenProxy> {
  const { folder, remove } = makeFolder({});
  const [plain, secure] = [await freePort(), await freePort()];
  const place = { host, folder, plain, secure, certificate: makeCertificate(folder, host) };
  const args = await CONFIGURE[name](text, place);
  const started = openProcess(folder, name, args, name === "caddy" ? caddyFolders(folder) : {});
  const end = (): void => {
    started.signalGroup("SIGKILL");
    remove();
  };
  const written = async (): Promise<string> => {
    const log = await readFile(join(folder, LOG), "utf8").catch(() => "");
    return log + started.output();
  };
  return { plain, secure, written, end };
}
