import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { walkAccount, walkAuthentication, walkResponses, walkUploads } from "../support/host-walks.ts";
import { type HostedApplication, hostedApplication } from "../support/hosted-application.ts";

/** How each host serves an application, with its defaults. */
const HOSTS = {
  "@hono/node-server": `
import { serve } from "@hono/node-server";
import { fetch, whoami } from "./served.ts";
const own = (request) => (new URL(request.url).pathname === "/whoami" ? whoami(request) : fetch(request));
serve({ fetch: own, port: 0, hostname: "127.0.0.1" }, ({ port }) => console.log("port " + port));`,

  "@hono/node-server, loaded after the application": `
import { fetch, whoami } from "./served.ts";
const { serve } = await import("@hono/node-server");
const own = (request) => (new URL(request.url).pathname === "/whoami" ? whoami(request) : fetch(request));
serve({ fetch: own, port: 0, hostname: "127.0.0.1" }, ({ port }) => console.log("port " + port));`,

  "a route of Hono": `
import { serve } from "@hono/node-server";
import { getConnInfo } from "@hono/node-server/conninfo";
import { Hono } from "hono";
import { fetch, whoami } from "./served.ts";
const app = new Hono();
app.all("/whoami", (context) => whoami(context.req.raw, { address: getConnInfo(context).remote.address }));
app.all("*", (context) => fetch(context.req.raw, { address: getConnInfo(context).remote.address }));
serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => console.log("port " + port));`,

  h3: `
import { H3, serve } from "h3";
import { fetch, whoami } from "./served.ts";
const app = new H3();
app.all("/whoami", ({ req }) => whoami(req));
app.all("/**", ({ req }) => fetch(req));
const server = serve(app, { port: 0, hostname: "127.0.0.1", silent: true });
await server.ready();
console.log("port " + new URL(server.url).port);`,

  srvx: `
import { serve } from "srvx";
import { fetch, whoami } from "./served.ts";
const own = (request) => (new URL(request.url).pathname === "/whoami" ? whoami(request) : fetch(request));
const server = serve({ fetch: own, port: 0, hostname: "127.0.0.1", silent: true });
await server.ready();
console.log("port " + new URL(server.url).port);`,

  "srvx's listener for node:http": `
import { createServer } from "node:http";
import { toNodeHandler } from "srvx/node";
import { fetch, whoami } from "./served.ts";
const own = (request) => (new URL(request.url).pathname === "/whoami" ? whoami(request) : fetch(request));
const server = createServer(toNodeHandler(own)).listen(0, "127.0.0.1", () => console.log("port " + server.address().port));`,

  "node:http": `
import { createServer } from "node:http";
import { sendResponse } from "ashlar";
import { application, whoami } from "./served.ts";
const server = createServer(async (req, res) => {
  if (req.url === "/whoami") await sendResponse(res, await whoami(req));
  else application.handler(req, res);
}).listen(0, "127.0.0.1", () => console.log("port " + server.address().port));`,

  Express: `
import express from "express";
import { sendResponse } from "ashlar";
import { application, whoami } from "./served.ts";
const app = express();
app.all("/whoami", async (req, res) => sendResponse(res, await whoami(req)));
app.use(application.handler);
const server = app.listen(0, "127.0.0.1", () => console.log("port " + server.address().port));`,

  Fastify: `
import Fastify from "fastify";
import { application, whoami } from "./served.ts";
const fastify = Fastify();
fastify.register(async (own) => {
  own.addContentTypeParser("*", (_request, body, done) => done(null, body));
  own.all("/whoami", (request, reply) => whoami(request.raw).then((response) => reply.send(response)));
});
fastify.register(async (accounts) => {
  accounts.removeAllContentTypeParsers();
  accounts.addContentTypeParser("*", (_request, _body, done) => done(null));
  accounts.all("/*", (request, reply) => {
    reply.hijack();
    application.handler(request.raw, reply.raw);
  });
});
await fastify.listen({ port: 0, host: "127.0.0.1" });
console.log("port " + fastify.server.address().port);`,
} as const;

/** The hosts that don't pass the socket's address by default. */
const WITHOUT_ADDRESS: ReadonlySet<string> = new Set([
  "@hono/node-server",
  "@hono/node-server, loaded after the application",
]);

describe.each(Object.keys(HOSTS) as (keyof typeof HOSTS)[])("an application under %s", (host) => {
  let served: HostedApplication;
  beforeAll(async () => {
    served = await hostedApplication({ program: HOSTS[host], command: [process.execPath, "--expose-gc"] });
  });
  afterAll(() => served.end());

  test("supports the complete life cycle of an account", async () => {
    await walkAccount(served.url);
    expect(served.child.exitCode).toBeNull();
  });

  test("gives its handlers the client's address", async () => {
    await walkAuthentication(served.url, WITHOUT_ADDRESS.has(host) ? null : "127.0.0.1");
    expect(served.child.exitCode).toBeNull();
  });

  test("S197 accepts uploads, and leaves no files behind", async () => {
    await walkUploads(served.url);
    expect(served.child.exitCode).toBeNull();
  });

  test("S118 serves files, streams, large bodies, HEAD and errors, and development tools only to this machine", async () => {
    await walkResponses(served, WITHOUT_ADDRESS.has(host) ? null : "127.0.0.1");
    expect(served.child.exitCode).toBeNull();
  });
});
