// Proxies and other frameworks that deny `/admin` in front of an application, by the path as they read it.
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import Fastify from "fastify";
import { Hono } from "hono";
import { onTestFinished } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import { freePort } from "./free-port.ts";
import { startProcess } from "./long-process.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The part of Express that is used here; the package has no types. */
interface ExpressRequest extends IncomingMessage {
  readonly path: string;
}
interface ExpressResponse extends ServerResponse {
  sendStatus(status: number): void;
}
type ExpressHandler = (request: ExpressRequest, response: ExpressResponse, next: () => void) => void;
interface ExpressApplication {
  (message: IncomingMessage, response: ServerResponse): void;
  use(...handlers: [string, ...ExpressHandler[]] | ExpressHandler[]): void;
}
const express = createRequire(import.meta.url)("express") as () => ExpressApplication;

/** A proxy's name is its program's name. */
export type GuardingProxy = "nginx" | "haproxy" | "caddy";

const CONFIGURATIONS: Record<GuardingProxy, (port: number, target: number, folder: string) => string> = {
  nginx: (port, target, folder) => `daemon off; pid ${folder}/nginx.pid; error_log stderr; worker_processes 1; events {}
http {
  access_log off;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((one) => `${one}_temp_path ${folder}/${one};`).join(" ")}
  server {
    listen 127.0.0.1:${port};
    location /admin { return 403; }
    location / { proxy_pass http://127.0.0.1:${target}; proxy_http_version 1.1; proxy_set_header Host $host; }
  }
}`,
  haproxy: (port, target) => `defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend visitors
  bind 127.0.0.1:${port}
  http-request deny deny_status 403 if { path_beg /admin }
  default_backend shop
backend shop
  server one 127.0.0.1:${target}
`,
  caddy: (port, target) => `{
  admin off
  auto_https off
}
http://:${port} {
  bind 127.0.0.1
  @admin path /admin /admin/*
  respond @admin 403
  reverse_proxy 127.0.0.1:${target}
}
`,
};

const ARGUMENTS: Record<GuardingProxy, (file: string, folder: string) => readonly string[]> = {
  nginx: (file, folder) => ["-p", folder, "-c", file, "-e", "stderr"],
  haproxy: (file) => ["-db", "-f", file],
  caddy: (file) => ["run", "--config", file, "--adapter", "caddyfile"],
};

/** Starts a proxy in front of a port that denies `/admin`, and returns its port. It is stopped after the test. */
export async function guardingProxy(name: GuardingProxy, target: number): Promise<number> {
  const folder = await temporaryFolder();
  const port = await freePort();
  const file = join(folder, "configuration");
  await writeFile(file, CONFIGURATIONS[name](port, target, folder));
  startProcess(folder, name, ARGUMENTS[name](file, folder), {
    HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
  });
  return port;
}

/** Starts other frameworks that deny `/admin` and forward everything else to an application. Each returns its port. */
export const GUARDING_FRAMEWORKS: Record<string, (application: Application) => Promise<number>> = {
  "a route of Express": (application) => {
    const app = express();
    app.use("/admin", (_request, response) => response.sendStatus(403));
    app.use(application.handler);
    return listening(app);
  },
  "a middleware of Express": (application) => {
    const app = express();
    app.use((request, response, next) => (request.path.startsWith("/admin") ? response.sendStatus(403) : next()));
    app.use(application.handler);
    return listening(app);
  },
  "a hook of Fastify": async (application) => {
    const fastify = Fastify();
    fastify.addHook("onRequest", async (request, reply) => {
      if (request.url.startsWith("/admin")) return reply.code(403).send();
    });
    fastify.all("/*", (request, reply) => {
      reply.hijack();
      application.handler(request.raw, reply.raw);
    });
    await fastify.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => fastify.close());
    return (fastify.server.address() as AddressInfo).port;
  },
  "a middleware of Hono": async (application) => {
    const hono = new Hono();
    hono.use("/admin/*", (c) => Promise.resolve(c.text("denied", 403)));
    hono.all("*", (c) => application.fetch(c.req.raw, { address: "127.0.0.1" }));
    const { promise, resolve } = Promise.withResolvers<number>();
    const server = serve({ fetch: hono.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve(port));
    onTestFinished(() => void server.close());
    return await promise;
  },
};

async function listening(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
