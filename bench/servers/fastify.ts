// Fastify with @fastify/jwt, as its documentation shows it.
import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import cookie from "@fastify/cookie";
import jwt from "@fastify/jwt";
import underPressure from "@fastify/under-pressure";
import { verify as verifyPassword } from "@node-rs/argon2";
import Fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import { DATABASE, PUBLIC_KEY, SECRET } from "../fixtures.ts";
import { type AccessRow, FIND_LOGIN, FIND_TOKEN, isActive, type LoginRow, PAGE_HEADERS, page } from "./page.ts";
import { spin } from "./spin.ts";

const database = new DatabaseSync(DATABASE);
const findByDigest = database.prepare("SELECT * FROM users WHERE id = ? AND api_token = ?");

const findPassword = database.prepare("SELECT password FROM users WHERE email = ?");
const findToken = database.prepare(FIND_TOKEN);
const findLogin = database.prepare(FIND_LOGIN);

const fastify = Fastify();
const maxEventLoopDelay = Number(process.env.MAX_LOOP_DELAY ?? 0);
if (maxEventLoopDelay > 0) await fastify.register(underPressure, { maxEventLoopDelay, retryAfter: 1 });
await fastify.register(cookie);
await fastify.register(jwt, { secret: SECRET, verify: { algorithms: ["HS512"] } });

// A second instance of it, under a namespace, as its documentation shows.
await fastify.register(jwt, {
  namespace: "signed",
  secret: { public: PUBLIC_KEY.export({ format: "pem", type: "spki" }).toString() },
  verify: { algorithms: ["EdDSA"] },
});

async function authenticateSigned(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  try {
    await (request as FastifyRequest & { readonly signedJwtVerify: () => Promise<unknown> }).signedJwtVerify();
  } catch {
    await reply.code(401).send({ error: "unauthorized" });
  }
}

async function authenticate(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  try {
    await request.jwtVerify();
  } catch {
    await reply.code(401).send({ error: "unauthorized" });
  }
}

fastify.get("/json", (_request, reply) => reply.header("X-Content-Type-Options", "nosniff").send({ hello: "world" }));

fastify.get<{ Params: { ms: string } }>("/busy/:ms", (request, reply) => {
  spin(Number(request.params.ms));
  return reply.header("X-Content-Type-Options", "nosniff").send({ hello: "world" });
});

fastify.get<{ Params: { id: string } }>("/users/:id", { onRequest: authenticate }, (request, reply) =>
  reply
    .header("X-Content-Type-Options", "nosniff")
    .send({ id: request.params.id, user: (request.user as { sub: string }).sub }),
);

fastify.get<{ Params: { id: string } }>("/signed/:id", { onRequest: authenticateSigned }, (request, reply) =>
  reply
    .header("X-Content-Type-Options", "nosniff")
    .send({ id: request.params.id, user: (request.user as { sub: string }).sub }),
);

fastify.get<{ Params: { id: string } }>("/devices/:id", { onRequest: authenticate }, (request, reply) => {
  const { sub, sid } = request.user as { sub: string; sid?: string };
  const row = findToken.get(sid ?? "") as unknown as AccessRow | undefined;
  if (!isActive(row, sub)) return reply.code(401).send({ error: "unauthorized" });
  return reply
    .header("X-Content-Type-Options", "nosniff")
    .send({ id: request.params.id, name: row.name, email: row.email });
});

fastify.get<{ Params: { id: string } }>("/accounts/:id", { onRequest: authenticate }, (request, reply) => {
  const token = request.headers.authorization!.slice("Bearer ".length);
  const digest = createHash("sha256").update(token).digest("base64url");
  const { sub } = request.user as { sub: string };
  const row = findByDigest.get(Number(sub), digest) as { name: string; email: string } | undefined;
  if (row === undefined) return reply.code(401).send({ error: "unauthorized" });
  return reply
    .header("X-Content-Type-Options", "nosniff")
    .send({ id: request.params.id, name: row.name, email: row.email });
});

fastify.post<{ Body: { email: string; password: string } }>("/login", async (request) => {
  const { email, password } = request.body;
  const row = findPassword.get(email) as { password: string } | undefined;
  return { ok: row !== undefined && (await verifyPassword(row.password, password)) };
});

fastify.get("/home", (request, reply) => {
  const digest = createHash("sha256")
    .update(request.cookies.token ?? "")
    .digest("base64url");
  const row = findLogin.get(digest) as unknown as LoginRow | undefined;
  if (row === undefined || Date.parse(row.expires_at) <= Date.now()) return reply.redirect("/login");
  return reply.headers(PAGE_HEADERS).send(page(row));
});

await fastify.listen({ port: Number(process.env.PORT), host: "127.0.0.1" });
