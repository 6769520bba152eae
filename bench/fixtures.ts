// What all servers of the benchmark share: the secret, the tokens, the users.
import { createHash, createHmac, randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Where the benchmark keeps what it makes; not in the repository. */
export const FOLDER: string = join(import.meta.dirname, "..", ".bench");
export const DATABASE: string = join(FOLDER, "users.sqlite");
export const SECRET: string = "benchmark-only-".padEnd(64, "0123456789abcdef");
export const USERS: number = 100_000;
export const TOKENS: number = 10_000;

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** A token as the framework issues them (HS512), made by hand so that every server is given the same ones. */
function makeToken(subject: number): string {
  const claims = {
    sub: String(subject),
    iat: Math.floor(Date.now() / 1000),
    jti: randomBytes(16).toString("base64url"),
  };
  const input = `${encode({ alg: "HS512", typ: "JWT" })}.${encode(claims)}`;
  return `${input}.${createHmac("sha512", SECRET).update(input).digest("base64url")}`;
}

/** Makes 10,000 tokens, and a table of 100,000 users of whom the first 10,000 hold them. */
export async function makeFixtures(): Promise<string[]> {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(DATABASE, "");
  const tokens = Array.from({ length: TOKENS }, (_, index) => makeToken(index + 1));
  const database = new DatabaseSync(DATABASE);
  database.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE users (
      id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE, password TEXT NOT NULL,
      api_token TEXT UNIQUE, created_at TEXT, updated_at TEXT
    );
    BEGIN`);
  const insert = database.prepare(
    "INSERT INTO users (name, email, password, api_token, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const time = new Date().toISOString();
  for (let index = 0; index < USERS; index++) {
    const token = tokens[index];
    const digest = token === undefined ? null : createHash("sha256").update(token).digest("base64url");
    insert.run(`User ${index}`, `user${index}@example.com`, "not a hash", digest, time, time);
  }
  database.exec("COMMIT");
  database.close();
  return tokens;
}
