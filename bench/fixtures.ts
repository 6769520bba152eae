// What all servers of the benchmark share: the secret, the tokens, the users.
import { createHash, createHmac, randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { hashSync } from "@node-rs/argon2";

/** The benchmark's files, outside the repository. */
export const FOLDER: string = join(import.meta.dirname, "..", ".bench");
export const DATABASE: string = join(FOLDER, "users.sqlite");
export const SECRET: string = "benchmark-only-".padEnd(64, "0123456789abcdef");
export const USERS: number = 100_000;
export const TOKENS: number = 10_000;
export const LOGINS: number = 1_000;

/** The data for the load. */
export interface Fixtures {
  /** API tokens of the first users. */
  readonly tokens: readonly string[];
}

/** The password of every user, and its hash as the framework creates it. */
export const PASSWORD: string = "a password of the benchmark";
export const PASSWORD_HASH: string = hashSync(PASSWORD, { memoryCost: 19_456, timeCost: 2, parallelism: 1 });

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** A token as the framework issues it (HS512), created by hand so that every server gets the same ones. */
function makeToken(subject: number): string {
  const claims = {
    sub: String(subject),
    iat: Math.floor(Date.now() / 1000),
    jti: randomBytes(16).toString("base64url"),
  };
  const input = `${encode({ alg: "HS512", typ: "JWT" })}.${encode(claims)}`;
  return `${input}.${createHmac("sha512", SECRET).update(input).digest("base64url")}`;
}

/** The access epoch of every user. */
const ACCESS_EPOCH = randomBytes(16).toString("base64url");

/** Creates a table of 100,000 users; the first 10,000 have API tokens. */
export async function makeFixtures(): Promise<Fixtures> {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(DATABASE, "");
  const tokens = Array.from({ length: TOKENS }, (_, index) => makeToken(index + 1));
  const database = new DatabaseSync(DATABASE);
  database.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE users (
      id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE, password TEXT NOT NULL,
      access_epoch TEXT, api_token TEXT UNIQUE, created_at TEXT, updated_at TEXT
    );
    CREATE TABLE logins (
      id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL, guard TEXT NOT NULL, token_hash TEXT NOT NULL UNIQUE,
      access_epoch TEXT NOT NULL, ip TEXT, user_agent TEXT, authenticated_at TEXT, last_used_at TEXT NOT NULL, expires_at TEXT NOT NULL,
      created_at TEXT NOT NULL
    );
    BEGIN`);
  const insert = database.prepare(
    `INSERT INTO users (name, email, password, access_epoch, api_token, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const time = new Date().toISOString();
  for (let index = 0; index < USERS; index++) {
    const token = tokens[index];
    const digest = token === undefined ? null : sha256(token);
    insert.run(`User ${index}`, `user${index}@example.com`, PASSWORD_HASH, ACCESS_EPOCH, digest, time, time);
  }
  database.exec("COMMIT");
  database.close();
  return { tokens };
}
