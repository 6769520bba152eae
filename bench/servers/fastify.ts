// Fastify as its documentation recommends it for speed: response schemas, and plugins only for the routes that need them.
import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import cookie from "@fastify/cookie";
import jwt from "@fastify/jwt";
import underPressure from "@fastify/under-pressure";
import { verify as verifyPassword } from "@node-rs/argon2";
import Fastify, { type FastifyInstance } from "fastify";
import { DATABASE, PUBLIC_KEY, SECRET } from "../fixtures.ts";
import { type AccessRow, FIND_LOGIN, FIND_TOKEN, isActive, type LoginRow, PAGE_HEADERS, page } from "./page.ts";
import { spin } from "./spin.ts";

const database = new DatabaseSync(DATABASE);
const findByDigest = database.prepare("SELECT name, email FROM users WHERE id = ? AND api_token = ?");
const findPassword = database.prepare("SELECT password FROM users WHERE email = ?");
const findToken = database.prepare(FIND_TOKEN);
const findLogin = database.prepare(FIND_LOGIN);

interface Claims {
  readonly sub: string;
  readonly sid?: string;
}

interface ById {
  readonly Params: { readonly id: string };
}

const string = { type: "string" } as const;

/** The schema of a response with these members, which Fastify writes faster than JSON.stringify. */
function respondingWith(...members: readonly string[]): object {
  const properties = Object.fromEntries(members.map((name) => [name, string]));
  return { schema: { response: { 200: { type: "object", properties } } } };
}

const fastify = Fastify();
const maxEventLoopDelay = Number(process.env.MAX_LOOP_DELAY ?? 0);
if (maxEventLoopDelay > 0) await fastify.register(underPressure, { maxEventLoopDelay, retryAfter: 1 });

fastify.get("/json", respondingWith("hello"), async () => ({ hello: "world" }));

fastify.get<{ Params: { ms: string } }>("/busy/:ms", respondingWith("hello"), async (request) => {
  spin(Number(request.params.ms));
  return { hello: "world" };
});

/** Routes behind a token. */
async function behindToken(routes: FastifyInstance, options: Parameters<typeof jwt>[1]): Promise<void> {
  await routes.register(jwt, options);
  routes.addHook("onRequest", (request) => request.jwtVerify());
  routes.setErrorHandler((_error, _request, reply) => reply.code(401).send({ error: "unauthorized" }));
}

await fastify.register(async (routes) => {
  await behindToken(routes, { secret: SECRET, verify: { algorithms: ["HS512"] } });
  routes.get<ById>("/users/:id", respondingWith("id", "user"), async (request) => {
    return { id: request.params.id, user: (request.user as Claims).sub };
  });
  routes.get<ById>("/devices/:id", respondingWith("id", "name", "email"), async (request, reply) => {
    const { sub, sid } = request.user as Claims;
    const row = findToken.get(sid ?? "") as unknown as AccessRow | undefined;
    if (!isActive(row, sub)) return reply.code(401).send({ error: "unauthorized" });
    return { id: request.params.id, name: row.name, email: row.email };
  });
  routes.get<ById>("/accounts/:id", respondingWith("id", "name", "email"), async (request, reply) => {
    const token = request.headers.authorization!.slice("Bearer ".length);
    const digest = createHash("sha256").update(token).digest("base64url");
    const row = findByDigest.get(Number((request.user as Claims).sub), digest);
    if (row === undefined) return reply.code(401).send({ error: "unauthorized" });
    return { id: request.params.id, name: row.name, email: row.email };
  });
});

await fastify.register(async (routes) => {
  const key = PUBLIC_KEY.export({ format: "pem", type: "spki" }).toString();
  await behindToken(routes, { secret: { public: key }, verify: { algorithms: ["EdDSA"] } });
  routes.get<ById>("/signed/:id", respondingWith("id", "user"), async (request) => {
    return { id: request.params.id, user: (request.user as Claims).sub };
  });
});

fastify.post<{ Body: { email: string; password: string } }>("/login", async (request) => {
  const { email, password } = request.body;
  const row = findPassword.get(email) as { password: string } | undefined;
  return { ok: row !== undefined && (await verifyPassword(row.password, password)) };
});

await fastify.register(async (routes) => {
  await routes.register(cookie);
  routes.get("/home", async (request, reply) => {
    const digest = createHash("sha256")
      .update(request.cookies.token ?? "")
      .digest("base64url");
    const row = findLogin.get(digest) as unknown as LoginRow | undefined;
    if (row === undefined || Date.parse(row.expires_at) <= Date.now()) return reply.redirect("/login");
    return reply.headers(PAGE_HEADERS).send(page(row));
  });
});

await fastify.listen({ port: Number(process.env.PORT), host: "127.0.0.1" });
