import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../packages/ashlar/test/support/free-port.ts";
import { COMMAND, ENVIRONMENT, linkPackage, until } from "./instances.ts";

/** How a server runs. */
export interface ServerKind {
  readonly framework: "ashlar" | "fastify";
  /** How many workers each instance has; `0` for one process without. */
  readonly workers: number;
}

/** An instance that serves. */
export interface RunningServer {
  readonly port: number;
  readonly logFile: string;
  stop(): Promise<void>;
}

/** Connections of each process to the database, and how long each of the two statements of `/database` takes there. */
const POOL_SIZE = 10;
const STATEMENT_SECONDS = 0.01;

const SPIN = `
function spin(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
const WORDS = "<!doctype html><title>Shop</title><h1>Hello</h1>";
`;

const ASHLAR = `
import { createApplication, env, HttpKernel, Route } from "ashlar";
import { DatabaseProvider, sql } from "ashlar/database";
${SPIN}
class Kernel extends HttpKernel {
  routeMiddleware = { web: [], api: [] };
}

const application = await createApplication({
  root: import.meta.dirname,
  kernel: Kernel,
  providers: [DatabaseProvider],
  config: {
    database: {
      DATABASES: { default: "main", main: { driver: "postgres", url: env("DATABASE_URL"), poolSize: ${POOL_SIZE} } },
    },
  },
  routes: [
    Route.get("/busy/@ms:int", ({ request, response }) => {
      spin(Number(request.param("ms")));
      return response.html(WORDS);
    }),
    Route.get("/database", async ({ response }) => {
      const { kysely } = application.container.make("database");
      for (let count = 0; count < 2; count++) await sql\`select pg_sleep(${STATEMENT_SECONDS})\`.execute(kysely);
      return response.html(WORDS);
    }),
  ],
});
export default application;
`;

const FASTIFY = `
import cluster from "node:cluster";
import underPressure from "@fastify/under-pressure";
import Fastify from "fastify";
import pg from "pg";
${SPIN}
const workers = Number(process.env.WORKERS);
if (workers > 0 && cluster.isPrimary) {
  for (let count = 0; count < workers; count++) cluster.fork();
  process.once("SIGTERM", () => process.exit());
} else {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: ${POOL_SIZE}, connectionTimeoutMillis: 10_000 });
  const fastify = Fastify({ logger: true });
  await fastify.register(underPressure, { maxEventLoopDelay: 1000, retryAfter: 1 });
  fastify.get("/busy/:ms", (request, reply) => {
    spin(Number(request.params.ms));
    return reply.type("text/html").send(WORDS);
  });
  fastify.get("/database", async (request, reply) => {
    for (let count = 0; count < 2; count++) await pool.query("select pg_sleep(${STATEMENT_SECONDS})");
    return reply.type("text/html").send(WORDS);
  });
  for (const path of ["/up", "/ready"]) fastify.get(path, () => ({ status: "ok" }));
  await fastify.listen({ port: Number(process.env.PORT), host: "127.0.0.1" });
}
`;

/** Writes the application into a folder. */
export function overloadedApplication(folder: string): void {
  mkdirSync(folder);
  linkPackage(folder);
  writeFileSync(join(folder, "app.ts"), ASHLAR);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
}

/** The folder from which the other framework's packages are found. */
const REPOSITORY = join(import.meta.dirname, "../..");

/** Starts an instance on the first processor, and waits until it responds. */
export async function startServer(
  { framework, workers }: ServerKind,
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<RunningServer> {
  const port = await freePort();
  const logFile = join(folder, `${port}.log`);
  const serve = ["serve", ...(workers === 0 ? [] : ["--workers", String(workers)]), "--port", String(port)];
  const args = framework === "ashlar" ? [COMMAND, ...serve] : ["--input-type=module", "--eval", FASTIFY];
  const output = openSync(logFile, "a");
  const child = spawn("taskset", ["-c", "0", process.execPath, ...args], {
    cwd: framework === "ashlar" ? folder : REPOSITORY,
    env: { ...process.env, ...ENVIRONMENT, ...env, PORT: String(port), WORKERS: String(workers) },
    stdio: ["ignore", output, output],
  });
  await until(
    () => isUp(port),
    () => `see ${logFile}`,
  );
  return { port, logFile, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

async function isUp(port: number): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${port}/up`).then(
    ({ ok }) => ok,
    () => false,
  );
}
