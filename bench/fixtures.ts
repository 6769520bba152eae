// The data that all of the benchmark's servers share: the secret, the tokens, the users.
import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { hashSync } from "@node-rs/argon2";

/** The benchmark's files, outside the repository. */
export const FOLDER: string = join(import.meta.dirname, "..", ".bench");
export const DATABASE: string = join(FOLDER, "users.sqlite");
export const SECRET: string = "benchmark-only-".padEnd(64, "0123456789abcdef");
/** The secret of the driver with several tokens per user. */
export const MANY_SECRET: string = [...SECRET].reverse().join("");
export const USERS: number = 100_000;
export const TOKENS: number = 10_000;
export const LOGINS: number = 1_000;
/** How long access tokens of `many()` last. */
export const ACCESS_MINUTES: number = 600;

/** The data for the load. */
export interface Fixtures {
  /** API tokens of the first users. */
  readonly tokens: readonly string[];
  /** Access tokens of the same users, each of a row in `api_tokens`. */
  readonly accessTokens: readonly string[];
  /** Tokens of the same users that are signed with {@link PRIVATE_KEY}. */
  readonly signedTokens: readonly string[];
}

/** An Ed25519 key that all processes create from the same bytes (RFC 8410 §7). */
const PRIVATE_KEY: KeyObject = createPrivateKey({
  key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.from(SECRET).subarray(0, 32)]),
  format: "der",
  type: "pkcs8",
});
export const PRIVATE_PEM: string = PRIVATE_KEY.export({ format: "pem", type: "pkcs8" }).toString();
export const PUBLIC_KEY: KeyObject = createPublicKey(PRIVATE_KEY);

/** The password of every user, and its hash as the framework creates it. */
export const PASSWORD: string = "a password of the benchmark";
export const PASSWORD_HASH: string = hashSync(PASSWORD, { memoryCost: 19_456, timeCost: 2, parallelism: 1 });

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/**
 * A token as the framework issues it (HS512), created by hand so that every server gets the same ones.
 *
 * @param more additional claims
 */
export function makeToken(subject: number, more: object = {}, secret: string = SECRET): string {
  const claims = {
    sub: String(subject),
    iat: Math.floor(Date.now() / 1000),
    jti: randomBytes(16).toString("base64url"),
    ...more,
  };
  const input = `${encode({ alg: "HS512", typ: "JWT" })}.${encode(claims)}`;
  return `${input}.${createHmac("sha512", secret).update(input).digest("base64url")}`;
}

/** The same with EdDSA. */
function makeSignedToken(subject: number): string {
  const { x } = PUBLIC_KEY.export({ format: "jwk" });
  // RFC 7638.
  const kid = sha256(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`);
  const claims = {
    sub: String(subject),
    iat: Math.floor(Date.now() / 1000),
    jti: randomBytes(16).toString("base64url"),
  };
  const input = `${encode({ alg: "EdDSA", typ: "JWT", kid })}.${encode(claims)}`;
  return `${input}.${sign(null, Buffer.from(input), PRIVATE_KEY).toString("base64url")}`;
}

/** The access epoch of every user. */
export const ACCESS_EPOCH: string = randomBytes(16).toString("base64url");

/** Creates a table of 100,000 users; the first 10,000 have API tokens. */
export async function makeFixtures(): Promise<Fixtures> {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(DATABASE, "");
  const tokens = Array.from({ length: TOKENS }, (_, index) => makeToken(index + 1));
  const signedTokens = Array.from({ length: TOKENS }, (_, index) => makeSignedToken(index + 1));
  const families = Array.from({ length: TOKENS }, () => randomBytes(16).toString("base64url"));
  const exp = Math.floor(Date.now() / 1000) + ACCESS_MINUTES * 60;
  const accessTokens = families.map((sid, index) => makeToken(index + 1, { exp, sid }));
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
    CREATE TABLE api_tokens (
      id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL, guard TEXT NOT NULL, name TEXT NOT NULL, abilities TEXT,
      family TEXT NOT NULL UNIQUE, token_hash TEXT NOT NULL, replaced TEXT, access_epoch TEXT NOT NULL, device TEXT,
      last_used_at TEXT NOT NULL, expires_at TEXT NOT NULL, revoked_at TEXT, created_at TEXT NOT NULL
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
  const insertToken = database.prepare(
    `INSERT INTO api_tokens (user_id, guard, name, family, token_hash, access_epoch, last_used_at, expires_at, created_at)
     VALUES (?, 'jwt', 'phone', ?, ?, ?, ?, ?, ?)`,
  );
  const expiresAt = new Date(Date.now() + 30 * 86_400_000).toISOString();
  for (const [index, family] of families.entries()) {
    insertToken.run(index + 1, family, sha256(family), ACCESS_EPOCH, time, expiresAt, time);
  }
  database.exec("COMMIT");
  database.close();
  return { tokens, accessTokens, signedTokens };
}
