import { basename } from "node:path";
import { readIfThere } from "../files/existing-files.ts";
import type { NewFile } from "../files/files.ts";
import { readStub, type StubValues } from "../files/stub.ts";
import { currentNode, packageName } from "../making/project.ts";
import { bodyLocations, nginxSize } from "./body-locations.ts";
import type { DeploymentFacts } from "./deployment-facts.ts";
import { imagePackages, nodeOf } from "./image-packages.ts";
import { loggedPath } from "./logged-path.ts";
import { proxyPage } from "./proxy-pages.ts";

/** The kinds of deployment files. */
export type DeploymentKind = "docker" | "compose" | "kubernetes" | "systemd" | "nginx" | "caddy" | "haproxy";

/** All kinds of deployment files. */
export const DEPLOYMENT_KINDS: readonly DeploymentKind[] = [
  "docker",
  "compose",
  "kubernetes",
  "systemd",
  "nginx",
  "caddy",
  "haproxy",
];

/** A stub, and the path of the file that it becomes. */
interface Template {
  readonly path: string;
  readonly stub: string;
  readonly values: StubValues;
}

/** How much longer than its own limits an instance may take to end, in seconds. */
const RESERVE_SECONDS = 10;
/**
 * How many requests nginx sends to an instance at once: enough even if many are waiting for other services, but few
 * enough that an instance needs little time if it has to refuse them.
 */
const NGINX_REQUESTS = 256;
/** The number of instances in the proxies' files. */
const INSTANCES = 2;
/**
 * A proxy's times, as shares of the drain time: for keeping an idle connection, for skipping a failed server, and
 * between health checks.
 */
const KEPT_SHARE = 0.8;
const LEFT_OUT_SHARE = 0.4;
const CHECK_SHARE = 0.2;
const MIN_SECONDS = 0.1;
const MAX_CHECK_SECONDS = 2;

const GIBIBYTE = 1024 ** 3;

/** How long a pod keeps serving while Kubernetes notifies proxies that it is ending, in seconds. */
const PRE_STOP_SECONDS = 5;
const MAX_PODS = 6;

/** The addresses of the instances in the network of `compose.yaml`. */
const IN_COMPOSE = ["172.30.0.11", "172.30.0.12"] as const;

/**
 * Renders the deployment files.
 *
 * @param root the application's folder
 * @param kinds the kinds of files; `compose` includes those of `docker`, because it builds the image
 */
export async function deploymentFiles(
  root: string,
  kinds: readonly DeploymentKind[],
  facts: DeploymentFacts,
): Promise<NewFile[]> {
  const templates = await templatesFor(root, facts);
  const wanted = new Set<DeploymentKind>(kinds.includes("compose") ? [...kinds, "docker"] : kinds);
  const chosen = DEPLOYMENT_KINDS.filter((kind) => wanted.has(kind)).flatMap((kind) => templates[kind]);
  return Promise.all(
    chosen.map(async ({ path, stub, values }) => ({ path, text: await readStub(`deploy/${stub}`, values) })),
  );
}

/** The name for containers, units and accounts: the package's name without its scope. */
export async function deployedName(root: string): Promise<string> {
  const { name = basename(root) } = JSON.parse((await readIfThere(root, "package.json")) ?? "{}") as { name?: string };
  return packageName(name);
}

async function templatesFor(
  root: string,
  facts: DeploymentFacts,
): Promise<Readonly<Record<DeploymentKind, readonly Template[]>>> {
  const name = await deployedName(root);
  const values = {
    ...commonValues(facts),
    name,
    // The names of nginx variables can't contain hyphens.
    variable: name.replaceAll(/\W/g, "_"),
    compose: false,
    bodyLocations: bodyLocations(facts.bodyPaths, name),
  };
  const alone = { ...values, one: `127.0.0.1:${facts.port}`, two: `127.0.0.1:${facts.port + 1}` };
  const image = await imageValues(root, facts);
  const [one, two] = IN_COMPOSE.map((address) => `${address}:${facts.port}`);
  const servers = await readStub("deploy/nginx.conf", { ...values, compose: true, one: one!, two: two! });
  return {
    docker: [
      { path: "Dockerfile", stub: "Dockerfile", values: { ...values, ...image } },
      {
        // A workspace's image is built in the workspace's root. Docker first looks for an ignore file next to the
        // Dockerfile.
        path: image.workspace === true ? "Dockerfile.dockerignore" : ".dockerignore",
        stub: "dockerignore",
        values: { ...values, ...image },
      },
    ],
    compose: [
      { path: "compose.yaml", stub: "compose.yaml", values: { ...values, ...image, ...serviceValues(facts) } },
      { path: "deploy/nginx.compose.conf", stub: "nginx.compose.conf", values: { servers: indented(servers) } },
    ],
    kubernetes: kubernetesTemplates({ ...values, ...serviceValues(facts), ...podValues(facts, name) }),
    systemd: [{ path: `deploy/${name}@.service`, stub: "systemd.service", values }],
    nginx: [{ path: "deploy/nginx.conf", stub: "nginx.conf", values: alone }],
    caddy: [{ path: "deploy/Caddyfile", stub: "Caddyfile", values: alone }],
    haproxy: [{ path: "deploy/haproxy.cfg", stub: "haproxy.cfg", values: alone }],
  };
}

function kubernetesTemplates(values: StubValues): Template[] {
  const pods = { path: "deploy/kubernetes.yaml", stub: "kubernetes.yaml", values };
  const migrations = { path: "deploy/kubernetes.migrate.yaml", stub: "kubernetes.migrate.yaml", values };
  return values.migrates === true ? [migrations, pods] : [pods];
}

function commonValues(facts: DeploymentFacts): Record<string, string | boolean> {
  const { title, domain, hosts, maxRequests, port, up, ready, drainSeconds, shutdownSeconds, secretPaths, dialect } =
    facts;
  const names = namesOf(domain, hosts);
  const nginxRequests = maxRequests ?? NGINX_REQUESTS;
  const wildcards = names.filter((name) => name.startsWith("*."));
  return {
    // systemd expands percent signs.
    title: title.replaceAll("%", "%%"),
    domain,
    awayPage: proxyPage(facts.away),
    tooLargePage: proxyPage(facts.tooLarge),
    several: names.length > 1,
    hostsLookedUp: hosts === null,
    wildcards: wildcards.length > 0,
    names: names.join(" "),
    sites: names.join(", "),
    plainNames: names.filter((name) => !wildcards.includes(name)).join(" "),
    // Wildcards without their asterisks.
    parentNames: wildcards.map((name) => name.slice(1)).join(" "),
    nginxRequests: String(nginxRequests),
    keptConnections: String(INSTANCES * nginxRequests),
    limited: maxRequests !== null,
    haproxyLimit: maxRequests === null ? "" : ` maxconn ${maxRequests}`,
    streamed: facts.bodyPaths.some(({ isStreamed }) => isStreamed),
    port: String(port),
    up: up !== null,
    upPath: up ?? "",
    upCheck: healthCheck(port, up ?? ""),
    ready: ready !== null,
    readyPath: ready ?? "",
    readyCheck: healthCheck(port, ready ?? ""),
    loggedPath: loggedPath(secretPaths),
    sqlite: dialect === "sqlite",
    drainSeconds: String(drainSeconds),
    shutdownSeconds: String(shutdownSeconds),
    stopSeconds: String(stopSeconds({ drainSeconds, shutdownSeconds })),
    keepTime: duration(drainSeconds * KEPT_SHARE),
    checkTime: duration(checkSeconds(drainSeconds)),
    failTime: `${Math.max(1, Math.floor(drainSeconds * LEFT_OUT_SHARE))}s`,
    bodySize: nginxSize(facts.maxBodyBytes),
    uploads: facts.uploadBytes > 0,
    temporarySize: `${1 + Math.ceil(facts.uploadBytes / GIBIBYTE)}Gi`,
    hasBodyPaths: facts.bodyPaths.length > 0,
    largestSize: nginxSize(Math.max(facts.maxBodyBytes, ...facts.bodyPaths.map(({ maxBytes }) => maxBytes))),
  };
}

function namesOf(domain: string, hosts: readonly string[] | null): string[] {
  return [...new Set([domain, ...(hosts ?? [])])];
}

/** How long an instance may take to end, in seconds. */
function stopSeconds(facts: Pick<DeploymentFacts, "drainSeconds" | "shutdownSeconds">): number {
  return Math.ceil(facts.drainSeconds + facts.shutdownSeconds + RESERVE_SECONDS);
}

function checkSeconds(drainSeconds: number): number {
  return Math.min(MAX_CHECK_SECONDS, drainSeconds * CHECK_SHARE);
}

async function imageValues(root: string, { dialect }: DeploymentFacts): Promise<Record<string, string | boolean>> {
  const { manifests, installManager, install, hasNpmrc, workspace } = await imagePackages(root);
  const node = (await nodeOf(root)) ?? (workspace === null ? null : await nodeOf(workspace.root));
  const { folder = "", folders = [], needed = [] } = workspace ?? {};
  return {
    node: node ?? currentNode(),
    workspace: workspace !== null,
    folder,
    // The relative path from the application's folder to the workspace's root.
    toRoot: folder === "" ? "." : folder.replaceAll(/[^/]+/g, ".."),
    packageManifests: folders.map((one) => copying(`${one}/package.json`, `${one}/`)).join("\n"),
    packageFolders: needed.map((one) => copying(one, `${one}/`)).join("\n"),
    manifests: manifests.join(" "),
    hasNpmrc,
    npmrc: folder === "" ? ".npmrc" : `${folder.replaceAll(/[^/]+/g, "..")}/.npmrc`,
    installsManager: installManager !== null,
    installManager: installManager ?? "",
    install,
    writable: dialect === "sqlite" ? "/data" : "/tmp",
  };
}

/** A COPY instruction. It is in JSON form if the path contains spaces. */
function copying(from: string, to: string): string {
  return /\s/.test(from) ? `COPY ${JSON.stringify([from, `./${to}`])}` : `COPY ${from} ./${to}`;
}

function serviceValues({ dialect, connection, redis, uploadBytes }: DeploymentFacts): Record<string, string | boolean> {
  const server = dialect === "postgres" || dialect === "mariadb";
  const back = server || redis;
  const mounts = [...(dialect === "sqlite" ? ["data:/data"] : []), ...(uploadBytes > 0 ? ["/var/tmp"] : [])];
  return {
    postgres: dialect === "postgres",
    mariadb: dialect === "mariadb",
    migrates: dialect !== null,
    depends: dialect !== null || redis,
    server,
    redis,
    back,
    connection: connection ?? "",
    hasMounts: mounts.length > 0,
    mounts: mounts.join(", "),
    // Any other database runs outside of the deployment.
    migrationNetwork: server ? "back" : "front",
    hasVolumes: back || dialect === "sqlite",
  };
}

/**
 * The command that requests a path, as JSON without dollar signs, to be valid in Compose files too. Debian's images
 * have bash and grep, but neither curl nor wget.
 */
function healthCheck(port: number, path: string): string {
  const asked = `GET ${path} HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nConnection: close\\r\\n\\r\\n`;
  const script = `exec 3<>/dev/tcp/127.0.0.1/${port} && printf '${asked}' >&3 && grep -q '^HTTP/1.1 200 ' <&3`;
  return `"bash", "-c", ${JSON.stringify(script)}`;
}

/** Indents the lines of a block by one level. */
function indented(text: string): string {
  return text.trimEnd().replaceAll(/^(?=.)/gm, "  ");
}

function podValues(facts: DeploymentFacts, name: string): Record<string, string> {
  const hosts = namesOf(facts.domain, facts.hosts).map((host) => JSON.stringify(host));
  const backend = `{ service: { name: ${name}, port: { name: http } } }`;
  const paths = `{ paths: [{ path: /, pathType: Prefix, backend: ${backend} }] }`;
  return {
    maxPods: String(MAX_PODS),
    preStopSeconds: String(PRE_STOP_SECONDS),
    graceSeconds: String(PRE_STOP_SECONDS + stopSeconds(facts)),
    // Kubernetes supports whole seconds only.
    probeSeconds: String(Math.max(1, Math.floor(checkSeconds(facts.drainSeconds)))),
    ingressHosts: hosts.join(", "),
    ingressRules: hosts.map((host) => `    - host: ${host}\n      http: ${paths}`).join("\n"),
  };
}

/** A time in the proxies' syntax: `4s`, or `400ms` if it is not a whole number of seconds. */
function duration(time: number): string {
  const seconds = Math.max(MIN_SECONDS, time);
  return Number.isInteger(seconds) ? `${seconds}s` : `${Math.round(seconds * 1000)}ms`;
}
