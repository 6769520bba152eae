// The reference: node:http, with the token checked by hand and the row fetched by a prepared statement. It sends the headers that
// Ashlar has to send; with LEAST=true, only those that clients need to read the body.
import { createHash, createHmac, timingSafeEqual, verify as verifySignature } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { verify as verifyPassword } from "@node-rs/argon2";
import { DATABASE, PUBLIC_KEY, SECRET } from "../fixtures.ts";
import { type AccessRow, FIND_LOGIN, FIND_TOKEN, isActive, type LoginRow, PAGE_HEADERS, page } from "./page.ts";
import { spin } from "./spin.ts";

const database = new DatabaseSync(DATABASE);
const findByDigest = database.prepare("SELECT * FROM users WHERE id = ? AND api_token = ?");
const findToken = database.prepare(FIND_TOKEN);
const findLogin = database.prepare(FIND_LOGIN);
const findPassword = database.prepare("SELECT password FROM users WHERE email = ?");

interface Claims {
  sub: string;
  iat: number;
  exp?: number;
  sid?: string;
}

function verify(token: string): Claims | null {
  const dot = token.lastIndexOf(".");
  const expected = createHmac("sha512", SECRET).update(token.slice(0, dot)).digest();
  const given = Buffer.from(token.slice(dot + 1), "base64url");
  if (expected.length !== given.length || !timingSafeEqual(expected, given)) return null;
  return claimsOf(token, dot);
}

function verifySigned(token: string): Claims | null {
  const dot = token.lastIndexOf(".");
  const signature = Buffer.from(token.slice(dot + 1), "base64url");
  return verifySignature(null, Buffer.from(token.slice(0, dot)), PUBLIC_KEY, signature) ? claimsOf(token, dot) : null;
}

function claimsOf(token: string, dot: number): Claims | null {
  const claims = JSON.parse(Buffer.from(token.slice(token.indexOf(".") + 1, dot), "base64url").toString()) as Claims;
  return claims.exp !== undefined && claims.exp <= Date.now() / 1000 ? null : claims;
}

const isLeast = process.env.LEAST === "true";
const JSON_HEADERS = isLeast
  ? { "Content-Type": "application/json" }
  : { "Content-Type": "application/json; charset=utf-8", "X-Content-Type-Options": "nosniff" };
const HTML_HEADERS = isLeast ? { "Content-Type": "text/html; charset=utf-8" } : PAGE_HEADERS;

function answer(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { ...JSON_HEADERS, "Content-Length": Buffer.byteLength(text) });
  response.end(text);
}

function answerPage(cookies: string | undefined, response: ServerResponse): void {
  const token = /(?:^|; )token=([^;]+)/.exec(cookies ?? "")?.[1];
  const digest = token === undefined ? "" : createHash("sha256").update(token).digest("base64url");
  const row = findLogin.get(digest) as unknown as LoginRow | undefined;
  if (row === undefined || Date.parse(row.expires_at) <= Date.now()) {
    response.writeHead(302, { Location: "/login" }).end();
    return;
  }
  const html = page(row);
  response.writeHead(200, { ...HTML_HEADERS, "Content-Length": Buffer.byteLength(html) }).end(html);
}

/** The minimum of a login: the user's row and the hash, without a session, a cookie, or a limit on concurrent hashes. */
async function answerLogin(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { email, password } = JSON.parse(Buffer.concat(chunks).toString()) as { email: string; password: string };
  const row = findPassword.get(email) as { password: string } | undefined;
  answer(response, 200, { ok: row !== undefined && (await verifyPassword(row.password, password)) });
}

createServer((request, response) => {
  const url = request.url!;
  if (url === "/login") return void answerLogin(request, response);
  if (url === "/home") return answerPage(request.headers.cookie, response);
  if (url === "/json") return answer(response, 200, { hello: "world" });
  if (url.startsWith("/busy/")) {
    spin(Number(url.slice("/busy/".length)));
    return answer(response, 200, { hello: "world" });
  }
  const token = request.headers.authorization?.slice("Bearer ".length);
  const isSigned = url.startsWith("/signed/");
  const claims = token === undefined ? null : isSigned ? verifySigned(token) : verify(token);
  if (claims === null) return answer(response, 401, { error: "unauthorized" });
  if (isSigned) return answer(response, 200, { id: url.slice("/signed/".length), user: claims.sub });
  if (url.startsWith("/devices/")) {
    const row = findToken.get(claims.sid ?? "") as unknown as AccessRow | undefined;
    if (!isActive(row, claims.sub)) return answer(response, 401, { error: "unauthorized" });
    return answer(response, 200, { id: url.slice("/devices/".length), name: row.name, email: row.email });
  }
  if (url.startsWith("/users/")) return answer(response, 200, { id: url.slice("/users/".length), user: claims.sub });
  if (url.startsWith("/accounts/")) {
    const digest = createHash("sha256").update(token!).digest("base64url");
    const row = findByDigest.get(Number(claims.sub), digest) as { id: number; name: string; email: string } | undefined;
    if (row === undefined) return answer(response, 401, { error: "unauthorized" });
    return answer(response, 200, { id: url.slice("/accounts/".length), name: row.name, email: row.email });
  }
  answer(response, 404, { error: "not found" });
}).listen(Number(process.env.PORT), "127.0.0.1");
