// Hono on Node.js, with its own middleware for tokens and cookies.
import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { getCookie } from "hono/cookie";
import { jwt } from "hono/jwt";
import { DATABASE, PUBLIC_KEY, SECRET } from "../fixtures.ts";
import { type AccessRow, FIND_LOGIN, FIND_TOKEN, isActive, type LoginRow, PAGE_HEADERS, page } from "./page.ts";

const database = new DatabaseSync(DATABASE);
const findByDigest = database.prepare("SELECT name, email FROM users WHERE id = ? AND api_token = ?");
const findToken = database.prepare(FIND_TOKEN);
const findLogin = database.prepare(FIND_LOGIN);

interface Variables {
  readonly Variables: { readonly jwtPayload: { readonly sub: string; readonly sid?: string } };
}

const application = new Hono<Variables>();
const authenticate = jwt({ secret: SECRET, alg: "HS512" });
const authenticateSigned = jwt({ secret: PUBLIC_KEY.export({ format: "pem", type: "spki" }).toString(), alg: "EdDSA" });

application.onError((_error, context) => context.json({ error: "unauthorized" }, 401));
application.get("/json", (context) => context.json({ hello: "world" }));
application.get("/users/:id", authenticate, (context) =>
  context.json({ id: context.req.param("id"), user: context.get("jwtPayload").sub }),
);
application.get("/signed/:id", authenticateSigned, (context) =>
  context.json({ id: context.req.param("id"), user: context.get("jwtPayload").sub }),
);
application.get("/devices/:id", authenticate, (context) => {
  const { sub, sid } = context.get("jwtPayload");
  const row = findToken.get(sid ?? "") as unknown as AccessRow | undefined;
  if (!isActive(row, sub)) return context.json({ error: "unauthorized" }, 401);
  return context.json({ id: context.req.param("id"), name: row.name, email: row.email });
});
application.get("/accounts/:id", authenticate, (context) => {
  const token = context.req.header("authorization")!.slice("Bearer ".length);
  const digest = createHash("sha256").update(token).digest("base64url");
  const row = findByDigest.get(Number(context.get("jwtPayload").sub), digest);
  if (row === undefined) return context.json({ error: "unauthorized" }, 401);
  return context.json({ id: context.req.param("id"), name: row.name as string, email: row.email as string });
});
application.get("/home", (context) => {
  const digest = createHash("sha256")
    .update(getCookie(context, "token") ?? "")
    .digest("base64url");
  const row = findLogin.get(digest) as unknown as LoginRow | undefined;
  if (row === undefined || Date.parse(row.expires_at) <= Date.now()) return context.redirect("/login");
  return context.body(page(row), 200, PAGE_HEADERS);
});

serve({ fetch: application.fetch, port: Number(process.env.PORT), hostname: "127.0.0.1" });
